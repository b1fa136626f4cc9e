"""Explanations of ferret."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.importance.attributions.base import ScoredText
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    listed,
    numbered_class,
    words_of,
    write_json,
)


@formats.register("ferret")
@dataclass(frozen=True)
class FerretFormat(AttributionFormat):
    """A list of the fields of ferret's Explanation: text, tokens, scores, explainer, target."""

    endings = (".json",)

    def fits(self, row: Row) -> bool:
        """Whether it has the fields of an Explanation."""
        return given(row, "text", "tokens", "scores", "explainer")

    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """The one text."""
        target = row.get("target_pos_idx")
        yield ScoredText.of_tokens(
            str(row["text"]),
            [str(token) for token in listed(row["tokens"], where)],
            listed(row["scores"], where),
            method=str(row["explainer"]),
            target=numbered_class(row.get("target") if target is None else int(target)),
            where=where,
        )

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """A JSON list."""
        rows = [
            {
                "text": one.text,
                "tokens": words_of(one),
                "scores": one.scores.tolist(),
                "explainer": one.method,
                "target_pos_idx": one.classes.index(str(one.target))
                if str(one.target) in one.classes
                else None,
                "target": None if one.target is None else str(one.target),
            }
            for one in texts
        ]
        write_json(path, rows)
