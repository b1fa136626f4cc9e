"""Answers to texts, remembered in a fixed amount of memory: readouts ask about the same texts.

A text has one place in a table. Whoever comes to a taken place takes it over, so an audit of many
documents forgets some answers and computes them again, and never holds more. Scores of words are as
many as a text has words; of these the oldest are forgotten.
"""

import hashlib
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from jaxtyping import Float, UInt64
from numpy import ndarray

BYTES = 2**25  # of the table, at most

Answers = Float[ndarray, "texts classes"]


class RememberedAnswers:
    """A table of texts (64 bits of their digest) and rows of numbers."""

    def __init__(self, classes: int, most_bytes: int = BYTES) -> None:
        self._places = max(1, most_bytes // (8 * (classes + 1)))
        self._digests = np.zeros(self._places, np.uint64)
        self._rows = np.zeros((self._places, classes))

    def __call__(
        self, texts: Sequence[str], answer: Callable[[list[str]], Sequence[ndarray]]
    ) -> Answers:
        """A row per text; only texts that are not remembered are answered, each of them once."""
        digests = _digests(texts)
        places = digests % np.uint64(self._places)
        rows = self._rows[places]
        is_unknown = self._digests[places] != digests
        first, number = np.unique(digests[is_unknown], return_index=True, return_inverse=True)[1:]
        unknown = np.flatnonzero(is_unknown)
        asked = unknown[first]
        if len(asked):
            found = np.stack(answer([texts[place] for place in asked.tolist()]))
            rows[unknown] = found[number]
            self._digests[places[asked]], self._rows[places[asked]] = digests[asked], found
        return rows


class RememberedScores:
    """Scores of a text's words by what they are of, as many as fit."""

    def __init__(self, most_bytes: int = BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._known: dict[Hashable, Float[ndarray, " _"]] = {}

    def recall(self, keys: Sequence[Hashable]) -> list[Float[ndarray, " _"]] | None:
        """The scores of all these, or nothing."""
        known = self._known
        return [known[key] for key in keys] if all(key in known for key in keys) else None

    def note(self, keys: Sequence[Hashable], scores: Sequence[Float[ndarray, " _"]]) -> None:
        """Remember some, and forget the oldest."""
        for key, row in zip(keys, scores, strict=True):
            if key in self._known:
                continue
            self._known[key] = row.copy()
            self._held += row.nbytes
        while self._held > self._most and self._known:
            self._held -= self._known.pop(next(iter(self._known))).nbytes


def _digests(texts: Sequence[str]) -> UInt64[ndarray, " texts"]:
    """A number per text; never 0, which stands for an empty place."""
    found = (hashlib.blake2b(t.encode("utf-8", "replace"), digest_size=8).digest() for t in texts)
    return np.frombuffer(b"".join(found), np.uint64) | np.uint64(1)
