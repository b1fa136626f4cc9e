"""Subjects made by hand: words and weights that a test decides."""

import numpy as np

from heedful.auditing.subjects.function import PlainSubject
from heedful.training.trained import WordWeights


def spans(text: str) -> np.ndarray:
    places, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        places.append((start, start + len(word)))
        start += len(word)
    return np.array(places, dtype=np.int64).reshape(-1, 2)


def by_words(points: dict[str, float]):
    """Probability of the second class: a sigmoid of the sum of the words' points."""

    def predict(texts: list[str]) -> np.ndarray:
        sums = np.array([sum(points.get(word, 0.0) for word in text.split()) for text in texts])
        second = 1 / (1 + np.exp(-sums))
        return np.column_stack([1 - second, second])

    return predict


def a_subject(points: dict[str, float], weigh=None, predict=None) -> PlainSubject:
    """A bag of words (or `predict`) that shows weights: `weigh` of each word, uniform without."""

    def attend(texts: list[str]) -> list[WordWeights]:
        shown = []
        for text in texts:
            raw = np.array([1.0 if weigh is None else weigh(word) for word in text.split()])
            shown.append(WordWeights(text, spans(text), raw / max(raw.sum(), 1e-9)))
        return shown

    return PlainSubject(predict or by_words(points), attend, ("bad", "good"))
