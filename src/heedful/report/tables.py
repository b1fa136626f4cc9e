"""Answers and tests -> the words and numbers that the report prints."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.auditing.alternatives import other_readings
from heedful.auditing.bootstrap import Score
from heedful.auditing.metrics.base import Better
from heedful.auditing.operating_points import NOT_CALIBRATED, OperatingPoint
from heedful.auditing.plain_words import cut_in_words, far_outside
from heedful.auditing.results import Answer, Audit, Table, TestResult
from heedful.auditing.scope import verdicts_by_tolerance
from heedful.auditing.verdict import DECIDING, GAIN, VETOING
from heedful.report.figures import spoken

NOT_ASKED = "not asked"
MARKS = {"supported": "✓", "contradicted": "✗", "undecided": "?", "reported": "i", NOT_ASKED: "–"}
VERDICT_MARKS = {"may": "✓", "may-not": "✗", "not-safe": "?"}
SPOKEN_VERDICTS = {"may": "may be shown", "may-not": "may not be shown", "not-safe": "not safe"}
BAR_LOW, BAR_HIGH = -0.25, 1.25  # scores beyond are drawn at the ends


@dataclass(frozen=True)
class Bar:
    """Where a score stands between floor and ceiling, in percent of the bar's length."""

    floor: float
    ceiling: float
    score: float
    low: float
    high: float
    cut: float | None
    is_beyond: bool  # the score lies outside of what the bar can show


@dataclass(frozen=True)
class TestRow:
    """One test of one run, ready to print."""

    __test__ = False  # pytest: not a test case

    run: str
    name: str
    better: Better
    note: str
    value: str
    floor: str
    ceiling: str
    score: str
    interval: str
    bar: Bar | None
    judgement: str
    mark: str
    rule: str
    known: str  # how often the test is right on models with a known answer
    documents: int
    left_out: int
    outside: str  # what to think of a score that is far from the scale; empty: it is not
    cut: str  # the score on the scale with its cut, and what the cut means


@dataclass(frozen=True)
class Fact:
    """A mean beside the tests, without controls, ready to print."""

    run: str
    name: str
    note: str
    mean: str
    interval: str
    documents: int


@dataclass(frozen=True)
class Told:
    """One run's answer to a question, ready to print."""

    run: str
    judgement: str
    mark: str
    reason: str
    lead: TestRow | None  # the judged test, or the first


@dataclass(frozen=True)
class QuestionTable:
    """A question and what each run answers."""

    place: int
    name: str
    asks: str
    told: tuple[Told, ...]
    tests: tuple[TestRow, ...]
    facts: tuple[Fact, ...]

    @property
    def was_asked(self) -> bool:
        """Whether any run has an answer."""
        return any(told.judgement != NOT_ASKED for told in self.told)


def questions(audits: Mapping[str, Audit]) -> list[QuestionTable]:
    """Every question of any audit, in their order, with the answer of each run."""
    asks = {answer.question: answer.asks for audit in audits.values() for answer in audit.answers}
    return [
        _question(place, name, sentence, audits)
        for place, (name, sentence) in enumerate(asks.items(), start=1)
    ]


def _question(place: int, name: str, asks: str, audits: Mapping[str, Audit]) -> QuestionTable:
    nothing = Answer(name, asks, None, (), "this audit did not include the question")
    by_run = {
        run: next((answer for answer in audit.answers if answer.question == name), nothing)
        for run, audit in audits.items()
    }
    rows = [
        test_row(run, test, audits[run]) for run, answer in by_run.items() for test in answer.tests
    ]
    order = {test: rank for rank, test in enumerate(dict.fromkeys(row.name for row in rows))}
    rows.sort(key=lambda row: order[row.name])
    told = tuple(_told(run, answer, audits[run]) for run, answer in by_run.items())
    facts = tuple(
        _fact(run, row)
        for run, audit in audits.items()
        for row in audit.evidence.get("facts", ())
        if row["question"] == name
    )
    return QuestionTable(place, name, asks, told, tuple(rows), facts)


def _fact(run: str, row: Mapping[str, Any]) -> Fact:
    mean, low, high = (
        math.nan if row[key] is None else float(row[key]) for key in ("mean", "low", "high")
    )
    bounds = interval((low, high), 3)
    return Fact(run, spoken(row["name"]), row["note"], number(mean), bounds, row["documents"])


def _told(run: str, answer: Answer, audit: Audit) -> Told:
    judgement = answer.judgement or NOT_ASKED
    judged = [test for test in answer.tests if test.judgement != "reported"]
    leading = [*judged, *answer.tests][:1]
    lead = test_row(run, leading[0], audit) if leading else None
    return Told(run, judgement, MARKS[judgement], answer.reason, lead)


@dataclass(frozen=True)
class DifferenceRow:
    """A paired difference between two runs, in words and numbers."""

    test: str
    first: str
    second: str
    difference: str
    interval: str
    favours: str


