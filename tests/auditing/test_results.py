import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heedful
from heedful import runs
from heedful.auditing.audit import audit
from heedful.auditing.results import Answer, Audit, plain
from heedful.errors import RunError
from heedful.runs import RunFolder
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject
from tests.auditing.points import CUTS_OF_FUNCTIONS, POINTS


@cache
def a_found_audit(documents: int = 12) -> Audit:
    read = Documents(
        Document(f"good word{n} bad{n % 3}", "good" if n % 2 else None) for n in range(documents)
    )
    return audit(a_subject({"good": 1.0, "bad1": -3.0}), read, about={"name": "by hand"})


@pytest.fixture(scope="module")
def found() -> Audit:
    return a_found_audit()


def seal(folder: Path, stored: dict[str, Any]) -> None:
    """Write audit.json as a program would that seals what it writes."""
    RunFolder(folder).write_sealed(runs.AUDIT, stored, [runs.PER_EXAMPLE])


def test_a_saved_audit_comes_back_whole(found, tmp_path):
    found.save(tmp_path / "audit")
    again = Audit.load(tmp_path / "audit")
    assert plain(again.to_dict()) == json.loads(json.dumps(plain(found.to_dict())))
    assert again.texts == found.texts
    assert again.labels == found.labels
    for name, column in found.columns.items():
        np.testing.assert_array_equal(column, again.columns[name])
    assert again.answer("telling").tests[0].name == found.answer("telling").tests[0].name
    assert heedful.Audit is Audit


def test_a_saved_audit_says_by_which_points_it_was_judged(found, tmp_path):
    judged = replace(found, calibration=POINTS)
    judged.save(tmp_path / "a")
    stored = json.loads((tmp_path / "a/audit.json").read_text())
    assert stored["cuts"] == judged.cuts == CUTS_OF_FUNCTIONS
    assert stored["calibration"]["made"]["version"] == "by-hand-3"
    again = Audit.load(tmp_path / "a")
    assert again.calibration == POINTS
    assert again.cuts == judged.cuts
    assert again.caveat == judged.caveat


def test_an_audit_from_before_cuts_were_measured_shows_the_cuts_it_had(found, tmp_path):
    found.save(tmp_path / "a")
    stored = json.loads((tmp_path / "a/audit.json").read_text())
    del stored["calibration"]
    stored["cuts"] = {"comprehensiveness": 0.5}
    seal(tmp_path / "a", stored)
    old = Audit.load(tmp_path / "a")
    assert old.cuts == {"comprehensiveness": 0.5}
    assert old.said_of("comprehensiveness") == "cut 0.5: not calibrated"
    assert not old.calibration.is_measured
    old.save(tmp_path / "b")
    assert Audit.load(tmp_path / "b").calibration == old.calibration


def test_the_caveat_counts_what_is_judged_and_says_by_what(found):
    def an_answer(question, *judgements):
        (test, *_) = found.answer("telling").tests
        tests = tuple(replace(test, name=name, judgement=j) for name, j in judgements)
        return Answer(question, "", "undecided" if tests else None, tests)

    answers = (
        an_answer("telling", ("true pictures", "undecided"), ("sufficiency", "reported")),
        an_answer("needed", ("accuracy over uniform", "supported")),
        an_answer("stable"),
    )
    audit = replace(found, answers=answers, calibration=POINTS)
    assert audit.caveat == (
        "2 of 3 tests are judged, by cuts measured on 77 models with a known answer (calibration "
        "by-hand-3), accuracy over uniform by points of accuracy. Not asked: stable."
    )
    assert replace(audit, answers=answers[1:2]).caveat == (
        "1 of 1 tests are judged, accuracy over uniform by points of accuracy."
    )
    assert (
        replace(audit, answers=answers[2:]).caveat == "0 of 0 tests are judged. Not asked: stable."
    )


def test_a_frame_has_a_row_per_document_and_a_column_per_number(found):
    frame = found.to_frame()
    assert list(frame.columns[:3]) == ["text", "label", "prediction"]
    assert len(frame) == 12


def test_json_holds_no_number_that_json_lacks():
    assert plain({"a": [math.nan, np.float64(1.5), np.int64(2)]}) == {"a": [None, 1.5, 2]}


def test_what_is_no_audit_is_refused_in_a_sentence(found, tmp_path):
    with pytest.raises(RunError, match=r"contains no audit: audit\.json is missing"):
        Audit.load(tmp_path)
    found.save(tmp_path / "a")
    stored = json.loads((tmp_path / "a/audit.json").read_text())
    seal(tmp_path / "a", {**stored, "schema": 99})
    with pytest.raises(RunError, match="schema 99; this version reads"):
        Audit.load(tmp_path / "a")
    answers = stored.pop("answers")
    seal(tmp_path / "a", stored)
    with pytest.raises(RunError, match="not as heedful wrote it: answers is missing"):
        Audit.load(tmp_path / "a")
    (tmp_path / "a/per_example.parquet").write_bytes(b"PAR1 no")
    seal(tmp_path / "a", {**stored, "answers": answers})
    with pytest.raises(RunError, match="do not fit together"):
        Audit.load(tmp_path / "a")


def test_half_a_surrogate_pair_does_not_stop_an_audit_from_being_saved(tmp_path):
    documents = Documents(Document(f"good \ud83d bad{n}", "good") for n in range(4))
    found = audit(a_subject({"good": 1.0}, len), documents)
    found.save(tmp_path)
    found.to_html(tmp_path / "report.html")
    assert Audit.load(tmp_path).documents == 4
    assert "⟨U+D83D⟩" in (tmp_path / "report.html").read_text(encoding="utf-8")
