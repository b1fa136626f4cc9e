"""Take its top words away: does the decision fall? Keep only them: does it stand?

Attention has no sign, so words that speak against the decision are deleted last, in attention and
in random rankings alike (`WordEffects.opposing_last`); measures that have a sign rank as they are.
Each document's *picture* is judged by itself (`heedful.auditing.pictures`). Where even the best
ranking hardly moves the decision, no words carry it: the document is *silent*.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import estimate, score_share
from heedful.auditing.metrics.base import metrics
from heedful.auditing.metrics.erasure import (
    accuracy_drop,
    comprehensiveness,
    post_hoc_accuracy_gold,
    post_hoc_accuracy_own,
    sufficiency,
)
from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.metrics.top import top_k
from heedful.auditing.nearness import nearness
from heedful.auditing.pictures import (
    ALONE,
    ATTENTION,
    Deleting,
    Steps,
    cheap_rankings,
    is_true,
    judge_pictures,
    largest_so_far,
    numbers_of,
    place_between,
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
from heedful.auditing.results import Column, Table, TestResult
from heedful.auditing.subjects.erasure import Ranking, erase_greedily, predict_sets, tops_of_size
from heedful.auditing.subjects.replacing import Replacing
from heedful.errors import counted

# What the ceiling is chosen from. Leave-one-out alone fails where two words say the same.
BEST_OF = ("leave-one-out", "gradient-x-input", "contribution")
GREEDY, FALL = "greedy erasure", "fall"
ERASER, VAT = "DeYoung et al. 2020 (ERASER)", "Zhou et al. (VAT)"
RANKINGS = "20 random rankings of all words"
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
TESTS = {
    name: AuditTest(
        name, metrics[name].better, paper, RANKINGS,
        "the best of leave-one-out, words alone, gradient × input, contribution and greedy erasure",
        f"{name}_attention", is_compared=paper is ERASER,
    )
    for name, paper in (
        ("comprehensiveness", ERASER), ("sufficiency", ERASER), ("accuracy_drop", VAT),
        ("post_hoc_accuracy_own", VAT), ("post_hoc_accuracy_gold", VAT),
    )
}  # fmt: skip
# Measures that do not say which side a word is on.
UNSIGNED = (ATTENTION, "attention-score", "gradient-norm", "state-gradient-norm")
CURVES = ("probability_drop", "accuracy_drop", "kept_own", "kept_gold")
ON_CURVES = (ATTENTION, "leave-one-out", "gradient-x-input", "random")

Rows = Int[ndarray, " some"]


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
        of_all = _tested(group, everyone, list(rankings.values()), numbers)
        of_sample = _tested(group, sample, list(further.values()), numbers) if further else []
        falls = {name: fall for name, (fall, _) in zip(rankings, of_all, strict=True)}
        falls |= {
            name: _spread(fall, sample, len(everyone))
            for name, (fall, _) in zip(further, of_sample, strict=True)
        }
        best = np.fmax.reduce([falls[name] for name in (*rankings, GREEDY) if name in falls])
        deleting = Deleting(numbers, best)
        # What random rankings need not be asked for is left out: most of the cost is theirs.
        of_draws = _tested(group, everyone, at_random[:FALL_DRAWS], deleting.counted_numbers)
        of_draws += _tested(group, everyone, at_random[FALL_DRAWS:])
        floor = np.mean([fall for fall, _ in of_draws[:FALL_DRAWS]], axis=0)
        columns = {f"{FALL}_{name}": deleting.mean(fall) for name, fall in falls.items()}
        columns[f"{FALL}_random"] = deleting.mean(floor)
        columns |= _named([tests for _, tests in of_all], rankings)
        columns |= _named([np.mean([tests for _, tests in of_draws], axis=0)], ["random"])
        columns |= {
            name: _spread(column, sample, len(everyone))
            for name, column in _named([tests for _, tests in of_sample], further).items()
        }
        columns |= _pictures(group, columns, deleting)
        if group.judge is subject:  # another judge is not there when a single text is read
            columns["nearness"] = nearness(reading, effects, numbers, falls).score
        if not len(sample):
            return Measured(columns, _empty_curves(group))
        on_curves = {name: rankings[name] for name in rankings if name in ON_CURVES}
        return Measured(columns, _curves(group, sample, on_curves | {"random": at_random[0]}))

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
            "curves": _curve_table(found),
            "measures": _measure_table(found),
            "classes": _class_table(found),
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


def _class_table(found: Findings) -> Table:
    """False pictures by predicted class."""
    is_true, prediction = found.columns["is_true_picture"], found.prediction
    rows = []
    for number, name in enumerate(found.subject.classes):
        some = score_share(is_true[prediction == number], found.settings.bootstrap)
        low, high = some.interval
        rows.append(
            {
                "class": str(name), "false_pictures": 1 - some.value,
                "low": 1 - high, "high": 1 - low, "documents": some.documents,
            }
        )  # fmt: skip
    return tuple(rows)


@dataclass(frozen=True)
class Erased:
    """What the judge says of some documents whole, without the top words, and of those alone."""

    labels: Int[ndarray, " documents"]
    prediction: Int[ndarray, " documents"]
    probability: Float[ndarray, " documents"]  # of the prediction, here and below
    without: Float[ndarray, "documents steps"]
    only: Float[ndarray, "documents steps"]
    prediction_without: Int[ndarray, "documents steps"]
    prediction_only: Int[ndarray, "documents steps"]
    fall: Float[ndarray, "documents numbers"]  # of the log-odds, until the decision is lost


def _erased(
    group: DocumentGroup,
    some: Rows,
    rankings: Iterable[Ranking],
    sizes: Int[ndarray, "documents sizes"],
    numbers: Steps | None = None,
) -> list[Erased]:
    """Each ranking's top words deleted and kept; each different set of words predicted once.

    Falls are those without the top `numbers` of words; without them none are found.
    """
    reading = group.reading
    if numbers is None:
        numbers = sizes[:, :0]
    steps, tried = sizes.shape[1], np.concatenate([sizes, numbers], axis=1)
    tops = [tops_of_size(reading, ranking, tried)[some] for ranking in rankings]
    rest = [reading.is_token[some][:, None] & ~top for top in tops]
    kept = [top[:, :steps] for top in tops]
    probabilities = predict_sets(group.judge, reading, some, [*rest, *kept])
    whole = group.judge.judged(reading)[some]
    prediction, rows = whole.argmax(axis=1), np.arange(len(some))
    target = np.repeat(prediction[:, None], numbers.shape[1], axis=1)
    effects, smallest = group.effects_by(group.judge).of(some), group.judge.smallest
    return [
        Erased(
            group.labels[some],
            prediction,
            whole[rows, prediction],
            without[rows, :steps, prediction],
            only[rows, :, prediction],
            without[:, :steps].argmax(axis=-1),
            only.argmax(axis=-1),
            effects.fall_to(log_odds(without[:, steps:], target, smallest)),
        )
        for without, only in zip(
            probabilities[: len(tops)], probabilities[len(tops) :], strict=True
        )
    ]


def _tested(
    group: DocumentGroup, some: Rows, rankings: Iterable[Ranking], numbers: Steps | None = None
) -> list[tuple[Float[ndarray, "some numbers"], Float[ndarray, "tests some"]]]:
    """Of each ranking, on some documents: the largest falls so far, and all tests of `TESTS`."""
    lengths = group.reading.is_token.sum(axis=1)
    sizes = np.stack([top_k(part, lengths) for part in group.settings.fractions], axis=1)
    results = []
    for erased in _erased(group, some, rankings, sizes, numbers):
        labels, prediction = erased.labels, erased.prediction
        drop = accuracy_drop(labels, prediction, erased.prediction_without)
        gold = post_hoc_accuracy_gold(labels, erased.prediction_only)
        tests = [
            comprehensiveness(erased.probability, erased.without),
            sufficiency(erased.probability, erased.only),
            np.where(labels >= 0, drop, np.nan),
            post_hoc_accuracy_own(prediction, erased.prediction_only),
            np.where(labels >= 0, gold, np.nan),
        ]
        results.append((largest_so_far(erased.fall), np.stack(tests)))
    return results


def _named(
    results: Sequence[Float[ndarray, "tests some"]], rankings: Iterable[str]
) -> dict[str, Column]:
    return {
        f"{test}_{ranking}": row
        for ranking, rows in zip(rankings, results, strict=True)
        for test, row in zip(TESTS, rows, strict=True)
    }


def _curves(
    group: DocumentGroup, sample: Rows, rankings: dict[str, Ranking]
) -> dict[str, Float[ndarray, "documents steps"]]:
    """What deleting or keeping the top 1, 2, … words does; NaN beyond a document's words."""
    steps = np.array(group.settings.curve)
    sizes = np.repeat(steps[None], len(group.labels), axis=0)
    is_long_enough = group.reading.is_token.sum(axis=1)[sample][:, None] > steps
    curves = _empty_curves(group)
    all_erased = _erased(group, sample, rankings.values(), sizes)
    for name, erased in zip(rankings, all_erased, strict=True):
        labels, prediction = erased.labels[:, None], erased.prediction[:, None]
        right_whole, right_without = (
            (found == labels).astype(np.float64)
            for found in (prediction, erased.prediction_without)
        )
        found = {
            "probability_drop": erased.probability[:, None] - erased.without,
            "accuracy_drop": np.where(labels >= 0, right_whole - right_without, np.nan),
            "kept_own": (erased.prediction_only == prediction).astype(np.float64),
            "kept_gold": np.where(labels >= 0, erased.prediction_only == labels, np.nan),
        }
        for curve, values in found.items():
            curves[f"{curve}_{name}"][sample] = np.where(is_long_enough, values, np.nan)
    return curves