def difference_rows(
    differences: Table, runs: Sequence[str], all_pairs: bool
) -> list[DifferenceRow]:
    """Paired differences, test by test; of many runs only those from the first one."""
    rows = [row for row in differences if all_pairs or row["first"] == runs[0]]
    order = list(dict.fromkeys(row["test"] for row in rows))
    return [
        DifferenceRow(
            test=spoken(row["test"]),
            first=row["first"],
            second=row["second"],
            difference=signed(row["difference"]),
            interval=f"{signed(row['low'])} to {signed(row['high'])}",
            favours=row["favours"],
        )
        for row in sorted(rows, key=lambda row: order.index(row["test"]))
    ]


def signed(value: float) -> str:
    """A number with its sign; a dash where there is none."""
    if math.isnan(value):
        return "–"
    rounded = round(value, 3) or 0.0
    return f"{rounded:+.3f}".replace("-", "−") if rounded else "0.000"


def test_row(run: str, test: TestResult, audit: Audit) -> TestRow:
    """A test in words and numbers, and by the calibration that it was judged with."""
    score, cut = test.score, audit.cuts.get(test.name)
    return TestRow(
        run=run,
        name=spoken(test.name),
        better=test.better,
        note=test.note,
        value=number(score.value),
        floor=number(score.floor),
        ceiling=number(score.ceiling),
        score=number(score.score, 2),
        interval=interval(score.interval),
        bar=_bar(score, cut),
        judgement=test.judgement,
        mark=MARKS[test.judgement],
        rule=_rule(test, cut),
        known=_known(test, audit.calibration.of(test.name)),
        documents=score.documents,
        left_out=score.left_out,
        outside=far_outside(score),
        cut=cut_in_words(test, audit),
    )


test_row.__test__ = False  # type: ignore[attr-defined]


def _rule(test: TestResult, cut: float | None) -> str:
    if math.isnan(test.score.ceiling) and test.judgement != "reported":
        points = number(100 * GAIN, 1)
        return f"supported if the whole interval lies above {points} points, contradicted if below"
    if cut is None:
        return ""
    if test.judgement == "undecided" and not test.score.separates(test.better):
        return "no power on this data: floor and ceiling do not separate"
    at = number(cut, 2)
    return f"supported if the whole interval lies above {at}, contradicted if below"


def _known(test: TestResult, point: OperatingPoint | None) -> str:
    """How often a test is right on models with a known answer, and why it is not judged."""
    if point is None:
        return _as_sentence(NOT_CALIBRATED)
    if test.judgement != "reported" or not point.note:
        return _as_sentence(point.known)
    why_not = f"Not judged: {point.note}."
    return f"{_as_sentence(point.known)} {why_not}" if point.rates else why_not


def _as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _bar(score: Score, cut: float | None) -> Bar | None:
    low, high = score.interval
    if not all(map(math.isfinite, (score.score, low, high))):
        return None
    return Bar(
        floor=_along(0.0),
        ceiling=_along(1.0),
        score=_along(score.score),
        low=_along(low),
        high=_along(high),
        cut=None if cut is None else _along(cut),
        is_beyond=not BAR_LOW <= score.score <= BAR_HIGH,
    )


def _along(score: float) -> float:
    share = (score - BAR_LOW) / (BAR_HIGH - BAR_LOW)
    return round(100 * min(max(share, 0.0), 1.0), 1)


def number(value: float, digits: int = 3) -> str:
    """A number with a true minus sign; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    rounded = round(value, digits) + 0.0  # never minus zero
    return f"{rounded:.{digits}f}".replace("-", "−")


def interval(bounds: tuple[float, float], digits: int = 2) -> str:
    """Both ends of an interval."""
    low, high = bounds
    return f"{number(low, digits)} to {number(high, digits)}"


def why(audit: Audit) -> str:
    """Which answers the verdict rests on, and why nothing is supported where that is so."""
    chance = f" {audit.chance[0].upper()}{audit.chance[1:]}." if audit.chance else ""
    found = {answer.question: answer.judgement or NOT_ASKED for answer in audit.answers}
    rests_on = (*DECIDING, *VETOING) if audit.calibration.has_doses else DECIDING
    parts = [f"{question} is {found.get(question, NOT_ASKED)}" for question in rests_on]
    return f"{', '.join(parts).capitalize()}.{chance}"


def by_tolerance(audit: Audit) -> list[tuple[str, str]]:
    """The verdict at other shares of false pictures that might be tolerated."""
    return [
        (f"{one.tolerated:.0%}", f"{VERDICT_MARKS[one.verdict]} {SPOKEN_VERDICTS[one.verdict]}")
        for one in verdicts_by_tolerance(audit)
    ]


def by_class(audit: Audit) -> list[tuple[str, str, str, int]]:
    """Class, share of false pictures, interval and documents, for each predicted class."""
    return [
        (row["class"], f"{row['false_pictures']:.0%}", f"{row['low']:.0%} to {row['high']:.0%}",
         row["documents"])
        for row in audit.evidence.get("classes", ())
        if None not in (row["false_pictures"], row["low"], row["high"])
    ]  # fmt: skip


def readings(audit: Audit) -> list[tuple[str, str, str, str, str]]:
    """What each reading that is no attention is judged by, and its verdict."""
    return other_readings(audit.evidence.get("measures", ()))


def tally(audit: Audit) -> str:
    """How many questions got which answer."""
    counts = Counter(answer.judgement or NOT_ASKED for answer in audit.answers)
    return ", ".join(f"{counts[name]} {name}" for name in MARKS if counts[name])
