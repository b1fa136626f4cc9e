"""Words to the pieces by which a pretrained model knows them.

Each word is cut on its own, with the blank before it where there is one. So a word has the same
pieces whatever stands around it, and can be deleted without changing its neighbours'.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    """Cuts words into pieces; `room` is how many pieces a document may have.

    `cutter` is a tokenizer as `tokenizers` writes it.
    """

    def __init__(self, cutter: Mapping[str, Any], unknown: int, room: int) -> None:
        begins, before = _blank_apart(cutter.get("pre_tokenizer"))
        self._begins_with_blank = begins
        self._cutter = Cutter.from_str(json.dumps({**cutter, "pre_tokenizer": before}))
        self._cutter.no_truncation()
        self._cutter.no_padding()
        # A user who writes [SEP] means these letters, not the end of the text.
        self._cutter.encode_special_tokens = True
        self._unknown = unknown
        self.room = room

    def cut(self, text: str, offsets: Int[ndarray, "words 2"]) -> list[list[int]]:
        """The pieces of each word of a text, one at least, as far as there is room."""
        spans = offsets.tolist()
        words = [
            # The blank before a word is part of its first piece for some models.
            (" " if text[max(0, start - 1) : start].isspace() else "") + text[start:end]
            for start, end in spans
        ]
        if words and self._begins_with_blank:
            words[0] = f" {words[0].lstrip()}"
        found = self._cutter.encode_batch(words, add_special_tokens=False)
        pieces = [encoding.ids[:MOST_PER_WORD] or [self._unknown] for encoding in found]
        ends = np.cumsum([len(of_word) for of_word in pieces])
        return pieces[: int(np.searchsorted(ends, self.room, side="right"))]


def _blank_apart(given: Any) -> tuple[bool, Any]:
    """A pre-tokenizer that puts no blank before what it is given, and whether it would have.

    Words are cut one by one, and only the first one of a text may get a blank that is not there.
    """
    if not isinstance(given, Mapping):
        return False, given
    if given.get("type") == "Sequence":
        parts = [_blank_apart(part) for part in given["pretokenizers"]]
        kept = {**given, "pretokenizers": [part for _, part in parts]}
        return any(begins for begins, _ in parts), kept
    if given.get("type") == "Metaspace":
        kept = {**given, "prepend_scheme": "never", "split": given.get("split", True)}
        return given.get("prepend_scheme", "always") != "never", kept
    if given.get("type") == "ByteLevel":
        return bool(given.get("add_prefix_space")), {**given, "add_prefix_space": False}
    return False, given


def joined(pieces_of_words: Sequence[Sequence[int]]) -> Pieces:
    """Pieces of words end to end."""
    counts = np.array([len(pieces) for pieces in pieces_of_words], dtype=np.int64)
    ids = [piece for pieces in pieces_of_words for piece in pieces]
    return Pieces(np.array(ids, dtype=np.int64), np.concatenate([[0], np.cumsum(counts)]))
