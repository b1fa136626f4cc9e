"""Words taken away from documents, and what a judge then says."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.metrics.top import choose_top
from heedful.auditing.subjects.base import Judge, Reading

Ranking = Float[ndarray, "documents words"]
Sets = Bool[ndarray, "documents steps words"]
AnySets = Bool[ndarray, "some _ words"]  # each may have its own number of steps


def tops_of_size(
    reading: Reading, ranking: Ranking, sizes: Int[ndarray, "documents steps"]
) -> Sets:
    """The top words of each document, for each size."""
    steps = [
        choose_top(ranking, reading.is_token, sizes[:, step]) for step in range(sizes.shape[1])
    ]
    return np.stack(steps, axis=1)


def predict_sets(
    judge: Judge, reading: Reading, some: Int[ndarray, " some"], sets: Sequence[AnySets]
) -> list[Float[ndarray, "some _ classes"]]:
    """Probabilities for every set of words; sets that come up again are predicted once.

    Row i of each of `sets` belongs to document `some[i]` of the reading.
    """
    stacked = np.concatenate(sets, axis=1)
    count, steps, words = stacked.shape
    row = np.repeat(np.arange(count), steps)
    flat = stacked.reshape(-1, words)
    keys = np.concatenate(
        [row[:, None].view(np.uint8).reshape(len(flat), -1), np.packbits(flat, axis=1)], axis=1
    )
    as_bytes = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    unique = judge.predict_kept(reading, some[row[first]], flat[first])
    probabilities = unique[inverse].reshape(count, steps, -1)
    return np.split(probabilities, np.cumsum([part.shape[1] for part in sets])[:-1], axis=1)


def erase_greedily(
    judge: Judge,
    reading: Reading,
    some: Int[ndarray, " some"],
    importance: Ranking,
    words: int,
    candidates: int,
) -> Ranking:
    """Ranks words by deleting, again and again, the one whose loss hurts the prediction most.

    Only the `candidates` most important words are tried, and `words` are deleted; all others rank
    behind by their importance. Unlike leave-one-out it sees that two words say the same: once the
    first is gone, the second matters.
    """
    order = np.where(reading.is_token, -importance, np.inf).argsort(axis=1, kind="stable")
    rank = order.argsort(axis=1)
    ranking = -rank.astype(np.float64)  # most important first, all at most 0
    left = reading.is_token[some].copy()
    is_candidate = left & (rank[some] < candidates)
    prediction = judge.judged(reading)[some].argmax(axis=1)
    for number in range(words):
        open_rows = left.sum(axis=1) > 1
        rows, places = np.nonzero(is_candidate & left & open_rows[:, None])
        if not len(rows):
            break
        is_kept = left[rows]
        is_kept[np.arange(len(rows)), places] = False
        probabilities = judge.predict_kept(reading, some[rows], is_kept)
        remaining = np.full(left.shape, np.inf)
        remaining[rows, places] = log_odds(probabilities, prediction[rows], judge.smallest)
        deleted = np.unique(rows)
        worst = remaining[deleted].argmin(axis=1)
        left[deleted, worst] = False
        ranking[some[deleted], worst] = words - number
    return ranking