def _empty_curves(group: DocumentGroup) -> dict[str, Float[ndarray, "documents steps"]]:
    shape = (len(group.labels), len(group.settings.curve))
    names = [m for m in ON_CURVES if m in (*group.subject.measures, "random")]
    return {f"{curve}_{m}": np.full(shape, np.nan) for curve in CURVES for m in names}


def _curve_table(found: Findings) -> Table:
    """Means of the curves: one row per measure and number of words."""
    rows = []
    curves = found.measured.curves
    for measure in ON_CURVES:
        if f"{CURVES[0]}_{measure}" not in curves:
            continue
        for step, k in enumerate(found.settings.curve):
            columns = {curve: curves[f"{curve}_{measure}"][:, step] for curve in CURVES}
            documents = int((~np.isnan(columns[CURVES[0]])).sum())
            means = {
                curve: float(np.nanmean(column)) if not np.isnan(column).all() else None
                for curve, column in columns.items()
            }
            if documents:
                rows.append({"measure": measure, "k": k, **means, "documents": documents})
    return tuple(rows)


def _measure_table(found: Findings) -> Table:
    """Every measure on the sampled documents, best first: what may be shown instead."""
    columns, bootstrap = found.columns, found.settings.bootstrap
    known = [m for m in found.subject.measures if m != "random"]
    names = [m for m in known if f"comprehensiveness_{m}" in columns]
    sampled = np.all([~np.isnan(columns[f"comprehensiveness_{m}"]) for m in names], axis=0)
    rows = []
    for measure in (*names, "random"):
        column = np.where(sampled, columns[f"comprehensiveness_{measure}"], np.nan)
        rng = found.rng_for(f"ranking of {measure}")
        mean = estimate(column, rng, bootstrap)
        over = estimate(column - columns["comprehensiveness_attention"], rng, bootstrap)
        kept = estimate(
            np.where(sampled, columns[f"sufficiency_{measure}"], np.nan), rng, bootstrap
        )
        falls = (columns[f"{FALL}_{name}"] for name in (measure, "random", "best"))
        true = score_share(is_true(place_between(*falls)), bootstrap)
        rows.append(
            {
                "measure": measure, "comprehensiveness": mean.mean,
                "low": mean.interval[0], "high": mean.interval[1],
                "over_attention": over.mean, "over_attention_low": over.interval[0],
                "over_attention_high": over.interval[1],
                "sufficiency": kept.mean, "documents": mean.documents,
                "false_pictures": 1 - true.value,
                "false_low": 1 - true.interval[1], "false_high": 1 - true.interval[0],
            }
        )  # fmt: skip
    return tuple(sorted(rows, key=lambda row: -row["comprehensiveness"]))
