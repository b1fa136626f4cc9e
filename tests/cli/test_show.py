import io
from dataclasses import replace

import pytest

from heedful import progress
from heedful.auditing.comparison import compare
from heedful.auditing.operating_points import OperatingPoints
from heedful.auditing.results import Answer
from heedful.cli import show
from heedful.terminal import Terminal
from tests.auditing.points import POINTS, a_point
from tests.report.audits import made_audit


def lines(audit) -> list[str]:
    bare = replace(audit, evidence={})
    return [line for text in show.audited(bare) for line in text.plain.split("\n")]


def after(test: str, found: list[str]) -> str:
    (place,) = [n for n, line in enumerate(found) if line.startswith(f"  {test} ")]
    return found[place + 1].strip()


def test_every_test_is_followed_by_how_often_it_is_right():
    audit = made_audit()
    found = lines(audit)
    for answer in audit.answers:
        for test in answer.tests:
            assert after(test.name, found) == POINTS.said_of(test.name, POINTS.cuts.get(test.name))
    by_dose = "judged by its dose curve on models with a known answer"
    assert after("look away", found) == f"cut 0.55: {by_dose}"
    assert after("sufficiency", found).startswith("not judged: too weak · catches 30% of 41")
    assert after("own influence", found) == "not judged: it defines the truth"
    assert after("uniform", found) == "not calibrated"


def test_the_end_says_how_often_the_verdict_was_right():
    found = lines(made_audit())
    assert found[1] == str(made_audit().in_plain_words)
    assert found[3].startswith("Its picture is false on 57% of 400 documents")
    assert any("3 of 21 tests are judged, by cuts measured on 77 models" in x for x in found)
    assert "liars passed 2% (0% to 6%) of 30" in found[-1]
    assert "small models with planted evidence" in found[-1]
    old = OperatingPoints((a_point("permutation", 0.1, power=None),))
    assert "liars passed" not in "".join(lines(replace(made_audit(), calibration=old)))


@pytest.mark.parametrize(
    ("judgement", "line", "known"),
    [
        ("supported", "cut 0.5 points of accuracy · not calibrated", "too few"),
        ("reported", "not calibrated", "not judged: too few"),
    ],
)
def test_a_gain_is_judged_by_points_of_accuracy(judgement, line, known):
    audit = made_audit()
    test = replace(audit.answers[0].tests[0], name="accuracy over uniform", judgement=judgement)
    answer = Answer("needed", "Is it needed?", judgement, (test,))
    audit = replace(audit, answers=(answer,))
    assert after("accuracy over uniform", lines(audit)) == line
    point = a_point("accuracy over uniform", None, is_judged=False, power=None, note="too few")
    told = after(
        "accuracy over uniform", lines(replace(audit, calibration=OperatingPoints((point,))))
    )
    assert told == line.replace("not calibrated", known)


def test_runs_that_were_judged_by_other_cuts_are_pointed_out():
    audit = made_audit()
    later = OperatingPoints(POINTS.points[:1], {"version": "later"})
    alike, apart = (
        "\n".join(text.plain for text in show.compared(compare({"a": audit, "b": other})))
        for other in (audit, replace(audit, calibration=later))
    )
    assert "judged by different cuts" not in alike
    assert "judged by different cuts" in apart
    assert "b  cuts measured on models with a known answer (calibration later)" in apart


def test_a_calibration_cannot_steer_the_terminal():
    steering = "a\x1b[2Jb\nc"
    tests = ("permutation", "uniform")  # judged, and only reported
    odd = OperatingPoints(
        tuple(a_point(t, None, is_judged=False, power=None, note=steering) for t in tests),
        {"version": steering},
    )
    assert "\x1b" not in "".join(lines(replace(made_audit(), calibration=odd)))


class Clock:
    """Shows what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def a_bar(clock, is_shown=True, **options):
    console = Terminal(io.StringIO(), is_terminal=False, width=110)
    return show.DocumentBar(120, is_shown, console=console, clock=clock, **options)


def said(bar):
    bar.lines.look()
    return bar.console.file.getvalue().splitlines()[-1:]


def test_without_a_terminal_an_audit_says_every_ten_seconds_how_far_it_is():
    clock = Clock()
    bar = a_bar(clock)
    bar.advance(20)
    clock.now = 9.0
    assert said(bar) == []
    bar.advance(10)
    clock.now = 20.0
    assert said(bar) == ["auditing: 30 of 120 documents (25%), about 60 s left"]
    bar.begin_phase("writing the report")
    clock.now = 29.0
    assert len(bar.console.file.getvalue().splitlines()) == 1
    clock.now = 31.0
    assert said(bar) == ["writing the report: about 31 s so far"]


def test_with_a_budget_an_audit_says_how_much_of_it_is_used():
    clock = Clock()
    bar = a_bar(clock, audits=5, seconds=180.0)
    clock.now = 10.0
    assert said(bar) == ["auditing: the first document, 10s of 3m used"]
    bar.advance(14)
    bar.expect(5 * 40)
    clock.now = 20.0
    assert said(bar) == ["auditing: 2 of about 40 documents, 20s of 3m used"]
    bar.note("3m is too short")
    assert bar.console.file.getvalue().splitlines()[-1] == "note: 3m is too short"
    bar.begin_phase("concluding")
    clock.now = 32.0
    assert said(bar) == ["concluding: 32s of 3m used"]


def test_a_quiet_audit_says_nothing(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.0)
    clock = Clock()
    with a_bar(clock, is_shown=False) as bar:
        clock.now = 100.0
        bar.note("3m is too short")
    assert bar.console.file.getvalue() == ""
