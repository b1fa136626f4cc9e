"""A table of plain values -> a table of words, for the terminal and the page alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.visible import written_out

LOW, HIGH = "_low", "_high"
NAMES = {
    "query_times_output": "V · W", "f1": "F1", "random_f1": "random F1", "f1_gain": "F1 gain",
    "kept_gold": "post-hoc accuracy, gold", "kept_own": "post-hoc accuracy, own",
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A header and rows of words; `is_number` says which columns stand to the right."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_number: tuple[bool, ...]


def in_words(rows: Sequence[Mapping[str, Any]]) -> Shown:
    """Every column by its spoken name; a mean and the ends of its interval in one cell."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    ends = {name + end for name in names for end in (LOW, HIGH)}
    columns = [name for name in names if name not in ends]
    return Shown(
        header=tuple(NAMES.get(column, column.replace("_", " ")) for column in columns),
        rows=tuple(tuple(_cell(row, column) for column in columns) for row in rows),
        is_number=tuple(
            all(isinstance(row.get(column), int | float | np.number) for row in rows)
            for column in columns
        ),
    )


def lines(shown: Shown) -> list[str]:
    """The table as aligned lines of text."""
    table = [shown.header, *shown.rows]
    widths = [max(len(row[place]) for row in table) for place in range(len(shown.header))]
    return [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, shown.is_number, strict=True)
        ).rstrip()
        for row in table
    ]


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if column + LOW in row:
        low, high = number(row[column + LOW]), number(row[column + HIGH])
        return f"{number(value)} [{low}, {high}]"
    return number(value)


def number(value: Any) -> str:
    """Three digits that count; whole numbers and words as they are; a dash for nothing."""
    if isinstance(value, bool) or value is None:
        return "–" if value is None else "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if not isinstance(value, float | np.floating):
        return written_out(str(value))
    if not np.isfinite(value):
        return "–"
    size = abs(float(value))
    if size >= 1000 or 0 < size < 0.0005:
        return f"{value:.2e}"
    return f"{value:.1f}" if size >= 100 else f"{value:.2f}" if size >= 10 else f"{value:.3f}"
