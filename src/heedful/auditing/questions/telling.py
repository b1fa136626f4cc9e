"""Take its top words away: does the decision fall? Keep only them: does it stand?

Attention has no sign, so words that speak against the decision are deleted last, in attention and
in random rankings alike (`WordEffects.opposing_last`); measures that have a sign rank as they are.
Each document's *picture* is judged by itself (`heedful.auditing.pictures`). Where even the best
ranking hardly moves the decision, no words carry it: the document is *silent*.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import score_share
from heedful.auditing.nearness import nearness
from heedful.auditing.pictures import (
    ALONE,
    ATTENTION,
    Deleting,
    cheap_rankings,
    judge_pictures,
    numbers_of,
    true_pictures,
)
from heedful.auditing.questions.base import (
    LEAVE_ONE_OUT,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    cross_fitted_best,
    questions,
)
from heedful.auditing.questions.erased import FALL, TESTS, Rows, erasure_tests, named_columns
from heedful.auditing.questions.telling_evidence import (
    ON_CURVES,
    class_table,
    curve_table,
    curves,
    empty_curves,
    measure_table,
)
from heedful.auditing.results import Column, TestResult
from heedful.auditing.subjects.erasure import Ranking, erase_greedily
from heedful.auditing.subjects.replacing import Replacing
from heedful.errors import counted

# What the ceiling is chosen from. Leave-one-out alone fails where two words say the same.
BEST_OF = ("leave-one-out", "gradient-x-input", "contribution")
GREEDY = "greedy erasure"
TRUE_PICTURES = AuditTest(
    "true pictures", "higher", "ours, beside ERASER", "no document",
    "every document", "is_true_picture", is_compared=True, is_usual_column=True,
    dose="false-documents",
)  # fmt: skip
TRUE_REPLACED = AuditTest(
    "true pictures, words replaced", "higher", "ours, beside ERASER", "no document",
    "every document", "is_true_replaced", dose="false-documents",
)  # fmt: skip
FALL_DRAWS = 10  # random rankings that the falls are compared with
# Measures that do not say which side a word is on.
UNSIGNED = (ATTENTION, "attention-score", "gradient-norm", "state-gradient-norm")


@questions.register("telling")
@dataclass(frozen=True)
class Telling(Question):
    """Erasure of top words, read again by the judge: the same model unless told otherwise."""

    name = "telling"
    place = 4
    asks = "Take its top words away: does the decision fall? Keep only them: does it stand?"
    tests = (TRUE_PICTURES, TRUE_REPLACED, *TESTS.values())

    def measure(self, group: DocumentGroup) -> Measured:
        """Every test for attention, each candidate of the ceiling, and random rankings.

        The sampled documents also get greedy erasure, every other measure, and curves.
        """
        subject, reading, settings = group.subject, group.reading, group.settings
        effects = group.effects_by(group.judge)
        everyone, sample = np.arange(len(reading.weights)), np.flatnonzero(group.is_sampled)
        rankings = cheap_rankings(reading, effects) | {
            measure: _ranking(group, measure) for measure in BEST_OF if measure in subject.measures
        }
        further = {}
        if len(sample):
            further = {GREEDY: _greedy(group, sample)} | {
                measure: _ranking(group, measure)
                for measure in subject.measures
                if measure not in rankings and measure != "random"
            }
        # Over all words: within the support of sparse attention there may be nothing to rank.
        draws = group.rng.random((settings.random_draws, *reading.weights.shape))
        at_random = [effects.opposing_last(draw) for draw in draws]
        numbers = numbers_of(reading, effects, settings.fractions)
        of_all = erasure_tests(group, everyone, list(rankings.values()), numbers)
        of_sample = erasure_tests(group, sample, list(further.values()), numbers) if further else []
        falls = {name: fall for name, (fall, _) in zip(rankings, of_all, strict=True)}
        falls |= {
            name: _spread(fall, sample, len(everyone))
            for name, (fall, _) in zip(further, of_sample, strict=True)
        }
        best = np.fmax.reduce([falls[name] for name in (*rankings, GREEDY) if name in falls])
        deleting = Deleting(numbers, best)
        # What random rankings need not be asked for is left out: most of the cost is theirs.
        of_draws = erasure_tests(group, everyone, at_random[:FALL_DRAWS], deleting.counted_numbers)
        of_draws += erasure_tests(group, everyone, at_random[FALL_DRAWS:])
        floor = np.mean([fall for fall, _ in of_draws[:FALL_DRAWS]], axis=0)
        columns = {f"{FALL}_{name}": deleting.mean(fall) for name, fall in falls.items()}
        columns[f"{FALL}_random"] = deleting.mean(floor)
        columns |= named_columns([tests for _, tests in of_all], rankings)
        columns |= named_columns([np.mean([tests for _, tests in of_draws], axis=0)], ["random"])
        columns |= {
            name: _spread(column, sample, len(everyone))
            for name, column in named_columns([tests for _, tests in of_sample], further).items()
        }
        columns |= _pictures(group, columns, deleting)
        if group.judge is subject:  # another judge is not there when a single text is read
            columns["nearness"] = nearness(reading, effects, numbers, falls).score
        if not len(sample):
            return Measured(columns, empty_curves(group))
        on_curves = {name: rankings[name] for name in rankings if name in ON_CURVES}
        return Measured(columns, curves(group, sample, on_curves | {"random": at_random[0]}))

    def conclude(self, found: Findings) -> Conclusion:
        """The share of true pictures, and each test between random rankings and the best."""
        columns = found.columns
        tests = [_true_pictures(found), *_true_replaced(found)]
        for name, test in TESTS.items():
            if np.isnan(columns[f"{name}_attention"]).all():
                continue  # accuracy needs labels
            known = {m: f"{name}_{m}" for m in (*BEST_OF, ALONE, GREEDY)}
            candidates = {m: column for m, column in known.items() if column in columns}
            rng = found.rng_for(f"best measure by {name}")
            best, chosen = cross_fitted_best(columns, candidates, test.better, rng)
            value, floor = columns[f"{name}_attention"], columns[f"{name}_random"]
            note = f"best measure: {chosen}"
            tests.append(found.test(test, value, floor, best, note=note))
        evidence = {
            "curves": curve_table(found),
            "measures": measure_table(found),
            "classes": class_table(found),
        }
        return Conclusion(tuple(tests), evidence)


def _ranking(group: DocumentGroup, measure: str) -> Ranking:
    """A measure as a ranking; one without a sign has words against the decision last."""
    effects = group.effects_by(group.judge)
    if measure == LEAVE_ONE_OUT:
        return effects.lost  # in log-odds the order is the same, and holds where p is 1
    scores = group.importance(measure)
    return effects.opposing_last(scores) if measure in UNSIGNED else scores


def _greedy(group: DocumentGroup, sample: Rows) -> Ranking:
    settings, lost = group.settings, group.effects_by(group.judge).lost
    words, candidates = settings.greedy_words, settings.greedy_candidates
    return erase_greedily(group.judge, group.reading, sample, lost, words, candidates)


def _pictures(
    group: DocumentGroup, columns: Mapping[str, Column], deleting: Deleting
) -> dict[str, Column]:
    """How true each document's picture is, and which are false; NaN of a silent document."""
    effects = group.effects_by(group.judge)
    fall, floor = columns[f"{FALL}_{ATTENTION}"], columns[f"{FALL}_random"]
    found = judge_pictures(group.judge, group.reading, effects, deleting, fall, floor)
    return {
        f"{FALL}_best": found.best,
        "picture": found.place,
        "is_true_picture": found.is_true,
        "is_silent": found.is_silent.astype(np.float64),
        "is_true_replaced": _replaced(group),
    }


