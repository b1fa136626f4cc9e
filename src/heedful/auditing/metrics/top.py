"""The k highest tokens of each row.

Sparse attention gives many tokens the same weight, so who is in the top k is often a matter of
chance. `chance_in_top` gives each token its probability of being there when ties are broken at
random; measures that add up tokens use it and so report their expected value, the same whatever
the order of the words. `choose_top` picks tokens outright, where spans of words are needed.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.rows import IsToken, Rows
from heedful.errors import ConfigError


def top_k(fraction: float, tokens: Int[ndarray, " examples"]) -> Int[ndarray, " examples"]:
    """How many tokens a fraction of each document is: max(1, ceil(fraction * tokens))."""
    if not 0 < fraction <= 1:
        raise ConfigError(f"fraction should be above 0 and at most 1, not {fraction}.")
    # 0.01 * 700 is 7.000000000000001 in binary: without the guard its ceiling would be 8.
    return np.maximum(1, np.ceil(fraction * tokens - 1e-9)).astype(np.int64)


def chance_in_top(
    values: Rows, is_token: IsToken, k: Int[ndarray, " examples"]
) -> Float[ndarray, "examples tokens"]:
    """Probability that a token is among its row's k highest, ties broken at random; sums to k.

    1 above the k-th highest value, 0 below it,
    and (k - tokens above) / (tokens tied) for those that have that value

    Rows of fewer than k tokens have all of them in the top.
    """
    tokens = is_token.sum(axis=-1)
    k = np.minimum(k, tokens)
    ascending = np.sort(np.where(is_token, values, -np.inf), axis=-1)
    place = np.clip(values.shape[1] - k, 0, max(values.shape[1] - 1, 0))
    threshold = np.take_along_axis(ascending, place[:, None], axis=-1)
    is_above = (values > threshold) & is_token
    is_tied = (values == threshold) & is_token
    free_places = k - is_above.sum(axis=-1)
    share = free_places / np.maximum(is_tied.sum(axis=-1), 1)
    return is_above + is_tied * share[:, None]


def choose_top(
    values: Rows, is_token: IsToken, k: Int[ndarray, " examples"]
) -> Bool[ndarray, "examples tokens"]:
    """The k highest tokens of each row; of tied ones, those that come first in the text."""
    return ranks(values, is_token) < np.minimum(k, is_token.sum(axis=-1))[:, None]


def ranks(values: Rows, is_token: IsToken) -> Int[ndarray, "examples tokens"]:
    """0 for the highest token of each row, and so on; of tied ones the first has the lower rank."""
    # NaN sorts behind everything, so padding never gets in.
    order = np.argsort(np.where(is_token, -values, np.nan), axis=-1, kind="stable")
    places = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.arange(values.shape[1])[None], axis=-1)
    return places
