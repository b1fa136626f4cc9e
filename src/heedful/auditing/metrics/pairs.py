"""Two rankings of the same tokens -> how the pairs of tokens agree, for all rows at once.

Kendall's tau and its top-weighted form are sums over pairs. Counting, for each token, its tied and
its discordant partners makes them sums over tokens, in little time and memory.
"""

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy import ndarray

from heedful.auditing.metrics.rows import IsToken, PerExample, Rows, divide

Ranks = Int[ndarray, "examples tokens"]

BLOCK = 64  # places whose pairs are compared one by one
MANY_ZEROS = 0.25  # share of values


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
    # Padding takes part: it makes gaps, but no ties. NumPy's usual argsort is several times slower
    # on a row with one long tie, as sparse attention has.
    has_long_ties = np.count_nonzero(values) < (1 - MANY_ZEROS) * values.size
    order = np.argsort(values, axis=-1, kind="stable" if has_long_ties else "quicksort")
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
    return _lower_behind(ranks).sum(axis=-1, dtype=np.int64)


def count_discordant_partners(ranks: Ranks) -> Ranks:
    """For each place of a row, how many others stand in the wrong order with it."""
    # Turned round in places and in ranks, a pair stays as it is, and what was before is behind.
    turned = ranks.shape[1] - ranks[:, ::-1]
    return _lower_behind(ranks) + _lower_behind(turned)[:, ::-1]


def _lower_behind(ranks: Ranks) -> Ranks:
    """For each place, how many places behind it have a lower rank.

    Places are cut into blocks of 64, and so are ranks. Within a block of either kind all pairs are
    compared. Pairs that are apart in both kinds are counted by the block: it is enough to know how
    many tokens each block of places has in each block of ranks. That takes time in 64 n +
    (n / 64)^2, nearly all of it spent on long rows of small numbers, where NumPy is fastest.
    """
    rows, width = ranks.shape
    size = max(1, min(BLOCK, width))
    blocks = max(1, -(-width // size))
    place_by_rank, rank = _told_apart(ranks, blocks * size)
    count = _smaller_behind(rank, size).astype(np.int64)
    if blocks > 1:
        row = np.arange(rows)[:, None]
        from_top = place_by_rank[:, ::-1]
        count[row, from_top] += _smaller_behind(blocks - 1 - from_top // size, size)
        place_block = np.arange(blocks * size) // size
        cell = (row * blocks + place_block) * blocks + rank // size
        tokens = np.bincount(cell.ravel(), minlength=rows * blocks**2).reshape(-1, blocks, blocks)
        lower = np.cumsum(tokens, axis=2) - tokens
        lower_and_behind = lower.sum(axis=1, keepdims=True) - np.cumsum(lower, axis=1)
        count += lower_and_behind.ravel()[cell]
    return count[:, :width]


def _told_apart(
    ranks: Ranks, full: int
) -> tuple[Int[ndarray, "examples full"], Int[ndarray, "examples full"]]:
    """The places of a row by their rank, and the rank of each place: 0 to full - 1, each once.

    Rows are filled up behind, and of equal ranks the first counts as the lower: neither makes a
    discordant pair.
    """
    rows, width = ranks.shape
    bits = full.bit_length()
    slots = np.arange(full, dtype=_integers_for(full))
    keys = np.full((rows, full), width, dtype=slots.dtype)
    keys[:, :width] = ranks
    keys = (keys << bits) | slots
    keys.sort(axis=-1)
    place_by_rank = keys & ((1 << bits) - 1)
    rank = np.empty_like(keys)
    np.put_along_axis(rank, place_by_rank, slots[None], axis=-1)
    return place_by_rank, rank


def _smaller_behind(values: Ranks, size: int) -> UInt8[ndarray, "examples tokens"]:
    """For each place, how many places behind it in its block have a smaller value.

    One distance after the other, for all blocks at once.
    """
    smallest_type = np.min_scalar_type(values.shape[1])
    across = np.ascontiguousarray(values.reshape(-1, size).T, dtype=smallest_type)
    count = np.zeros(across.shape, dtype=np.uint8)
    is_larger = np.empty(across.shape, dtype=bool)
    for distance in range(1, size):
        np.greater(across[:-distance], across[distance:], out=is_larger[:-distance])
        count[:-distance] += is_larger[:-distance].view(np.uint8)
    return count.T.reshape(values.shape)


def _integers_for(width: int) -> type[np.signedinteger]:
    """The smaller type, which sorts faster, if the square of the width fits into it."""
    return np.int32 if width < 2**15 else np.int64
