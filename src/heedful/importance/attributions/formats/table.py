"""Our own format: a row for each text and method."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.errors import DataError
from heedful.importance.attributions.base import USUAL_NAME, Offsets, ScoredText, as_numbers
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    json_line,
    listed,
    named_class,
    words_of,
    write_lines,
)
from heedful.storage import write_atomically


@formats.register("table")
@dataclass(frozen=True)
class TableFormat(AttributionFormat):
    """Rows of text, words (or tokens) and scores, as JSON lines or Parquet.

    Optional: `offsets` (pairs of characters; then no words are needed), `method`, `target` (the
    class that is explained), `classes` (of scores for each class).
    """

    endings = (".jsonl", ".parquet")

    def fits(self, row: Row) -> bool:
        """Whether it has a text, scores, and words, tokens or offsets."""
        has_words = any(given(row, name) for name in ("words", "tokens", "offsets"))
        return given(row, "text", "scores") and has_words and "explainer" not in row

    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """The one text of the row."""
        text, scores = str(row["text"]), as_numbers(listed(row["scores"], where), where)
        method = str(row.get("method") or USUAL_NAME)
        classes = tuple(map(str, listed(row["classes"], where))) if given(row, "classes") else ()
        target = named_class(row.get("target"))
        if given(row, "offsets"):
            offsets = _pairs(listed(row["offsets"], where), where)
            yield ScoredText(text, offsets, scores, method, classes, target, where)
            return
        words = row["words"] if given(row, "words") else row["tokens"]
        tokens = [str(one) for one in listed(words, where)]
        yield ScoredText.of_tokens(
            text, tokens, scores, method=method, classes=classes, target=target, where=where
        )

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """JSON lines, or Parquet if the file is called so."""
        rows = [
            {
                "text": one.text,
                "method": one.method,
                "target": None if one.target is None else str(one.target),
                "words": words_of(one),
                "offsets": one.offsets.tolist(),
                "scores": one.scores.tolist(),
            }
            for one in texts
        ]
        if path.suffix.lower() == ".jsonl":
            write_lines(path, map(json_line, rows))
            return
        import pyarrow
        import pyarrow.parquet

        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
        write_atomically(path, buffer.getvalue())


def _pairs(value: list[object], where: str) -> Offsets:
    numbers = as_numbers(value, where) if value else np.empty((0, 2))
    if numbers.ndim != 2 or numbers.shape[1] != 2 or (numbers != np.round(numbers)).any():
        raise DataError(
            f"{where}: offsets should be pairs of whole numbers, the first character of each word "
            f"and one past its last; got an array of {' × '.join(map(str, numbers.shape))}."
        )
    return numbers.astype(np.int64)
