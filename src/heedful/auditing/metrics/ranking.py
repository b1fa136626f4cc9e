"""Do two measures of importance rank a document's words alike?

Two rows of values per document -> one agreement per document. NaN where nothing can be ranked:
fewer than two tokens, or all tied. Values are compared as they come: who compares attention, which
has no sign, with a signed importance takes the absolute value first.
"""

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import erfc, factorial
from scipy.stats import kendalltau

from heedful.auditing.metrics.base import metric
from heedful.auditing.metrics.pairs import Pairs, compare_pairs
from heedful.auditing.metrics.rows import (
    IsToken,
    PerExample,
    Rows,
    divide,
    has_nan,
    in_row_chunks,
    nan_where,
)
from heedful.auditing.metrics.top import chance_in_top, top_k

LARGEST_EXACT = 33  # tokens; above it scipy, too, takes the normal law for the exact one
# Outside these bounds one call of scipy per row is faster than arithmetic on all rows at once.
LONGEST_AT_ONCE = 1500  # tokens
FEWEST_AT_ONCE = 4  # rows


@dataclass(frozen=True)
class KendallTest:
    """Kendall's tau-b of each example and how surprising it were if nothing related the two."""

    tau: PerExample
    p_value: PerExample  # two-sided


def kendall_test(first: Rows, second: Rows, is_token: IsToken) -> KendallTest:
    """Kendall's tau-b with two-sided p-values, both as `scipy.stats.kendalltau` gives them.

    Without ties and up to 33 tokens p is exact, otherwise it follows the normal law with the
    variance corrected for ties.
    """
    tau, p_value = _kendall(first, second, is_token).T
    return KendallTest(tau, p_value)


@metric("kendall_tau", better="higher", bounds=(-1.0, 1.0))
def kendall_tau(first: Rows, second: Rows, is_token: IsToken) -> PerExample:
    """Share of word pairs that both rank in the same order, minus the share ranked oppositely.

    tau_b = (concordant - discordant) / sqrt(pairs not tied in first * pairs not tied in second)

    1: the same order. 0: no relation. -1: reversed. The measure of arXiv:1902.10186; every pair
    counts the same, so the many words that do not matter outvote the few that do.
    """
    return kendall_test(first, second, is_token).tau


@metric("weighted_tau", better="higher", bounds=(-1.0, 1.0))
@in_row_chunks
def weighted_tau(first: Rows, second: Rows, is_token: IsToken) -> PerExample:
    """Kendall's tau in which words at the top count most (additive hyperbolic, arXiv:1404.3325).

    A pair weighs 1 / rank_i + 1 / rank_j, rank 1 the highest. Tau is taken with the ranks of the
    first measure (ties: of the second) and with those of the second, and the two are averaged, as
    `scipy.stats.weightedtau` does. 1: the same order. -1: reversed. Unrelated rankings do not
    average exactly 0 (arXiv:2504.08428), so read it beside random weights.
    """

    def top_weighted(pairs: Pairs) -> PerExample:
        rank = pairs.tokens[:, None] - np.arange(pairs.is_token.shape[1])
        return pairs.tau(np.where(pairs.is_token, 1 / np.maximum(rank, 1), 0))

    tau = top_weighted(compare_pairs(first, second, is_token))
    turned = top_weighted(compare_pairs(second, first, is_token))
    return nan_where(has_nan(first, is_token) | has_nan(second, is_token), (tau + turned) / 2)


@metric("pearson", better="higher", bounds=(-1.0, 1.0))
@in_row_chunks
def pearson(first: Rows, second: Rows, is_token: IsToken) -> PerExample:
    """Linear correlation of the values themselves; large values dominate it.

    r = sum (a - mean a) (b - mean b) / (|a - mean a| |b - mean b|)

    1: proportional up to a shift. 0: no linear relation. NaN where either is constant.
    """
    a, b = _standardised(first, is_token), _standardised(second, is_token)
    return np.clip((a * b).sum(axis=-1), -1, 1)


@metric("top_overlap", better="higher", bounds=(0.0, 1.0))
@in_row_chunks
def top_overlap(first: Rows, second: Rows, is_token: IsToken, fraction: float = 0.1) -> PerExample:
    """Share of one measure's top words that are among the other's top words.

    overlap = |top_k(first) & top_k(second)| / k,  k = max(1, ceil(fraction * tokens))

    1: the same words. k / tokens: what chance gives. Where values tie at the edge of the top, this
    is the expected overlap when either measure breaks its ties at random on its own: a constant
    measure scores as chance does, however the words are ordered.
    """
    tokens = is_token.sum(axis=-1)
    k = top_k(fraction, tokens)
    in_both = chance_in_top(first, is_token, k) * chance_in_top(second, is_token, k)
    overlap = divide(in_both.sum(axis=-1), np.minimum(k, tokens))
    # Adding shares of tied tokens may end a rounding error above 1.
    overlap = np.minimum(overlap, 1)
    return nan_where(has_nan(first, is_token) | has_nan(second, is_token), overlap)


