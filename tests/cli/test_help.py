"""What `--help` prints: every command has one example, and the example can be typed as it is."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import typer

from heedful.cli.app import app


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below a group, with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = {" ".join(path): command for path, command in _commands(typer.main.get_command(app))}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_one_example_whose_arguments_and_options_exist(name):
    lines = (COMMANDS[name].epilog or "").splitlines()
    assert len(lines) == 1
    start = f"Example: heedful {name}"
    assert f"{lines[0]} ".startswith(f"{start} ")
    # Parsed as on the command line, which refuses options that do not exist, but not run.
    COMMANDS[name].make_context(name, shlex.split(lines[0].removeprefix(start)))


def test_the_example_is_printed_by_help_in_one_line(heedful):
    shown = heedful("audit", "--help").out
    assert shown.count("Example: heedful audit ") == 1
    assert COMMANDS["audit"].epilog in shown


def test_line_ends_of_a_docstring_do_not_show_in_the_help(heedful):
    """Each paragraph is filled to the width of the terminal."""
    description = heedful("audit", "--help").out.split("╭")[0]
    for paragraph in re.split(r"\n\s*\n", description):
        for line, following in pairwise(paragraph.strip().splitlines()):
            assert len(f"{line.strip()} {following.split()[0]}") > 78
