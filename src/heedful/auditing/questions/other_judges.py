"""The same pictures with words taken away in other ways: what is true should be true of all.

A text with words deleted is shorter than what a model was trained on; one with unknown words has
holes; one with words hidden from attention has places that nothing reads. No way is how a model was
meant to be used, and a picture that is true by one way and false by another is not safe. A judge
that was trained on texts with holes has met them, so what it says is no accident of odd inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import score_share
from heedful.auditing.pictures import true_pictures
from heedful.auditing.questions.base import DocumentGroup, Findings
from heedful.auditing.results import Column, TestResult
from heedful.auditing.subjects.base import Judge, Reading, Subject, Words
from heedful.auditing.subjects.erasure import Ranking
from heedful.auditing.subjects.replacing import Replacing
from heedful.auditing.subjects.retrained import Twins

FALL_DRAWS = 10  # random rankings that falls are compared with


def _repeated(
    how: str,
    column: str,
    kinds: tuple[str, ...] = AuditTest.judged_for,
    *,
    needs_retraining: bool = False,
) -> AuditTest:
    """True pictures, judged by the same share of false ones."""
    return AuditTest(
        f"true pictures, {how}", "higher", "ours, after ERASER", "no document",
        "every document", column, dose="false-documents", repeats="true pictures",
        judged_for=kinds, needs_retraining=needs_retraining,
    )  # fmt: skip


@dataclass(frozen=True)
class OtherWay:
    """Another way to take words away: its test, who judges, and how to say it after "with"."""

    test: AuditTest
    judge: Callable[[Subject, Twins], Judge | None]
    said: Callable[[Subject], str]


def _replacing(subject: Subject, twins: Twins) -> Judge | None:
    return Replacing(subject, subject.replacement) if subject.replacement else None


def _masking(subject: Subject, twins: Twins) -> Judge | None:
    return subject.masking


def _trained(subject: Subject, twins: Twins) -> Judge | None:
    if twins.judge is None or not subject.replacement:
        return None
    return Replacing(twins.judge, subject.replacement)


OTHER_WAYS = (
    OtherWay(
        _repeated("words replaced", "is_true_replaced"),
        _replacing,
        lambda subject: f"words replaced by a placeholder ({subject.replacement})",
    ),
    OtherWay(
        _repeated("words masked", "is_true_masked", ("transformer",)),
        _masking,
        lambda subject: "words hidden from attention",
    ),
    OtherWay(
        _repeated(
            "judge trained on masked texts",
            "is_true_trained",
            ("classifier", "transformer"),
            needs_retraining=True,
        ),
        _trained,
        lambda subject: (
            f"words replaced by a placeholder ({subject.replacement}) for a judge trained on such "
            "texts"
        ),
    ),
)


def judged_otherwise(group: DocumentGroup, measures: Sequence[str]) -> dict[str, Column]:
    """Which pictures of a sample are true if words are taken away in other ways.

    Those of attention and of given scores. Of models that judge themselves: another judge has no
    such ways. The best ranking of a document
    is one of `measures`, or what is found by taking single words away in the same way.
    """
    if group.judge is not group.subject:
        return {}
    judges = {
        way.test.column or "": judge
        for way in OTHER_WAYS
        if (judge := way.judge(group.subject, group.twins)) is not None
    }
    given = [name for name, one in group.subject.further.items() if one.digest]
    found = {
        _column(column, name): np.full(len(group.labels), np.nan)
        for column in judges
        for name in ("", *given)
    }
    rows = np.flatnonzero(group.is_replaced)
    if not judges or not len(rows):
        return found
    reading = group.reading_of(rows)
    rankings = [group.importance(name)[rows, : reading.weights.shape[1]] for name in measures]
    draws = list(group.rng.random((FALL_DRAWS, *reading.weights.shape)))
    others = [
        (
            group.importance(name)[rows, : reading.weights.shape[1]],
            group.subject.measure(name).is_signed,
        )
        for name in given
    ]
    for column, judge in judges.items():
        is_true = _true(judge, reading, rankings, group, draws, others)
        for name, one in zip(("", *given), is_true, strict=True):
            found[_column(column, name)][rows] = one
    return found


def _column(column: str, measure: str) -> str:
    """That of a way; of given scores one more each."""
    return f"{column}_{measure}" if measure else column


def _true(
    judge: Judge,
    reading: Reading,
    rankings: Sequence[Ranking],
    group: DocumentGroup,
    draws: Sequence[Ranking],
    others: Sequence[tuple[Words, bool]],
) -> list[Column]:
    """Of attention, then of the others.

    NaN also where the judge decides otherwise: it has no picture of another decision.
    """
    everyone = np.arange(len(reading.texts))
    own = replace(reading, probabilities=judge.predict_kept(reading, everyone, reading.is_token))
    found = true_pictures(judge, own, rankings, group.settings.fractions, draws, others)
    is_same = own.prediction == reading.prediction
    return [np.where(is_same, is_true, np.nan) for is_true in found]


def other_tests(found: Findings, measure: str = "") -> tuple[TestResult, ...]:
    """The share of true pictures by each other way: of attention, or of scores that were given."""
    tests = []
    for way in OTHER_WAYS:
        column = found.columns.get(_column(way.test.column or "", measure))
        if column is None or np.isnan(column).all():
            continue
        share = score_share(column, found.settings.bootstrap)
        tests.append(found.judged(way.test, share, note=way.said(found.subject)))
    return tuple(tests)
