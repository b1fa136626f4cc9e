"""Pretrained word vectors from text files: GloVe, word2vec's text form, fastText `.vec`.

One word per line, then its numbers; a first line of two whole numbers (count and size) is skipped.
Only the words that are asked for are parsed, so memory follows the vocabulary, not the file.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.errors import DataError, counted


@dataclass(frozen=True)
class WordVectors:
    """Vectors for a vocabulary; rows of words that the file lacks are zero and not `found`."""

    matrix: Float[ndarray, "vocabulary embedding"]
    found: Bool[ndarray, " vocabulary"]
    source: str


def read_vectors(path: str | Path, words: Mapping[str, int]) -> WordVectors:
    """The vectors of `words` (word -> row) that the file has."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"no file of word vectors at {path}.")
    rows: dict[int, Float[ndarray, " embedding"]] = {}
    size = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            text = line.decode("utf-8", "replace").rstrip()
            parts = text.split(" ")
            if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                continue
            size = size or len(parts) - 1
            if size < 2:
                raise DataError(
                    f"{path}, line {number}: expected a word and its numbers, got {text!r:.60}."
                )
            word = parts[0] if len(parts) == size + 1 else " ".join(parts[:-size])
            row = words.get(word)
            if row is not None and row not in rows:
                rows[row] = _numbers(parts[-size:], path, number)
    if not rows:
        raise DataError(
            f"{path} has a vector for none of the {counted(len(words), 'known word')}. "
            "Is it a file of word vectors, in the language and case of the texts?"
        )
    matrix = np.zeros((len(words), size), dtype=np.float32)
    matrix[list(rows)] = list(rows.values())
    found = np.zeros(len(words), dtype=bool)
    found[list(rows)] = True
    return WordVectors(matrix, found, path.name)


def _numbers(parts: list[str], path: Path, line: int) -> Float[ndarray, " embedding"]:
    try:
        return np.array(parts, dtype=np.float32)
    except ValueError:
        raise DataError(
            f"{path}, line {line}: expected {counted(len(parts), 'number')} after the word."
        ) from None
