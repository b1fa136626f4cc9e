"""What the judge says of documents whole, without their top words, and of those words alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
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
from heedful.auditing.pictures import ALONE, ATTENTION, Steps, largest_so_far
from heedful.auditing.questions.base import DocumentGroup
from heedful.auditing.results import Column
from heedful.auditing.subjects.erasure import Ranking, predict_sets, tops_of_size

ERASER, VAT = "DeYoung et al. 2020 (ERASER)", "Zhou et al. (VAT)"
FALL = "fall"  # of the log-odds of a decision
# What the ceiling is chosen from. Leave-one-out alone fails where two words say the same.
BEST_OF = ("leave-one-out", "gradient-x-input", "contribution", "decomposition")
GREEDY, BEAM, WORST = "greedy erasure", "beam search", "worst order"
OF_THE_JUDGE = "leave-one-out of the judge"  # where another model judges
# For the best ranking of a document.
CANDIDATES = (ATTENTION, ALONE, *BEST_OF, OF_THE_JUDGE, GREEDY, BEAM)
RANKINGS = "20 random rankings of all words (10 beyond the sample for costly measures)"
TESTS = {
    name: AuditTest(
        name, metrics[name].better, paper, RANKINGS,
        "the best of leave-one-out, words alone, gradient × input, contribution, decomposition, "
        "greedy erasure and, in deep audits, beam search",
        f"{name}_attention", is_compared=paper is ERASER,
    )
    for name, paper in (
        ("comprehensiveness", ERASER), ("sufficiency", ERASER), ("accuracy_drop", VAT),
        ("post_hoc_accuracy_own", VAT), ("post_hoc_accuracy_gold", VAT),
    )
}  # fmt: skip

Rows = Int[ndarray, " some"]


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


def erase(
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


def erasure_tests(
    group: DocumentGroup, some: Rows, rankings: Iterable[Ranking], numbers: Steps | None = None
) -> list[tuple[Float[ndarray, "some numbers"], Float[ndarray, "tests some"]]]:
    """Of each ranking, on some documents: the largest falls so far, and all tests of `TESTS`."""
    lengths = group.reading.is_token.sum(axis=1)
    sizes = np.stack([top_k(part, lengths) for part in group.settings.fractions], axis=1)
    results = []
    for erased in erase(group, some, rankings, sizes, numbers):
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


def named_columns(
    results: Sequence[Float[ndarray, "tests some"]], rankings: Iterable[str]
) -> dict[str, Column]:
    """The tests of `erasure_tests` as columns, named by test and ranking."""
    return {
        f"{test}_{ranking}": row
        for ranking, rows in zip(rankings, results, strict=True)
        for test, row in zip(TESTS, rows, strict=True)
    }
