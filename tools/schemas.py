"""JSON Schemas of saved files, from the types that they are read by: `python -m tools.schemas`."""

import json
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.auditing.results import StoredAudit
from heedful.records import json_schema
from heedful.training.run_schema import EpochLine, HealedMetrics, Metrics, Provenance

KINDS: dict[str, Any] = {
    runs.AUDIT: StoredAudit,
    runs.METRICS: Metrics | HealedMetrics,
    runs.HISTORY: EpochLine,  # of every line
    runs.PROVENANCE: Provenance,
}
FOLDER = Path(__file__).parents[1] / "docs" / "schemas"


def published() -> dict[str, str]:
    """By the name of the file in docs/schemas."""
    return {
        f"{name}.schema.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema(kind)},
            indent=1,
        )
        + "\n"
        for name, kind in KINDS.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in published().items():
        (FOLDER / name).write_text(text)
