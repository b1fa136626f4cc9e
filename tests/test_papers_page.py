"""The table paper by paper: names of code resolve, commands exist, no experiment is missing."""

import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

from heedful.analysis.instruments import analyses
from heedful.auditing.questions import questions
from heedful.cli.app import app
from heedful.importance import importances
from heedful.model.alignments import alignments
from heedful.model.encoders import encoders
from heedful.model.projections import projections
from heedful.papers.paper import load_paper, paper_names
from heedful.training.recipes import recipes
from heedful.training.settings import Settings, profiles

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "papers.md"
MEMBERS = {
    "--recipe": recipes, "--encoder": encoders, "--alignment": alignments,
    "--projection": projections,
}  # fmt: skip
NAMES = {"--profile": profiles, "--ask": questions, "--measure": importances}
WHY_NOT = "not here: "


def sections() -> dict[str, list[list[str]]]:
    """The rows of each paper, by its name: what it is, where it is, how it is reached."""
    found = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        (name,) = re.findall(r"\(`([a-z-]+)`\)", section.partition("\n")[0])
        lines = [line for line in section.splitlines() if line.startswith("| ")]
        found[name] = [[c.strip() for c in line.strip("|").split("|")] for line in lines[1:]]
    return found


ROWS = [(paper, row) for paper, rows in sections().items() for row in rows]
CODE = sorted({name for _, row in ROWS for name in re.findall(r"`(heedful\.[\w.]+:\w+)`", row[1])})
FILES = sorted({name for _, row in ROWS for name in re.findall(r"`([\w-]+/[\w.-]+)`", row[1])})
COMMANDS = sorted({text for _, row in ROWS for text in re.findall(r"`(heedful [^`]+)`", row[2])})


def test_the_page_has_every_paper():
    assert sorted(sections()) == paper_names()


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=lambda row: row[0][:60])
def test_a_row_says_where_it_is_and_how_it_is_reached_or_why_it_is_not_here(row):
    assert len(row) == 3
    if not row[1].startswith(WHY_NOT):
        assert re.search(r"`heedful\.[\w.]+:\w+`|`[\w-]+/[\w.-]+`", row[1])
        assert "`heedful " in row[2]


@pytest.mark.parametrize("name", CODE)
def test_the_code_that_is_named_exists(name):
    module, _, member = name.partition(":")
    assert hasattr(import_module(module), member)


@pytest.mark.parametrize("name", FILES)
def test_the_files_that_are_named_exist(name):
    assert (ROOT / "src" / "heedful" / "papers" / name).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_names_what_exists(command):
    _, verb, *words = command.split()
    assert verb in {"probe", *(one.name for one in app.registered_commands)}
    if verb == "analyse":
        analyses.make(words[0])
    for flag, word in pairwise(words):
        if flag in MEMBERS:
            MEMBERS[flag].make(word)
        if flag in NAMES:
            assert word in NAMES[flag]
        if flag == "--set":
            name, _, value = word.partition("=")
            Settings().with_(**{name: float(value) if value[0].isdigit() else value})
        if flag in ("--only", "--table", "--figure"):
            key = word if flag == "--only" else f"{flag[2:]}-{word}"
            load_paper(words[0]).experiment(key)


@pytest.mark.parametrize("paper", paper_names())
def test_every_experiment_of_a_paper_stands_on_its_page(paper):
    text = " ".join(row[2] for row in sections()[paper])
    asked = re.findall(rf"`heedful reproduce {paper} --(only|table|figure) (\S+?)`", text)
    named = {word if flag == "only" else f"{flag}-{word}" for flag, word in asked}
    reached = {load_paper(paper).experiment(name).key for name in named}
    assert reached == set(load_paper(paper).experiments)
