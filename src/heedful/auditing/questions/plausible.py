"""Does attention point where people point?"""

from dataclasses import dataclass

import numpy as np

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import score_f1
from heedful.auditing.metrics.plausibility import auprc, f1_at_k, iou_precision, iou_recall
from heedful.auditing.metrics.top import choose_top
from heedful.auditing.questions.base import (
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    chosen_names,
    cross_fitted_best,
    cross_fitted_choice,
    pick,
    questions,
)
from heedful.auditing.questions.erased import BEST_OF, ERASER
from heedful.auditing.results import Column, TestResult

SIMPLE = ("auprc", "token_f1")
IOU_F1 = "iou_f1"
TESTS = {
    name: AuditTest(
        name, "higher", ERASER, "random rankings",
        "the best of leave-one-out, gradient × input, contribution and decomposition",
        None if name == IOU_F1 else f"{name}_attention",  # F1 of means is no mean of documents
        is_compared=name == "auprc", defined_by=("evidence_mass", "relative_mass"),
    )
    for name in (*SIMPLE, IOU_F1)
}  # fmt: skip
IOU = ("iou_precision", "iou_recall")
NO_MARKS = "no document has words that people marked"


@questions.register("plausible")
@dataclass(frozen=True)
class Plausible(Question):
    """Words that people marked against the ranking of attention (ERASER)."""

    name = "plausible"
    place = 10
    asks = "Does attention mark the words that people mark?"
    tests = tuple(TESTS.values())

    def measure(self, group: DocumentGroup) -> Measured:
        """Every test for attention, each candidate of the ceiling, and random rankings."""
        if not group.has_marks.any():
            return Measured({})
        subject, reading = group.subject, group.reading
        draws = group.rng.random((group.settings.random_draws, *reading.weights.shape))
        of_draws = [_tests(group, draw) for draw in draws]
        columns = {
            f"{test}_random": np.mean([one[test] for one in of_draws], axis=0)
            for test in (*SIMPLE, *IOU)
        }
        rankings = {"attention": reading.weights} | {
            measure: group.importance(measure) for measure in BEST_OF if measure in subject.measures
        }
        for ranking, scores in rankings.items():
            columns |= {f"{test}_{ranking}": c for test, c in _tests(group, scores).items()}
        return Measured(columns)

    def conclude(self, found: Findings) -> Conclusion:
        """Between random rankings and the best measure."""
        columns = found.columns
        if not columns or np.isnan(columns["auprc_attention"]).all():
            return Conclusion(reason=NO_MARKS)
        measures = [m for m in BEST_OF if f"auprc_{m}" in columns]
        tests = []
        for test in SIMPLE:
            candidates = {m: f"{test}_{m}" for m in measures}
            rng = found.rng_for(f"best measure by {test}")
            best, chosen = cross_fitted_best(columns, candidates, "higher", rng)
            value, floor = columns[f"{test}_attention"], columns[f"{test}_random"]
            note = f"best measure: {chosen}"
            tests.append(found.test(TESTS[test], value, floor, best, note=note))
        return Conclusion((*tests, self._iou_f1(found, measures)))

    def _iou_f1(self, found: Findings, measures: list[str]) -> TestResult:
        """IOU F1, of mean precision and mean recall; the best measure has the best mean of both."""
        precision, recall = (
            np.stack([found.columns[f"{part}_{m}"] for m in ("attention", "random", *measures)])
            for part in IOU
        )
        rng = found.rng_for(f"best measure by {IOU_F1}")
        choice = cross_fitted_choice((precision + recall)[2:], "higher", rng)
        best = (pick(precision[2:], choice), pick(recall[2:], choice))
        value, floor = ((precision[row], recall[row]) for row in (0, 1))
        f1 = score_f1(value, floor, best, found.rng_for(IOU_F1), found.settings.bootstrap)
        note = f"best measure: {chosen_names(measures, choice)}"
        return found.judged(TESTS[IOU_F1], f1, note=note)


def _tests(group: DocumentGroup, ranking: np.ndarray) -> dict[str, Column]:
    """Each test of one ranking; NaN where nothing was marked."""
    reading, marked, is_token = group.reading, group.is_marked, group.reading.is_token
    k = np.full(len(marked), group.settings.rationale_words or 1)
    top = choose_top(ranking, reading.is_token, k)
    found = {
        "auprc": auprc(ranking, marked, is_token),
        "token_f1": f1_at_k(ranking, marked, is_token, k),
        "iou_precision": iou_precision(top, marked, is_token),
        "iou_recall": iou_recall(top, marked, is_token),
    }
    return {name: np.where(group.has_marks, column, np.nan) for name, column in found.items()}
