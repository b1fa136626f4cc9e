"""Documents as rows padded to one width: the arrays metrics take, and how memory stays flat."""

import functools
import math
from collections.abc import Callable
from typing import ParamSpec

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.errors import DataError

Rows = Float[ndarray, "examples tokens"]
IsToken = Bool[ndarray, "examples tokens"]
PerExample = Float[ndarray, " examples"]
Arguments = ParamSpec("Arguments")

CELLS_AT_ONCE = 2**15  # temporary arrays of a quarter megabyte: they also stay in the cache


def in_row_chunks(compute: Callable[Arguments, ndarray]) -> Callable[Arguments, ndarray]:
    """Decorator: call a row-wise function on some rows at a time and join what it returns.

    Every array among the arguments has the examples as its first axis.
    """

    @functools.wraps(compute)
    def compute_in_chunks(*args: Arguments.args, **options: Arguments.kwargs) -> ndarray:
        arrays = [a for a in (*args, *options.values()) if isinstance(a, ndarray)]
        examples = {len(array) for array in arrays}
        if len(examples) > 1:
            raise DataError(
                f"{compute.__name__} compares arrays row by row, but they have "
                f"{' and '.join(map(str, sorted(examples)))} examples."
            )
        rows = examples.pop()
        widest = max(math.prod(array.shape[1:]) for array in arrays)
        step = max(1, CELLS_AT_ONCE // max(1, widest))
        if rows <= step:
            return compute(*args, **options)
        chunks = []
        for start in range(0, rows, step):
            some = slice(start, start + step)
            some_args = [a[some] if isinstance(a, ndarray) else a for a in args]
            some_options = {
                name: a[some] if isinstance(a, ndarray) else a for name, a in options.items()
            }
            chunks.append(compute(*some_args, **some_options))  # type: ignore[arg-type]
        return np.concatenate(chunks)

    return compute_in_chunks


def nan_where(is_unasked: Bool[ndarray, " examples"], numbers: PerExample) -> PerExample:
    """The numbers, with NaN for the examples that cannot be asked."""
    return np.where(is_unasked, np.nan, numbers)


def has_nan(values: Rows, is_token: IsToken) -> Bool[ndarray, " examples"]:
    """Whether any real token's value is NaN; nothing can then be said of the row."""
    return (np.isnan(values) & is_token).any(axis=-1)


def divide(numerator: ndarray, denominator: ndarray) -> Float[ndarray, "..."]:
    """numerator / denominator, NaN where the denominator is 0."""
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result
