"""After a no: the command that makes a model like this one whose attention may be shown."""

import shlex
from collections.abc import Mapping
from typing import Any

from heedful.auditing.results import Audit

COMMANDS = "cure"  # among the facts about an audit: commands, in order
FAITHFUL = "faithful"
LEAD = "To get a model whose attention may be shown, and compare the two:"
# How documents were read: the option, and what it is if it is not given.
READ_WITH = {
    "text": ("--text", None),
    "label": ("--label", None),
    "dev_share": ("--dev-share", 0.1),
    "test_share": ("--test-share", 0.1),
}


def training_commands(
    run: str, recipe: str, data: Mapping[str, Any], audited: str
) -> tuple[str, ...]:
    """How to train a run again so that attention follows the words, and to compare the two.

    Nothing for a run that was trained so, or whose documents came from Python.
    """
    source = data.get("source")
    if recipe == FAITHFUL or not source:
        return ()
    run = run.rstrip("/")
    cured = f"{run}-{FAITHFUL}"
    given = [
        part
        for name, (flag, usual) in READ_WITH.items()
        if data.get(name, usual) != usual
        for part in (flag, str(data[name]))
    ]
    train = ["train", str(source), *given, "--like", run, "--recipe", FAITHFUL, "-o", cured]
    return _written(train), _written(["compare", run, cured, "--data", audited])


def next_steps(audit: Audit) -> tuple[str, ...]:
    """The commands to run after a verdict that is not a yes; none if none are known."""
    if audit.verdict == "may" or audit.chance:
        return ()
    return tuple(map(str, audit.about.get(COMMANDS, ())))


def _written(arguments: list[str]) -> str:
    return f"heedful {shlex.join(arguments)}"
