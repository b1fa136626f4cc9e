"""Mean dot products between the embeddings of words of two kinds, without a loop over pairs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

Vectors = Float[ndarray, "vocabulary embedding"]
Kinds = Mapping[str, Int[ndarray, " _"]]


def mean_with_others(
    vectors: Vectors, first: Int[ndarray, " first"], second: Int[ndarray, " second"]
) -> Float[ndarray, " first"]:
    """For each word of the first kind, its mean dot product with those of the second, not itself.

    mean_k e_i · e_k = e_i · (sum of the others) / their number; NaN where there are none
    """
    total = vectors[second].sum(axis=0)
    is_inside = np.isin(first, second)
    own = (vectors[first] ** 2).sum(axis=1) * is_inside
    others = len(second) - is_inside
    products = vectors[first] @ total - own
    return np.divide(products, others, out=np.full(len(first), np.nan), where=others > 0)


def mean_dot_products(vectors: Vectors, kinds: Kinds) -> list[dict[str, Any]]:
    """Rows words, with, dot_product: the mean over all pairs of different words of two kinds."""
    names, rows = list(kinds), []
    for place, first in enumerate(names):
        for second in names[place:]:
            of_words = mean_with_others(vectors, kinds[first], kinds[second])
            mean = float(of_words.mean()) if len(of_words) else float("nan")
            rows.append({"words": first, "with": second, "dot_product": mean})
    return rows
