"""What `faithful` costs and brings, beside the recipes of the papers: a record, then a page.

    heedful sweep evidence/bilstm.toml -o evidence/bilstm          (and the other grids)
    python -m tools.evidence record evidence/bilstm … > docs/evidence.json
    python -m tools.evidence page docs/evidence.json > docs/evidence.md

A variant of these grids is called "ENCODER RECIPE", as in "bilstm faithful". Records are joined:
what a record file that is named among the folders holds is taken as it is.
"""

import base64
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from heedful import runs
from heedful.auditing.results import StoredAudit
from heedful.runs import RunFolder
from heedful.training.task import find_corpus
from heedful.training.trained import Trained

Row = Mapping[str, Any]


def record(sources: Sequence[Path], device: str = "cpu") -> list[Row]:
    """Every finished cell of some sweeps, with which test documents it got right."""
    rows: list[Row] = []
    for source in sources:
        if source.is_file():
            rows += json.loads(source.read_text(encoding="utf-8"))
        else:
            rows += _cells(source, device)
    return rows


def _cells(folder: Path, device: str) -> Iterator[Row]:
    for place in sorted(path.parent for path in folder.glob(f"*/{runs.CELL}")):
        run = RunFolder(place)
        if not run.is_finished:
            continue
        cell = run.read_json(runs.CELL)
        trained = Trained.load(place, device)
        test = find_corpus(cell["data"]).test
        said = trained.probabilities(test.texts).argmax(axis=1).tolist()
        is_right = np.array(
            [trained.classes[n] == label for n, label in zip(said, test.labels, strict=True)]
        )
        seconds = sum(epoch["seconds"] for epoch in run.read_lines(runs.HISTORY))
        yield {
            "data": cell["data"], "variant": cell["variant"], "seed": cell["seed"],
            "documents": len(test), "right": packed(is_right),
            "train_seconds": round(seconds, 1),
            **_audited(place),
        }  # fmt: skip


def _audited(place: Path) -> Row:
    audits = sorted(place.glob(f"audit-*/{runs.AUDIT}"))
    if not audits:
        return {}
    audit = StoredAudit.read(RunFolder(audits[-1].parent))
    tests = {
        test.name: [round(float(n), 4) for n in (test.score.score, *test.score.interval)]
        for answer in audit.answers
        for test in answer.tests
    }
    return {"verdict": audit.verdict, "audited": audit.documents, "tests": tests}


def packed(is_right: Bool[ndarray, " documents"]) -> str:
    """A bit for each document, as text."""
    return base64.b64encode(np.packbits(is_right).tobytes()).decode()


def unpacked(text: str, documents: int) -> Bool[ndarray, " documents"]:
    """The inverse of `packed`."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8), count=documents)
    return bits.astype(bool)


if __name__ == "__main__":
    what, *sources = sys.argv[1:]
    if what == "record":
        device = "cuda" if sources[0] == "cuda" and sources.pop(0) else "cpu"
        print(json.dumps(record([Path(source) for source in sources], device), indent=0))
