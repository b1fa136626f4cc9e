"""What metric tests draw: rows of values with ties, padding and holes."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy import ndarray


class TwoRows(NamedTuple):
    first: ndarray
    second: ndarray
    is_token: ndarray

    def per_row(self):
        """The real tokens of each row, as plain arrays: what yardsticks take."""
        for first, second, keep in zip(*self, strict=True):
            yield first[keep], second[keep]

    def map(self, change) -> "TwoRows":
        return TwoRows(*(change(array) for array in self))

    def pad(self, columns: int) -> "TwoRows":
        """The same rows with columns of junk behind."""
        rows = len(self.first)
        junk = np.random.default_rng(columns).normal(size=(rows, columns))
        return TwoRows(
            np.hstack([self.first, junk]),
            np.hstack([self.second, -junk]),
            np.hstack([self.is_token, np.zeros((rows, columns), dtype=bool)]),
        )


@st.composite
def two_rows(draw: st.DrawFn, most_tokens: int = 12) -> TwoRows:
    """Related rows; few distinct values or many, as sparse and dense attention give."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, most_tokens)))
    first = rng.normal(size=shape)
    second = draw(st.sampled_from([-1.0, 0.0, 1.0])) * first + rng.normal(size=shape)
    if draw(st.booleans()):
        first = first.round(draw(st.integers(0, 1)))
    if draw(st.booleans()):
        second = second.round(draw(st.integers(0, 1)))
    is_token = rng.random(shape) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    return TwoRows(first, second, is_token)


@st.composite
def distributions(draw: st.DrawFn, rows: int = 3) -> ndarray:
    """Points of the simplex, many of them on its edges."""
    outcomes = draw(st.integers(1, 8))
    sizes = st.floats(0, 1).map(lambda x: x if x > 0.3 else 0.0)
    drawn = np.array(
        [draw(st.lists(sizes, min_size=outcomes, max_size=outcomes)) for _ in range(rows)]
    )
    drawn[np.arange(rows), draw(st.integers(0, outcomes - 1))] += 0.5
    return drawn / drawn.sum(axis=1, keepdims=True)
