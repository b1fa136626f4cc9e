"""Soft rationales in the form of the ERASER benchmark (arXiv:1911.03429)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from heedful.errors import DataError, UsageError
from heedful.importance.attributions.base import USUAL_NAME, ScoredText
from heedful.importance.attributions.formats.base import (
    AttributionFormat,
    Row,
    formats,
    given,
    json_line,
    named_class,
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
            if scores is None:
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
                target=named_class(row.get("classification")),
                where=where,
            )

    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """The predictions, and docs.jsonl beside them; documents that are there are kept."""
        beside = path.with_name(f"{DOCUMENTS}.jsonl")
        if path.name == beside.name:
            raise UsageError(
                f"{path.name} holds ERASER's texts: give the predictions another name."
            )
        before = decode(beside.read_bytes(), beside).strip() if beside.is_file() else ""
        known = dict(_documents(beside, _changed(beside))) if before else {}
        rows, documents = [], [before] if before else []
        for number, one in enumerate(texts):
            document = " ".join("".join(word.split()) for word in words_of(one))
            name = _free_name(f"{path.stem}-{number}", document, known)
            if name not in known:
                known[name] = document
                documents.append(json_line({"docid": name, "document": document}))
            scores = {"docid": name, "soft_rationale_predictions": one.scores.tolist()}
            rows.append(
                {"annotation_id": name, "rationales": [scores], "method": one.method}
                | ({} if one.target is None else {"classification": str(one.target)})
            )
        write_lines(beside, documents)
        write_lines(path, map(json_line, rows))


def _free_name(name: str, document: str, known: Mapping[str, str]) -> str:
    """A name that no other document has."""
    names = (name, *(f"{name}-{number}" for number in range(2, len(known) + 3)))
    return next(one for one in names if known.get(one, document) == document)


def _document(name: str, folder: Path, where: str) -> str:
    lines, files = folder / f"{DOCUMENTS}.jsonl", folder / DOCUMENTS
    if lines.is_file() and (text := _documents(lines, _changed(lines)).get(name)) is not None:
        return text
    if (files / name).is_file() and (files / name).resolve().parent == files.resolve():
        return decode((files / name).read_bytes(), files / name)
    raise DataError(
        f"{where}: the document {name!r:.60} is in neither {lines.name} nor the folder {DOCUMENTS} "
        "next to the file. ERASER's predictions contain no texts: put them there."
    )


@lru_cache(maxsize=1)
def _documents(path: Path, changed: tuple[int, int]) -> Mapping[str, str]:
    """The texts of docs.jsonl by name, read once for all rows of predictions."""
    rows = [row for _, row in read_rows(path) if "document" in row]
    texts = [(str(row.get("docid")), row["document"]) for row in reversed(rows)]  # the first counts
    return {name: text if isinstance(text, str) else json.dumps(text) for name, text in texts}


def _changed(path: Path) -> tuple[int, int]:
    """What differs once a file is another."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size
