"""Does the prediction move when the attention moves?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.metrics.erasure import fraction_to_flip
from heedful.auditing.questions.question import (
    AuditSettings,
    Chunk,
    Column,
    Columns,
    Question,
    TestResult,
    cross_fitted_best,
    questions,
)
from heedful.auditing.subject import OpenSubject, Reading
from heedful.counterfactual.simple import Permuted, uniform

ORDERS = ("attention-x-gradient", "contribution")  # the best importance order is one of these
NOTHING = 1e-9  # a move of the prediction below this is none


@questions.register("decisive")
@dataclass(frozen=True)
class Decisive(Question):
    """Permuted and uniform weights at inference, and weights erased until the decision flips."""

    name = "decisive"
    place = 1
    asks = "Does the prediction move when the attention moves?"

    def measure(
        self, subject: OpenSubject, chunk: Chunk, settings: AuditSettings, rng: np.random.Generator
    ) -> dict[str, Column]:
        """Total variation between predictions, and shares of the support erased."""
        reading = chunk.reading
        seed = int(rng.integers(2**31))
        permuted = subject.otherwise(reading, Permuted(settings.permutations), seed)
        even = subject.otherwise(reading, uniform, seed)
        documents, words = reading.weights.shape
        one_hot = np.broadcast_to(np.eye(words), (documents, words, words))
        at_one_word = reading.moved(subject.decide(reading, one_hot))
        nothing = subject.without_evidence(reading)[:, None]
        draws = rng.random((settings.random_draws, *reading.weights.shape))
        flips = np.mean([_share_to_flip(subject, reading, draw) for draw in draws], axis=0)
        return {
            "permuted_tvd": np.median(reading.moved(subject.decide(reading, permuted)), axis=1),
            "uniform_tvd": reading.moved(subject.decide(reading, even))[:, 0],
            "no_evidence_tvd": reading.moved(nothing)[:, 0],
            "reachable_tvd": np.where(reading.is_token, at_one_word, 0.0).max(axis=1),
            "max_weight": reading.weights.max(axis=1),
            "flip_share_attention": _share_to_flip(subject, reading, reading.weights),
            "flip_share_random": flips,
        } | {
            f"flip_share_{order}": _share_to_flip(
                subject, reading, subject.importance(reading, order)
            )
            for order in ORDERS
        }

    def conclude(
        self, columns: Columns, settings: AuditSettings, rng: np.random.Generator
    ) -> list[TestResult]:
        """Moves between none and those of losing all evidence; flips between random and best."""
        ceiling = columns["no_evidence_tvd"]
        cannot_move = bool((columns["reachable_tvd"] < NOTHING).all())
        reach = (
            f"any weights could move it by {np.nanmean(columns['reachable_tvd']):.3f} on average"
        )
        moves = [
            self.result(
                name, "higher", (columns[column], 0.0, ceiling), settings, rng,
                note=reach, cannot_move=cannot_move,
            )
            for name, column in (("permutation", "permuted_tvd"), ("uniform", "uniform_tvd"))
        ]  # fmt: skip
        candidates = {order: f"flip_share_{order}" for order in ORDERS}
        best, _ = cross_fitted_best(columns, candidates, "lower", rng)
        flips = (columns["flip_share_attention"], columns["flip_share_random"], best)
        return [*moves, self.result("erase until flip", "lower", flips, settings, rng)]


def _share_to_flip(
    subject: OpenSubject, reading: Reading, order_by: Float[ndarray, "documents words"]
) -> Column:
    """Share of the support whose weights are erased, highest first, before the decision flips.

    Erased weights are 0 and the rest is renormalised; states stay (arXiv:1906.03731).
    """
    support = reading.support
    rank = np.where(support, -order_by, np.inf).argsort(axis=1, kind="stable").argsort(axis=1)
    steps = np.arange(1, max(2, int(support.sum(axis=1).max(initial=1))))
    is_left = (rank[:, None] >= steps[:, None]) & support[:, None]
    weights = reading.weights[:, None] * is_left
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    decisions = subject.decide(reading, weights).argmax(axis=-1)
    size = support.sum(axis=1, keepdims=True)
    is_real = steps < size  # something must be left to decide with
    is_flipped = (decisions != reading.prediction[:, None]) & is_real
    return fraction_to_flip(is_flipped, steps / np.maximum(size, 1))
