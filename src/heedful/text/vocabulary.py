"""Words as numbers, and which words a model knows: those of its training documents, by frequency.

The names of the special words hold a space, so no text, however it is cut, can contain them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful.text.pieces import Pieces

NO_WORD, UNKNOWN_WORD, NUMBER = range(3)
SPECIAL_WORDS = ("<no word>", "<unknown word>", "<a number>")


@dataclass(frozen=True)
class Encoded:
    """Word numbers of many documents, end to end; document i begins at starts[i]."""

    token_ids: Int[ndarray, " words"]
    starts: Int[ndarray, " documents_and_end"]
    cut: int = 0  # how many documents were longer than allowed
    pieces: Pieces | None = None  # of every word, where a pretrained model reads them

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Int[ndarray, " documents"]:
        """Words per document."""
        return np.diff(self.starts)

    def __getitem__(self, index: int) -> Int[ndarray, " words"]:
        return self.token_ids[self.starts[index] : self.starts[index + 1]]


def choose_words(
    words: Sequence[str],
    documents: Encoded,
    *,
    min_documents: int,
    max_vocabulary: int,
    fold_digits: bool,
) -> list[str]:
    """The special words, then the known ones: most frequent first, ties in alphabetical order.

    `words[i]` is the word that number i stands for in `documents`.
    """
    counts = np.bincount(documents.token_ids, minlength=len(words))
    in_documents = document_counts(documents, len(words))
    known = [
        number
        for number in np.flatnonzero(in_documents >= min_documents).tolist()
        if not (fold_digits and any(character.isdigit() for character in words[number]))
    ]
    known.sort(key=lambda number: (-counts[number], words[number]))
    return [*SPECIAL_WORDS, *(words[number] for number in known[:max_vocabulary])]


def document_counts(documents: Encoded, vocabulary: int) -> Int[ndarray, " vocabulary"]:
    """How many documents have each word."""
    document = np.repeat(np.arange(len(documents.lengths)), documents.lengths)
    pairs = np.unique(document * vocabulary + documents.token_ids)
    return np.bincount(pairs % vocabulary, minlength=vocabulary)
