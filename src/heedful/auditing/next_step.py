"""After a no: the command that makes a model like this one whose attention may be shown."""

import shlex
from collections.abc import Mapping
from typing import Any

from heedful.auditing.results import Audit
from heedful.runs import folder_name

COMMANDS = "cure"  # among the facts about an audit: commands, in order
FAITHFUL = "faithful"
LEAD = "To get a model whose attention may be shown, and to see whether it may:"
# How documents were read: the option, and what it is if it is not given.
READ_WITH = {
    "data_dir": ("--data-dir", None),
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
    like = ["--like", run, "--recipe", FAITHFUL]
    train = ["train", str(source), *_read_with(data), *like, "-o", cured]
    compare = ["compare", run, cured, "--data", audited, "-o", f"{cured}-compared"]
    return _written(train), _written(compare)


def healing_commands(model: str, data: str, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """How to give a Hugging Face model an attention that may be shown, and to audit that."""
    healed = f"{folder_name(model.rstrip('/').rpartition('/')[2])}-healed"
    documents = [data, *_read_with(columns)]
    heal = ["heal", f"hf:{model}", *documents, "-o", healed]
    return _written(heal), auditing_command(healed, data, columns)


def auditing_command(run: str, data: str, columns: Mapping[str, Any]) -> str:
    """How to audit a run on some documents and keep the report."""
    run = run.rstrip("/")
    return _written(["audit", run, data, *_read_with(columns), "-o", f"{run}-audit"])


def next_steps(*audits: Audit) -> tuple[str, ...]:
    """The commands to run after verdicts that are not a yes; none if none are known.

    Audits with the same commands are of one model, read in several ways: one yes is enough.
    """
    models: dict[tuple[str, ...], list[Audit]] = {}
    for audit in audits:
        models.setdefault(tuple(map(str, audit.about.get(COMMANDS, ()))), []).append(audit)
    return tuple(
        command
        for commands, readings in models.items()
        if not any(audit.verdict == "may" or audit.chance for audit in readings)
        for command in commands
    )


def _read_with(data: Mapping[str, Any]) -> list[str]:
    """Options that documents were read with, if they were given."""
    return [
        part
        for name, (flag, usual) in READ_WITH.items()
        if data.get(name, usual) != usual
        for part in (flag, str(data[name]))
    ]


def _written(arguments: list[str]) -> str:
    return f"heedful {shlex.join(arguments)}"
