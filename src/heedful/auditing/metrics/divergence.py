"""How far apart two distributions are, and how spread one is.

A row is a distribution over a document's words (attention, shares of importance) or over classes
(a prediction): non-negative and summing to 1, with 0 on padding. A row that sums to 0, as that of
a document without words does, gives NaN. Everything in nats.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import entr, rel_entr, xlogy

from heedful.auditing.metrics.base import metric
from heedful.auditing.metrics.rows import (
    IsToken,
    PerExample,
    Rows,
    divide,
    in_row_chunks,
    nan_where,
)
from heedful.errors import DataError

Distributions = Float[ndarray, "examples outcomes"]  # outcomes: tokens, or classes

LN_2 = float(np.log(2))
SUM_TOLERANCE = 1e-3  # what half precision leaves of a softmax over a long document


@metric("js_divergence", better="lower", bounds=(0.0, LN_2))
@in_row_chunks
def js_divergence(first: Distributions, second: Distributions) -> PerExample:
    """Jensen-Shannon divergence, nats: 0 for equal distributions, ln 2 = 0.693 for disjoint ones.

    JSD = KL(first || middle) / 2 + KL(second || middle) / 2,  middle = (first + second) / 2

    Symmetric and finite. Lower is better as the audit uses it: attention that could have been very
    different (arXiv:1902.10186), or is under another seed (arXiv:1908.04626), explains less.
    """
    first, second = _distributions(first), _distributions(second)
    # The halves of two subnormal numbers may round to 0, against which any share is infinite.
    middle = np.maximum((first + second) / 2, np.finfo(np.float64).tiny)
    divergence = (rel_entr(first, middle) + rel_entr(second, middle)).sum(axis=-1) / 2
    return np.clip(divergence, 0, LN_2)


@metric("kl_divergence", better="neither", bounds=(0.0, np.inf))
@in_row_chunks
def kl_divergence(first: Distributions, second: Distributions) -> PerExample:
    """Kullback-Leibler divergence of `first` from `second`, nats.

    KL = sum first log(first / second),  with 0 log 0 = 0

    0: equal. Infinite exactly where `first` has mass that `second` lacks, as sparse attention makes
    common: prefer the Jensen-Shannon divergence there.
    """
    first, second = _distributions(first), _distributions(second)
    return np.maximum(rel_entr(first, second).sum(axis=-1), 0)


@metric("total_variation", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def total_variation(first: Distributions, second: Distributions) -> PerExample:
    """Largest difference in probability that the two give any event; 0 to 1.

    TVD = sum |first - second| / 2

    Higher is better as the audit uses it: how far the prediction moves when the attention does
    (arXiv:1908.04626). For two classes, the change in either probability.
    """
    difference = np.abs(_distributions(first) - _distributions(second)).sum(axis=-1) / 2
    return np.minimum(difference, 1)


@metric("normalised_entropy", better="neither", bounds=(0.0, 1.0))
@in_row_chunks
def normalised_entropy(weights: Rows, is_token: IsToken) -> PerExample:
    """How evenly weight is spread over a document's words, whatever their number.

    H / log n = -sum weights log weights / log tokens

    0: all on one word. 1: uniform. NaN for a document of one word (arXiv:2106.01087).
    """
    tokens = is_token.sum(axis=-1)
    entropy = entr(_distributions(np.where(is_token, weights, 0))).sum(axis=-1)
    return np.clip(divide(entropy, np.log(np.maximum(tokens, 1))), 0, 1)


@metric("max_js_divergence", better="lower", bounds=(0.0, LN_2))
@in_row_chunks
def max_js_divergence(weights: Rows, is_token: IsToken) -> PerExample:
    """Largest Jensen-Shannon divergence, nats, that any attention over the same words reaches.

    max JSD = ln 2 + (s ln s - (1 + s) ln (1 + s)) / 2,  s the smallest weight

    JSD is convex, so the farthest point of the simplex is a corner, and the farthest corner is that
    of the smallest weight. ln 2 as soon as any word has no weight; 0 for a document of one word.
    What an adversary reaches when the prediction is left free.
    """
    weights = _distributions(np.where(is_token, weights, 0))
    smallest = np.where(is_token, weights, np.inf).min(axis=-1, initial=np.inf)
    has_none = is_token.sum(axis=-1) == 0
    smallest = np.where(has_none, 0, smallest)
    divergence = LN_2 + (xlogy(smallest, smallest) - (1 + smallest) * np.log1p(smallest)) / 2
    return nan_where(has_none, np.clip(divergence, 0, LN_2))


def _distributions(rows: Distributions) -> Distributions:
    """The rows in double precision, summing to exactly 1; NaN where a row is all zero."""
    rows = rows.astype(np.float64)
    sums = rows.sum(axis=-1, keepdims=True)
    off = np.abs(sums[:, 0] - 1) > SUM_TOLERANCE
    if (wrong := np.flatnonzero(off & (sums[:, 0] != 0))).size:
        raise DataError(
            f"a distribution must sum to 1 over real tokens or classes; example {wrong[0]} sums to "
            f"{sums[wrong[0], 0]:.3g}. Was `is_token` inverted, or are these scores?"
        )
    if (wrong := np.flatnonzero((rows < 0).any(axis=-1))).size:
        raise DataError(
            f"a distribution has no negative entries; example {wrong[0]} has "
            f"{rows[wrong[0]].min():.3g}. Normalize the absolute values first."
        )
    return divide(rows, sums)
