"""Words to the pieces by which a pretrained model knows them.

Each word is cut on its own, with the blank before it where there is one. So a word has the same
pieces whatever stands around it, and can be deleted without changing its neighbours'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from tokenizers import Tokenizer as Cutter

NO_PIECE = -1
MOST_PER_WORD = 32  # a word of more pieces is a slip of the keyboard, and would widen every other


@dataclass(frozen=True)
class Pieces:
    """Piece numbers of many words, end to end; those of word i begin at starts[i]."""

    ids: Int[ndarray, " pieces"]
    starts: Int[ndarray, " words_and_end"]

    def padded(self, words: Int[ndarray, " chosen"]) -> Int[ndarray, "chosen most"]:
        """The pieces of some words, a row each, filled up with NO_PIECE."""
        counts = (self.starts[1:] - self.starts[:-1])[words]
        columns = np.arange(max(1, counts.max(initial=0)))
        is_piece = columns < counts[:, None]
        rows = np.full(is_piece.shape, NO_PIECE, dtype=np.int64)
        rows[is_piece] = self.ids[(self.starts[words][:, None] + columns)[is_piece]]
        return rows


class WordPieces:
    """Cuts words into pieces; `room` is how many pieces a document may have."""

    def __init__(self, cutter: Cutter, unknown: int, room: int) -> None:
        self._cutter = cutter
        self._cutter.no_truncation()
        self._cutter.no_padding()
        # A user who writes [SEP] means these letters, not the end of the text.
        self._cutter.encode_special_tokens = True
        self._unknown = unknown
        self.room = room

    def cut(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of each word: one at least."""
        found = self._cutter.encode_batch(list(words), add_special_tokens=False)
        return [encoding.ids[:MOST_PER_WORD] or [self._unknown] for encoding in found]


def joined(pieces_of_words: Sequence[Sequence[int]]) -> Pieces:
    """Pieces of words end to end."""
    counts = np.array([len(pieces) for pieces in pieces_of_words], dtype=np.int64)
    ids = [piece for pieces in pieces_of_words for piece in pieces]
    return Pieces(np.array(ids, dtype=np.int64), np.concatenate([[0], np.cumsum(counts)]))
