"""The campaign itself: it counts what it tries, and a defect is one."""

import json
from pathlib import Path

import numpy as np
import pytest

from heedful.errors import DataError
from tools.harden.__main__ import table
from tools.harden.campaigns import CAMPAIGNS, Found, _defect, _line_defect
from tools.harden.mutations import mutated, mutated_bytes, places


def test_a_refusal_is_no_defect_and_any_other_failure_is_one():
    def refuses() -> None:
        raise DataError("no such file.")

    assert _defect(refuses) == ""
    assert _defect(lambda: [][0]) == "IndexError: list index out of range"


@pytest.mark.parametrize("words", [("list", "encoders"), ("predict", "no-such", "\x1b[2J")])
def test_a_command_that_ends_in_a_sentence_is_no_defect(words):
    assert _line_defect(words) == ""


def test_a_traceback_is_a_defect(monkeypatch):
    monkeypatch.setattr("heedful.verification.verify", lambda path: 1 / 0)
    assert "exit code 70" in _line_defect(("verify", "run"))


def test_the_table_counts_attempts_and_defects():
    found = Found("kills")
    found.count()
    found.count("lost a file")
    assert table([found]).splitlines()[-1] == "| kills | 2 | 1 |"


def test_every_mutation_changes_one_thing_and_leaves_the_original_alone():
    whole, rng = {"a": [1, {"b": None}], "c": "d"}, np.random.default_rng(0)
    before = json.dumps(whole)
    assert list(places(whole)) == [("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]
    assert sum(mutated(whole, rng) != whole for _ in range(50)) > 40
    assert sum(mutated_bytes(before.encode(), rng) != before.encode() for _ in range(50)) > 40
    assert json.dumps(whole) == before


def test_the_page_of_the_last_campaign_shows_no_defect():
    page = (Path(__file__).parents[1] / "docs" / "hardening.md").read_text()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= len(CAMPAIGNS)
    assert {row[-2].strip() for row in rows} == {"0"}
