"""In which order to delete words so that a decision falls fastest, or slowest: a beam search.

    fall of an order = sum over its first words of what the decision has lost once they are gone

After each word, the `width` sets of deleted words with the largest falls are kept, each by the best
order that led to it; a width of 1 is greedy erasure. Unlike leave-one-out it sees that two words
say the same: once the first is gone, the second matters. Both limits of an erasure score come from
such a search (NAOPC, arXiv:2408.08137).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.subjects.base import Judge, Reading
from heedful.auditing.subjects.erasure import Ranking, predict_once


@dataclass(frozen=True)
class OrderSearch:
    """How orders are sought."""

    words: int  # that are deleted, at most
    candidates: int  # words of most importance (of least, for the slowest fall) that are tried
    width: int = 1
    is_slowest: bool = False
    until_lost: bool = False  # stop where the decision is lost: what follows moves it no further


@dataclass(frozen=True)
class _Path:
    """Words deleted so far, in order."""

    order: tuple[int, ...]
    total: float  # sum of the falls after each word
    left: Bool[ndarray, " words"]
    is_lost: bool = False


def search_orders(
    judge: Judge,
    reading: Reading,
    some: Int[ndarray, " some"],
    importance: Ranking,
    lost_at: Float[ndarray, " documents"],
    search: OrderSearch,
) -> Ranking:
    """Rankings of the words of `some` documents: the order that was found, then all other words.

    Others rank by their importance, most important first (least, for the slowest fall). A fall ends
    at the log-odds `lost_at`; of equal falls the one that goes beyond is the larger.
    """
    first = -importance if not search.is_slowest else importance
    rank = np.where(reading.is_token, first, np.inf).argsort(axis=1, kind="stable").argsort(axis=1)
    prediction = judge.judged(reading).argmax(axis=1)
    paths = {row: [_Path((), 0.0, reading.is_token[row].copy())] for row in some.tolist()}
    for _ in range(search.words):
        steps = [
            (row, path, place)
            for row, found in paths.items()
            if not (search.until_lost and found[0].is_lost)  # no other path can do better
            for path in found
            if path.left.sum() > 1
            for place in np.flatnonzero(path.left & (rank[row] < search.candidates)).tolist()
        ]
        if not steps:
            break
        document, places = (np.array([step[part] for step in steps]) for part in (0, 2))
        left = np.stack([path.left for _, path, _ in steps])
        left[np.arange(len(steps)), places] = False
        probabilities = predict_once(judge, reading, document, left)
        after = log_odds(probabilities, prediction[document], judge.smallest)
        totals = np.array([path.total for _, path, _ in steps])
        totals -= np.maximum(after, lost_at[document])
        sign = 1 if search.is_slowest else -1
        best_first = np.lexsort((-sign * after, sign * totals))
        reached: dict[int, dict[bytes, _Path]] = {}
        for number in best_first.tolist():
            row, path, place = steps[number]
            kept, this = reached.setdefault(row, {}), left[number].tobytes()
            if len(kept) < search.width and this not in kept:
                is_lost = bool(after[number] <= lost_at[row])
                order, total = (*path.order, place), float(totals[number])
                kept[this] = _Path(order, total, left[number], is_lost)
        paths |= {row: [*kept.values()] for row, kept in reached.items()}
    ranking = -rank.astype(np.float64)  # all at most 0
    for row, found in paths.items():
        order = found[0].order
        ranking[row, list(order)] = np.arange(len(order), 0, -1)
    return ranking
