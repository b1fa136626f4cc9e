"""An Explanation of SHAP for texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heedful.errors import DataError
from heedful.importance.attributions.base import ScoredText, as_numbers
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    named_class,
    one_each,
    words_of,
    write_json,
)

NAME = "shap"


@formats.register("shap")
@dataclass(frozen=True)
class ShapFormat(AttributionFormat):
    """The fields of SHAP's Explanation of texts: values, data (tokens) and output_names, as JSON.

    Tokens put together are the text. Values may be those of one class or of each.
    """

    endings = (".json",)

    def fits(self, row: Row) -> bool:
        """Whether it has values and data."""
        return given(row, "values", "data")

    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """Each text."""
        tokens = [[str(token) for token in some] for some in row["data"]]
        values = [as_numbers(some, where) for some in row["values"]]
        if len(tokens) != len(values):
            raise DataError(
                f"{where}: expected {len(tokens)} rows of values, one per text; got {len(values)}."
            )
        names = row.get("output_names")
        classes = () if names is None else tuple(map(str, np.atleast_1d(names).tolist()))
        targets = row["targets"] if given(row, "targets") else [None] * len(tokens)
        methods = row["methods"] if given(row, "methods") else [NAME] * len(tokens)
        one_each(targets, len(tokens), "target", where)
        one_each(methods, len(tokens), "method", where)
        for number, (some, scores) in enumerate(zip(tokens, values, strict=True)):
            yield ScoredText.of_tokens(
                "".join(some),
                some,
                scores,
                method=str(methods[number]),
                classes=classes if scores.ndim == 2 else (),
                target=named_class(targets[number]),
                where=f"{where}, text {number + 1}",
            )

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """The fields that shap.Explanation takes, and the method and class of each text."""
        write_json(
            path,
            {
                "values": [one.scores.tolist() for one in texts],
                "data": [[f"{word} " for word in words_of(one)] for one in texts],
                "methods": [one.method for one in texts],
                "targets": [None if one.target is None else str(one.target) for one in texts],
            },
        )
