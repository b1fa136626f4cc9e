"""Pretrained word vectors from text files: GloVe, word2vec's text form, fastText `.vec`.

One word per line, then its numbers; a first line of two whole numbers (count and size) is skipped.
Only the words that are asked for are parsed, so memory follows the vocabulary, not the file.
"""

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.errors import DataError, counted

LONGEST_LINE = 2**20  # bytes; a gzip file of a few bytes may hold a line that fills the memory


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
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(iter(partial(lines.readline, LONGEST_LINE), b""), 1):
                if len(line) == LONGEST_LINE:
                    raise DataError(f"{path}, line {number}: too long for a word and its vector.")
                parts = line.decode("utf-8-sig", "replace").rstrip().split(" ")
                if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
                    continue
                size = size or len(parts) - 1
                word = _word(parts, size, path, number)
                row = words.get(word)
                if row is not None and row not in rows:
                    rows[row] = _numbers(parts[-size:], path, number)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}.") from None
    if not rows:
        raise DataError(
            f"{path} has no vector for any of the {counted(len(words), 'known word')}. "
            "Is it a file of word vectors, in the language and case of the texts?"
        )
    matrix = np.zeros((len(words), size), dtype=np.float32)
    matrix[list(rows)] = list(rows.values())
    found = np.zeros(len(words), dtype=bool)
    found[list(rows)] = True
    return WordVectors(matrix, found, path.name)


def _word(parts: list[str], size: int, path: Path, line: int) -> str:
    """The word of a line; it may hold spaces, but then not every part of it is a number."""
    extra = parts[1:-size]
    if size < 2 or len(parts) < size + 1 or (extra and all(map(_is_number, extra))):
        raise DataError(
            f"{path}, line {line}: expected a word and {size if size > 1 else 'its'} numbers, "
            f"got {' '.join(parts)!r:.60}."
        )
    return " ".join(parts[:-size])


def _is_number(part: str) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _numbers(parts: list[str], path: Path, line: int) -> Float[ndarray, " embedding"]:
    numbers = np.array([float(part) if _is_number(part) else np.nan for part in parts])
    if not (np.abs(numbers) < np.finfo(np.float32).max).all():
        raise DataError(
            f"{path}, line {line}: expected {counted(len(parts), 'finite number')} after the word."
        )
    return numbers.astype(np.float32)
