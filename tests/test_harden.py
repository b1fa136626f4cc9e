"""The campaign itself: it counts what it tries, and a defect is one."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from heedful.errors import DataError, EnvironmentFailure
from heedful.storage import write_atomically
from tools.harden.__main__ import page, table
from tools.harden.bench import Found
from tools.harden.campaigns import campaigns
from tools.harden.in_process import defect, line_defect
from tools.harden.lanes import _result
from tools.harden.mutations import mutated, mutated_bytes, places
from tools.harden.processes import WATCHED, Moments, failing


def test_a_refusal_is_no_defect_and_any_other_failure_is_one():
    def refuses() -> None:
        raise DataError("no such file.")

    assert defect(refuses) == ""
    assert defect(lambda: [][0]) == "IndexError: list index out of range"


@pytest.mark.parametrize("words", [("list", "encoders"), ("predict", "no-such", "\x1b[2J")])
def test_a_command_that_ends_in_a_sentence_is_no_defect(words):
    assert line_defect(words) == ""


def test_a_traceback_is_a_defect(monkeypatch):
    monkeypatch.setattr("heedful.verification.verify", lambda *given: 1 / 0)
    assert "exit code 70" in line_defect(("verify", "run"))


def test_the_table_counts_attempts_and_defects_and_adds_up_parts():
    found = Found("kill -9")
    found.count()
    found.count("lost a file")
    assert table([found, Found("kill -9", 3)]).splitlines()[-1] == "| kill -9 | 5 | 1 |"
    told = page([found, Found("data.csv with other bytes", 7)], 0.5, 2.0)
    assert "9 attempts, 1 defects, in 2 minutes" in told
    assert "2 kills and 7 mutated" in told


def test_every_mutation_changes_one_thing_and_leaves_the_original_alone():
    whole, rng = {"a": [1, {"b": None}], "c": "d"}, np.random.default_rng(0)
    before = json.dumps(whole)
    assert list(places(whole)) == [("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]
    assert sum(mutated(whole, rng) != whole for _ in range(50)) > 40
    assert sum(mutated_bytes(before.encode(), rng) != before.encode() for _ in range(50)) > 40
    assert json.dumps(whole) == before


def test_something_is_done_at_the_flush_or_move_that_was_chosen(monkeypatch, tmp_path):
    for name in WATCHED:
        monkeypatch.setattr(os, name, getattr(os, name))  # as they are again afterwards
    moments = Moments(2, failing(errno.ENOSPC))
    moments.before()
    with pytest.raises(EnvironmentFailure, match="the disk is full"):
        write_atomically(tmp_path / "file", b"content")  # flushed, and then moved
    assert moments.count == 2
    write_atomically(tmp_path / "file", b"content")
    assert moments.count == 5  # and the folder is flushed


def test_a_campaign_that_leaves_nothing_is_a_defect(tmp_path):
    (found,) = _result(tmp_path / "kills")
    assert found == Found("kills", 1, ["the campaign was killed"])


def test_the_page_of_the_last_campaign_shows_no_defect():
    text = (Path(__file__).parents[1] / "docs" / "hardening.md").read_text()
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= len(campaigns()) // 2
    assert {row[-2].strip() for row in rows} == {"0"}
