"""Soft rationales in the form of the ERASER benchmark (arXiv:1911.03429)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import DataError
from heedful.importance.attributions.base import USUAL_NAME, ScoredText
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    words_of,
    write_lines,
)
from heedful.text.files import decode, read_rows

DOCUMENTS = "docs"


@formats.register("eraser")
@dataclass(frozen=True)
class EraserFormat(AttributionFormat):
    """Predictions of ERASER: JSON lines with soft_rationale_predictions, a score per token.

    Its texts are beside the file, as the benchmark has them: docs.jsonl (docid, document), or a
    folder docs with a file for each; tokens are separated by white space.
    """

    endings = (".jsonl",)

    def fits(self, row: Row) -> bool:
        """Whether it has rationales of an annotation."""
        return given(row, "annotation_id", "rationales")

    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """Each document of the annotation that has soft scores."""
        for rationale in row["rationales"]:
            scores = rationale.get("soft_rationale_predictions")
            if not scores:
                raise DataError(
                    f"{where}: {row['annotation_id']} has no soft_rationale_predictions. Marks "
                    "without scores do not rank words."
                )
            text = _document(str(rationale["docid"]), folder, where)
            yield ScoredText.of_tokens(
                text,
                text.split(),
                scores,
                method=str(row.get("method") or USUAL_NAME),
                target=row.get("classification"),
                where=where,
            )

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """The predictions, and docs.jsonl beside them."""
        rows, documents = [], []
        for number, one in enumerate(texts):
            words, name = ["".join(word.split()) for word in words_of(one)], f"{path.stem}-{number}"
            documents.append({"docid": name, "document": " ".join(words)})
            scores = {"docid": name, "soft_rationale_predictions": one.scores.tolist()}
            rows.append(
                {"annotation_id": name, "rationales": [scores], "method": one.method}
                | ({} if one.target is None else {"classification": str(one.target)})
            )
        write_lines(path, rows)
        write_lines(path.with_name(f"{DOCUMENTS}.jsonl"), documents)


def _document(name: str, folder: Path, where: str) -> str:
    lines, files = folder / f"{DOCUMENTS}.jsonl", folder / DOCUMENTS
    if lines.is_file():
        for _, row in read_rows(lines):
            if str(row.get("docid")) == name:
                text = row["document"]
                return text if isinstance(text, str) else json.dumps(text)
    elif (files / name).is_file() and (files / name).resolve().parent == files.resolve():
        return decode((files / name).read_bytes(), files / name)
    raise DataError(
        f"{where}: the document {name!r:.60} is in neither {lines.name} nor the folder {DOCUMENTS} "
        "next to the file. ERASER's predictions contain no texts: put them there."
    )
