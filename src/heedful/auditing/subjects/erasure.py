"""Words taken away from documents, and what a judge then says."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.top import ranks
from heedful.auditing.subjects.base import Judge, Reading

Ranking = Float[ndarray, "documents words"]
Sets = Bool[ndarray, "documents steps words"]
AnySets = Bool[ndarray, "some _ words"]  # each may have its own number of steps


def tops_of_size(
    reading: Reading, ranking: Ranking, sizes: Int[ndarray, "documents steps"]
) -> Sets:
    """The top words of each document, for each size."""
    most = np.minimum(sizes, reading.is_token.sum(axis=1, keepdims=True))
    return ranks(ranking, reading.is_token)[:, None] < most[..., None]


def predict_sets(
    judge: Judge, reading: Reading, some: Int[ndarray, " some"], sets: Sequence[AnySets]
) -> list[Float[ndarray, "some _ classes"]]:
    """Probabilities for every set of words; sets that come up again are predicted once.

    Row i of each of `sets` belongs to document `some[i]` of the reading.
    """
    stacked = np.concatenate(sets, axis=1)
    count, steps, words = stacked.shape
    document = some[np.repeat(np.arange(count), steps)]
    found = predict_once(judge, reading, document, stacked.reshape(-1, words))
    probabilities = found.reshape(count, steps, -1)
    return np.split(probabilities, np.cumsum([part.shape[1] for part in sets])[:-1], axis=1)


def predict_once(
    judge: Judge,
    reading: Reading,
    document: Int[ndarray, " variants"],
    is_kept: Bool[ndarray, "variants words"],
) -> Float[ndarray, "variants classes"]:
    """Probabilities of shortened documents; those that come up again are predicted once."""
    of_document = np.ascontiguousarray(document[:, None]).view(np.uint8)
    keys = np.concatenate([of_document, np.packbits(is_kept, axis=1)], axis=1)
    as_bytes = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    return judge.predict_kept(reading, document[first], is_kept[first])[inverse]
