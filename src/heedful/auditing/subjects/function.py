"""Any function from texts to probabilities under audit, with weights shown beside it."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.subjects.base import Probabilities, Reading, Subject
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources
from heedful.errors import DataError, counted
from heedful.training.task import Label
from heedful.training.trained import WordWeights


class PlainSubject(Subject):
    """Any function from texts to probabilities, with weights shown beside it.

    `attend` gives the words of each text, as places in it, and their weights. A word is deleted by
    writing the text without it, so it has the measures of importance that need no more than that.
    `unknown_word`: a word that says nothing to the function. With it, pictures are also judged with
    words replaced: without, a model that reads words by their places is judged by deletions, which
    move all that stand behind.
    """

    noun = "a plain function"
    smallest = 1e-6  # a function may give 0 and 1: a share of votes, rounded numbers

    def __init__(
        self,
        predict: Callable[[list[str]], Probabilities],
        attend: Callable[[list[str]], list[WordWeights]],
        classes: Sequence[Label],
        unknown_word: str = "",
    ) -> None:
        self.predict = predict
        self.attend = attend
        self.classes = tuple(classes)
        self.unknown_word = unknown_word

    @property
    def replacement(self) -> str:
        """The word that says nothing; nothing without one."""
        return self.unknown_word

    def read(self, texts: Sequence[str]) -> Reading:
        """What the two functions say."""
        shown = _checked_weights(self.attend(list(texts)), texts)
        longest = max((len(words.weights) for words in shown), default=0)
        weights = np.zeros((len(texts), max(1, longest)))
        is_token = np.zeros(weights.shape, dtype=bool)
        for row, words in enumerate(shown):
            weights[row, : len(words.weights)] = words.weights
            is_token[row, : len(words.weights)] = True
        probabilities = self._predict(list(texts))
        offsets = tuple(words.offsets for words in shown)
        return Reading(tuple(texts), is_token, weights, probabilities, offsets)

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """The function on the kept words, one blank between two."""
        return self._predict(reading.written(document, is_kept, blank_separated))

    def _predict(self, texts: list[str]) -> Probabilities:
        if not texts:  # a function written for texts need not take none
            return np.empty((0, len(self.classes)))
        found = np.asarray(self.predict(texts))
        wanted = (len(texts), len(self.classes))
        if found.shape != wanted or not np.issubdtype(found.dtype, np.number):
            raise DataError(
                f"predict should return one row of {len(self.classes)} probabilities per text; for "
                f"{counted(len(texts), 'text')} it returned {found.dtype} of shape {found.shape}."
            )
        found = found.astype(np.float64)
        if not (found >= 0).all() or not np.allclose(found.sum(axis=1), 1, atol=1e-3):
            raise DataError("predict should return probabilities: rows of numbers that sum to 1.")
        return found


def blank_separated(
    text: str, offsets: Int[ndarray, "words 2"], is_kept: Bool[ndarray, " words"]
) -> str:
    """The kept words of a text, one blank between two."""
    return " ".join(text[start:end] for start, end in offsets[is_kept].tolist())


def _checked_weights(shown: object, texts: Sequence[str]) -> list[WordWeights]:
    """What `attend` gave, if it is one `WordWeights` per text that fits it."""
    if not isinstance(shown, list) or len(shown) != len(texts):
        raise DataError(f"attend should return a list of {counted(len(texts), 'WordWeights')}.")
    for words, text in zip(shown, texts, strict=True):
        if not isinstance(words, WordWeights):
            raise DataError(f"attend should return WordWeights, not {type(words).__name__}.")
        offsets, weights = np.asarray(words.offsets), np.asarray(words.weights)
        is_inside = (offsets[:, 0] >= 0) & (offsets[:, 0] < offsets[:, 1])
        if len(offsets) != len(weights) or not (is_inside & (offsets[:, 1] <= len(text))).all():
            raise DataError(
                f"attend should return a weight and offsets for each word of {text!r:.60}."
            )
        if len(weights) and (
            not (weights >= 0).all() or not np.isclose(weights.sum(), 1, atol=1e-3)
        ):
            raise DataError(
                f"weights should be positive and sum to 1 over a text; those of {text!r:.60} sum "
                f"to {weights.sum():.3g}."
            )
    return shown
