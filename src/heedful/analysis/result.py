"""What an analysis found, as plain data: made by an instrument, saved here, shown by the report.

Knows nothing of models. `summary` is what the command prints, `tables` what the figures are drawn
from, `rows` what is many, `figures` what the report draws. Saved, it is analysis.json and
rows.parquet.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import runs, storage
from heedful.auditing.bootstrap import Estimate
from heedful.auditing.results import Table, plain
from heedful.runs import RunFolder
from heedful.text.documents import whole_characters

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = 1


@dataclass(frozen=True)
class FigureSpec:
    """A figure of an analysis as data: the report draws it, so that no analysis imports plots.

    `draw` names a function of `heedful.plots`, which takes the rows of a table and the options.
    `picture` draws any table of means with intervals, so most analyses need no function of
    their own.
    """

    draw: str
    table: str | None = None  # one of the result's tables; None: the rows of rows.parquet
    columns: Mapping[str, str] = field(default_factory=dict)  # renamed to what `draw` expects
    options: Mapping[str, str] = field(default_factory=dict)  # such as a title


@dataclass(frozen=True)
class Result:
    """What an analysis found."""

    analysis: str
    asks: str
    summary: Table  # a few rows: what the command prints
    tables: dict[str, Table]  # what the figures are drawn from
    rows: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # columns of rows.parquet
    notes: tuple[str, ...] = ()  # what is approximate or was left out, in sentences
    about: dict[str, Any] = field(default_factory=dict)  # of what: run, data, settings, seeds
    figures: tuple[FigureSpec, ...] = ()  # in the order of the report
    conclusion: str = ""  # what it comes to, in words, where that can be said

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows and figures, as plain data."""
        return {
            "schema": SCHEMA,
            "analysis": self.analysis,
            "asks": self.asks,
            **({"conclusion": self.conclusion} if self.conclusion else {}),
            "summary": plain(list(self.summary)),
            "tables": {name: plain(list(rows)) for name, rows in self.tables.items()},
            "notes": list(self.notes),
            "about": plain(self.about),
        }

    @classmethod
    def read(cls, folder: RunFolder) -> "Result":
        """What analysis.json holds: everything but the rows and figures."""
        advice = "Make the analysis again."
        return folder.read_record(runs.ANALYSIS, cls, schemas=[SCHEMA], advice=advice)

    def to_frame(self) -> "DataFrame":
        """The rows, in the columns that docs/analysis.md describes."""
        import pandas

        return pandas.DataFrame(
            {
                name: [whole_characters(v) if isinstance(v, str) else v for v in values]
                for name, values in self.rows.items()
            }
        )

    def save(self, path: str | Path) -> None:
        """Write analysis.json, and rows.parquet where there are rows, into a folder."""
        folder = RunFolder(Path(path))
        with storage.held(folder.path):
            if self.rows:
                buffer = io.BytesIO()
                self.to_frame().to_parquet(buffer)
                folder.write_bytes(runs.ROWS, buffer.getvalue())
            folder.write_json(runs.ANALYSIS, self.to_dict())


def with_interval(name: str, found: Estimate) -> dict[str, float]:
    """A mean and the ends of its interval, as cells of a table."""
    low, high = found.interval
    return {name: found.mean, f"{name}_low": low, f"{name}_high": high}
