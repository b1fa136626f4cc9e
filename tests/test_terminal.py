"""Text that steers, through the door and past it."""

import ast
import io
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

import heedful
from heedful.cli import show
from heedful.terminal import Terminal

SOURCE = Path(heedful.__file__).parent
# The door, and two pages of the documentation that `make` writes to files through a pipe.
PRINTING = {"terminal.py", "report/claims.py", "report/calibration_docs.py"}


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal(io.StringIO(), is_terminal=True, width=80)


def written(terminal: Terminal) -> str:
    return terminal.file.getvalue()


def test_styles_of_ours_stay_on_the_signs_they_were_on(terminal):
    line = Text("\na\x1b[2Jb\nc", style="bold")
    line.stylize("red", 6, 7)  # the b
    terminal.say(line)
    bold, red, end = "\x1b[1m", "\x1b[1;31m", "\x1b[0m"
    assert written(terminal) == (f"\n{bold}a⟨U+001B⟩[2J{end}{red}b{end}{bold}⟨U+000A⟩c{end}\n")


def test_words_are_shaded_where_they_stand(terminal):
    text = "a\r\n\x1b[31m bad \u202eend"
    start = text.index("bad")
    terminal.say(show.shaded(text, np.array([[start, start + 3]]), np.array([1.0])))
    before, _, after = written(terminal).partition("bad")
    assert before.startswith("a  ⟨U+001B⟩[31m \x1b[30;48;")
    assert after == "\x1b[0m ⟨U+202E⟩end\n"


def test_line_ends_around_a_line_are_blank_lines(terminal):
    terminal.say("\n\na\rb\nc\n")
    terminal.say("")
    terminal.say("\n")
    assert written(terminal) == "\n\na⟨U+000D⟩b⟨U+000A⟩c\n\n\n\n\n"


def test_cells_and_bars_cannot_steer(terminal):
    table = Table("a\x1b[2J\u202e")
    table.add_row("b\x1b[2J\u202e")
    terminal.print(table)
    with Progress(TextColumn("{task.description}"), console=terminal) as progress:
        progress.add_task("c\x1b[2J\u202e")
    assert "\x1b[2J" not in written(terminal)
    assert "\u202e" not in written(terminal)
    assert "c⟨U+" in written(terminal)  # cut to the width that rich measured
    assert "\x1b[?25l" in written(terminal)  # rich hides the cursor while a bar moves


def test_nothing_is_replaced_but_what_steers(terminal):
    line = "שלום مرحبا 👩‍👧 می‌خواهم :smile: [red]x[/red] a\u00ad"
    terminal.say(line)
    assert written(terminal) == f"{line}\n"


def test_there_is_one_door():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        if str(path.relative_to(SOURCE)) in PRINTING:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            is_printing = called in ("print", "Console", "typer.echo", "typer.secho")
            if is_printing or called.startswith(("sys.stdout.write", "sys.stderr.write")):
                wrong.append(f"{path.name} calls {called}")
    assert wrong == []