@in_row_chunks
def _kendall(first: Rows, second: Rows, is_token: IsToken) -> Float[ndarray, "examples 2"]:
    """Tau-b and its p-value, side by side."""
    rows, width = first.shape
    both = np.full((rows, 2), np.nan)
    if rows < FEWEST_AT_ONCE or width > LONGEST_AT_ONCE:
        for row, keep in enumerate(is_token):
            if np.count_nonzero(keep) > 1:  # scipy warns of fewer
                both[row] = kendalltau(first[row][keep], second[row][keep])
        return both
    pairs = compare_pairs(first, second, is_token)
    tau = pairs.tau()
    is_asked = ~(has_nan(first, is_token) | has_nan(second, is_token) | np.isnan(tau))
    both[is_asked] = np.stack([tau, _p_value(pairs)], axis=-1)[is_asked]
    return both


def _p_value(pairs: Pairs) -> PerExample:
    n = pairs.tokens
    all_pairs = n * (n - 1) // 2
    ties = pairs.tied_in_first.sum(axis=-1) + pairs.tied_in_second.sum(axis=-1)
    rarer = np.minimum(pairs.discordant, all_pairs - pairs.discordant)
    is_small = (ties == 0) & (n <= LARGEST_EXACT)
    is_extreme = (ties == 0) & (n > LARGEST_EXACT) & (rarer <= 1)
    p_value = _normal_p_value(pairs)
    p_value[is_small] = _exact_p_values()[n[is_small], rarer[is_small]]
    # 1 permutation of n! has no discordant pair, and n have at most one.
    p_value[is_extreme] = 2 / factorial((n - rarer)[is_extreme])
    return p_value


def _normal_p_value(pairs: Pairs) -> PerExample:
    """p of concordant - discordant under the normal law with the variance that ties leave.

    variance = (n (n - 1) (2n + 5) - sum t (t - 1) (2t + 5) for both) / 18
             + product of both sums of t (t - 1) / (2 n (n - 1))
             + product of both sums of t (t - 1) (t - 2) / (9 n (n - 1) (n - 2))

    with t the sizes of the groups of tied tokens; here each token adds its share, t - 1 being its
    tied partners.
    """
    n = pairs.tokens.astype(np.float64)
    first, second = (t.astype(np.float64) for t in (pairs.tied_in_first, pairs.tied_in_second))
    two = [t.sum(axis=-1) for t in (first, second)]
    three = [(t * (t - 1)).sum(axis=-1) for t in (first, second)]
    five = sum((t * (2 * t + 7)).sum(axis=-1) for t in (first, second))
    ordered = n * (n - 1)
    variance = (
        (ordered * (2 * n + 5) - five) / 18
        + two[0] * two[1] / (2 * np.maximum(ordered, 1))
        + three[0] * three[1] / (9 * np.maximum(ordered * (n - 2), 1))
    )
    tied = two[0] + two[1] - pairs.tied_in_both.sum(axis=-1)
    balance = (ordered - tied) / 2 - 2 * pairs.discordant
    return erfc(np.abs(divide(balance, np.sqrt(2 * np.abs(variance)))))


@functools.cache
def _exact_p_values() -> Float[ndarray, "sizes counts"]:
    """p by number of tokens and of discordant pairs (or concordant ones, whichever are fewer).

    The permutations of n with d discordant pairs come from those of n - 1 by putting in the n-th
    token, which makes 0 to n - 1 new discordant pairs.
    """
    most = LARGEST_EXACT * (LARGEST_EXACT - 1) // 2
    table = np.ones((LARGEST_EXACT + 1, most + 1))
    permutations = np.ones(1)
    for n in range(2, LARGEST_EXACT + 1):
        permutations = np.convolve(permutations, np.ones(n))
        at_most = np.cumsum(permutations) / factorial(n)
        table[n, : len(at_most)] = np.minimum(1, 2 * at_most)
    return table


def _standardised(values: Rows, is_token: IsToken) -> Float[ndarray, "examples tokens"]:
    """Rows with mean 0 and length 1 over their tokens; NaN where constant, 0 on padding."""
    values = values.astype(np.float64)
    tokens = is_token.sum(axis=-1, keepdims=True)
    lowest = np.where(is_token, values, np.inf).min(axis=-1, keepdims=True, initial=np.inf)
    highest = np.where(is_token, values, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore"):  # an infinite value makes its row NaN
        # Constant rows become 0 / 0 here: rounding would leave them a little off their own mean.
        scaled = np.where(is_token, values - lowest, 0) / (highest - lowest)
    mean = divide(scaled.sum(axis=-1, keepdims=True), tokens)
    deviation = np.where(is_token, scaled - mean, 0)
    return divide(deviation, np.sqrt((deviation**2).sum(axis=-1, keepdims=True)))
