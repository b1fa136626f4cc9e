"""Two rankings of the same tokens -> how the pairs of tokens agree, for all rows at once.

Kendall's tau and its top-weighted form are sums over pairs. Counting, for each token, its tied and
its discordant partners makes them sums over tokens, in O(n log n) time and O(n) memory.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.rows import IsToken, PerExample, Rows, divide

Ranks = Int[ndarray, "examples tokens"]


@dataclass(frozen=True)
class Pairs:
    """For each token, how many partners it is tied with; pairs in the wrong order are counted.

    Tokens stand in ascending order of the first ranking (ties: of the second), padding behind.
    """

    is_token: Bool[ndarray, "examples tokens"]
    tied_in_first: Ranks
    tied_in_second: Ranks
    tied_in_both: Ranks
    second_ranks: Ranks

    @property
    def tokens(self) -> Int[ndarray, " examples"]:
        """Number of real tokens of each row."""
        return self.is_token.sum(axis=-1)

    @functools.cached_property
    def discordant(self) -> Int[ndarray, " examples"]:
        """Number of pairs that the rankings put in opposite order."""
        return count_discordant(self.second_ranks)

    def tau(self, weights: Float[ndarray, "examples tokens"] | None = None) -> PerExample:
        """Tau-b, each pair weighing the sum of its tokens' weights (arXiv:1404.3325), or 1.

        (concordant - discordant) / sqrt(not tied in first) / sqrt(not tied in second)

        NaN where either ranking ties all tokens.
        """

        def weight_of(partners: Ranks) -> PerExample:
            if weights is None:
                return partners.sum(axis=-1) / 2  # each pair was met from both its ends
            return (weights * partners).sum(axis=-1)

        every_other = self.is_token * (self.tokens - 1)[:, None]
        pairs = weight_of(every_other)
        in_first, in_second = weight_of(self.tied_in_first), weight_of(self.tied_in_second)
        either = in_first + in_second - weight_of(self.tied_in_both)
        discordant = (
            self.discordant
            if weights is None
            else weight_of(count_discordant_partners(self.second_ranks))
        )
        # Whether all are tied is asked of the counts: the weighted sums carry rounding errors.
        untied_in_first = np.where(self._all(self.tied_in_first), 0, pairs - in_first)
        untied_in_second = np.where(self._all(self.tied_in_second), 0, pairs - in_second)
        balance = pairs - either - 2 * discordant
        tau = divide(divide(balance, np.sqrt(untied_in_first)), np.sqrt(untied_in_second))
        return np.clip(tau, -1, 1)

    def _all(self, partners: Ranks) -> Bool[ndarray, " examples"]:
        """Whether every pair of the row is of this kind."""
        return partners.sum(axis=-1) == self.tokens * (self.tokens - 1)


def compare_pairs(first: Rows, second: Rows, is_token: IsToken) -> Pairs:
    """Every pair of tokens of each row, compared under two rankings."""
    width = first.shape[1]
    first_ranks, second_ranks = _ranks(first, is_token), _ranks(second, is_token)
    # One integer per token that sorts as the two ranks do; sorting it is faster than lexsort.
    both = np.sort(first_ranks * (width + 1) + second_ranks, axis=-1)
    ranks_in_order = both % (width + 1)
    is_token = both < width * (width + 1)
    return Pairs(
        is_token=is_token,
        tied_in_first=_tied(both // (width + 1), is_token),
        tied_in_second=_tied(ranks_in_order, is_token),
        tied_in_both=_tied(_count_changes(both), is_token),
        second_ranks=ranks_in_order,
    )


def _ranks(values: Rows, is_token: IsToken) -> Ranks:
    """Whole numbers below the width that order a row as its values do; the width on padding."""
    order = np.argsort(values, axis=-1)  # padding takes part: it makes gaps, but no ties
    ranks = np.empty(values.shape, dtype=_integers_for(values.shape[1]))
    in_order = _count_changes(np.take_along_axis(values, order, axis=-1))
    np.put_along_axis(ranks, order, in_order, axis=-1)
    ranks[~is_token] = values.shape[1]
    return ranks


def _count_changes(ordered: ndarray) -> Ranks:
    """Ranks of rows that are sorted already."""
    ranks = np.zeros(ordered.shape, dtype=_integers_for(ordered.shape[1]))
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=-1, out=ranks[:, 1:])
    return ranks


def _tied(ranks: Ranks, is_token: IsToken) -> Ranks:
    """For each token, how many others of its row share its rank; 0 on padding."""
    rows, width = ranks.shape
    groups = ranks + (width + 1) * np.arange(rows)[:, None]
    others = np.bincount(groups.ravel(), minlength=rows * (width + 1)) - 1
    return others[groups] * is_token


def count_discordant(ranks: Ranks) -> Int[ndarray, " examples"]:
    """Number of pairs of each row whose higher rank stands first."""
    count = np.zeros(len(ranks), dtype=np.int64)
    for bit, keys in _grouped_by_bit(ranks):
        slots = np.arange(keys.shape[1], dtype=keys.dtype)
        # In order, the 1s would be the second half of each group. Each 0 that has to pass a 1 to
        # get there moves that 1 by one slot.
        count += (slots * ((slots >> bit) & 1)).sum() - (keys & 1) @ slots
    return count


def count_discordant_partners(ranks: Ranks) -> Ranks:
    """For each place of a row, how many others stand in the wrong order with it."""
    rows, width = ranks.shape
    partners = np.zeros((rows, _power_of_two(width)), dtype=np.int64)
    row_starts = partners.shape[1] * np.arange(rows)[:, None]
    for bit, keys in _grouped_by_bit(ranks):
        half = 1 << bit
        slots = np.arange(keys.shape[1], dtype=keys.dtype)
        is_one = keys & 1
        ones_so_far = np.cumsum(is_one, axis=-1, out=np.empty_like(is_one))
        ones_so_far -= (slots >> (bit + 1)) * half  # those of earlier groups
        zeros_to_come = half - 1 - (slots & (2 * half - 1)) + ones_so_far
        found = np.where(is_one, zeros_to_come, ones_so_far)
        places = ((keys >> 1) & (len(slots) - 1)) + row_starts
        partners.reshape(-1)[places.ravel()] += found.ravel()
    return partners[:, :width]


def _grouped_by_bit(ranks: Ranks) -> Iterator[tuple[int, Int[ndarray, "examples full"]]]:
    """For each bit: rows grouped by the bits above it, as integers 2 * place + bit (modulo 2 full).

    Two ranks differ first at one bit, and there they are in one group. Groups keep the order of the
    row, so a 1 is discordant with the 0s that follow it in its group, and with no others. Rows are
    filled up and equal ranks told apart by place, so that the ranks of a row are 0 to a power of
    two: each group then has its known slots, and as many 1s as 0s. (Sorting whole rows of small
    integers is what NumPy does fastest; a merge sort would sort very many short blocks.)
    """
    rows, width = ranks.shape
    full = _power_of_two(width)
    bits = full.bit_length() - 1
    dtype = _integers_for(full)
    slots = np.arange(full, dtype=dtype)
    filled = np.full((rows, full), width, dtype=dtype)
    filled[:, :width] = ranks
    place_by_rank = np.sort(filled * full + slots, axis=-1) & (full - 1)
    distinct = np.empty((rows, full), dtype=dtype)
    np.put_along_axis(distinct, place_by_rank, slots[None], axis=-1)
    for bit in range(bits):
        upper = distinct >> bit
        keys = ((upper >> 1) << (bits + 1)) | (slots << 1) | (upper & 1)
        keys.sort(axis=-1)  # by upper bits, then place; the bit itself rides along
        yield bit, keys


def _integers_for(width: int) -> type[np.signedinteger]:
    """The smaller type, which sorts faster, if the square of the width fits into it."""
    return np.int32 if width <= 2**15 else np.int64


def _power_of_two(width: int) -> int:
    return 1 << max(width - 1, 0).bit_length()
