"""Captum's arrays of attributions, with the tokens that they are of."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.errors import DataError
from heedful.importance.attributions.base import USUAL_NAME, ScoredText, as_numbers
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    numbered_class,
    one_each,
    words_of,
)
from heedful.storage import write_atomically

NONE = [None]


@formats.register("captum")
@dataclass(frozen=True)
class CaptumFormat(AttributionFormat):
    """Arrays in an .npz file or a mapping: texts, tokens (padded with "") and attributions.

    Attributions to vectors (texts × tokens × size) are summed over the vector. `method` and
    `targets` may stand beside them.
    """

    endings = (".npz",)

    def fits(self, row: Row) -> bool:
        """Whether it holds all three arrays."""
        return given(row, "texts", "tokens", "attributions")

    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """Each text, without its padding."""
        texts, tokens = list(row["texts"]), [list(some) for some in row["tokens"]]
        scores = [as_numbers(some, where) for some in row["attributions"]]
        if not len(texts) == len(tokens) == len(scores):
            raise DataError(
                f"{where}: {len(texts)} texts, {len(tokens)} rows of tokens and {len(scores)} of "
                "attributions. Expected one of each for every text."
            )
        methods = np.atleast_1d(row["method"]).tolist() if given(row, "method") else [USUAL_NAME]
        if len(methods) != 1:  # else the one of all texts
            one_each(methods, len(texts), "method", where)
        targets = (
            np.asarray(row["targets"]).tolist() if given(row, "targets") else NONE * len(texts)
        )
        one_each(targets, len(texts), "target", where)
        for number, (text, some, values) in enumerate(zip(texts, tokens, scores, strict=True)):
            words = [str(token) for token in some]
            count = len(words) - next(
                (n for n, word in enumerate(reversed(words)) if word), len(words)
            )
            vectors = values.sum(axis=-1) if values.ndim == 2 else values
            yield ScoredText.of_tokens(
                str(text),
                words[:count],
                vectors[:count],
                method=str(methods[number % len(methods)]),
                target=numbered_class(targets[number]),
                where=f"{where}, text {number + 1}",
            )

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """An .npz file without pickles."""
        longest = max((len(one.offsets) for one in texts), default=0)
        tokens = [[*words_of(one), *[""] * (longest - len(one.offsets))] for one in texts]
        scores = np.zeros((len(texts), longest))
        for row, one in enumerate(texts):
            scores[row, : len(one.scores)] = one.scores
        arrays = {
            "texts": np.array([one.text for one in texts]),
            "tokens": np.array(tokens),
            "attributions": scores,
            "method": np.array([one.method for one in texts]),
        }
        if all(one.target is not None for one in texts):
            arrays["targets"] = np.array([str(one.target) for one in texts])
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        write_atomically(path, buffer.getvalue())