def _replaced(group: DocumentGroup) -> Column:
    """Which pictures of a sample are true if words are replaced, not deleted."""
    found = np.full(len(group.labels), np.nan)
    rows = np.flatnonzero(group.is_replaced)
    if not group.subject.replacement or group.judge is not group.subject or not len(rows):
        return found
    reading = group.reading_of(rows)
    rankings = [
        group.importance(measure)[rows, : reading.weights.shape[1]]
        for measure in BEST_OF
        if measure in group.subject.measures and measure != LEAVE_ONE_OUT
    ]
    draws = list(group.rng.random((FALL_DRAWS, *reading.weights.shape)))
    judge = Replacing(group.subject)
    found[rows] = true_pictures(judge, reading, rankings, group.settings.fractions, draws)
    return found


def _spread(
    values: Float[ndarray, "some ..."], sample: Rows, documents: int
) -> Float[ndarray, "documents ..."]:
    """What was found of the sample, among all documents; NaN of the others."""
    spread = np.full((documents, *values.shape[1:]), np.nan)
    spread[sample] = values
    return spread


def _true_pictures(found: Findings) -> TestResult:
    silent = int(np.nansum(found.columns["is_silent"]))
    note = f"{counted(silent, 'silent document')}: no words carry the decision there"
    shown = score_share(found.columns["is_true_picture"], found.settings.bootstrap)
    return found.judged(TRUE_PICTURES, shown, note=note if silent else "")


def _true_replaced(found: Findings) -> tuple[TestResult, ...]:
    """The same with words replaced; nothing where no word can be put in their place."""
    column = found.columns.get("is_true_replaced")
    if column is None or np.isnan(column).all():
        return ()
    note = f"words replaced by {found.subject.replacement}"
    return (found.judged(TRUE_REPLACED, score_share(column, found.settings.bootstrap), note=note),)
