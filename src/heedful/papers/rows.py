"""Rows of runs and analyses: the numbers of some cells, by seed, and their mean."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from heedful.errors import ConfigError
from heedful.papers.expected import Number, Where

Row = Mapping[str, Any]
"""One run: what it was and what came of it."""

RUNS = ""  # the name of the table with a row per run
Tables = Mapping[str, Sequence[Row]]
"""Rows by the table they stand in."""

NOT_RUN = "it was not run here"
LEVEL = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval (Student's t); one seed has none."""

    mean: float
    low: float
    high: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Mean":
        """The mean of some runs' numbers."""
        count, mean = len(values), float(np.mean(values))
        if count < 2:
            return cls(mean, math.nan, math.nan, count)
        spread = float(np.std(values, ddof=1)) / math.sqrt(count)
        half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1)) * spread
        return cls(mean, mean - half, mean + half, count)


def by_seed(rows: Sequence[Row], number: Number, where: Where) -> dict[Any, float]:
    """The number of each seed in the cells; a row per seed, unless a trend is taken over them."""
    chosen: dict[Any, list[Row]] = {}
    for row in rows:
        if is_at(row, where) and _is_known(row.get(number.column)):
            chosen.setdefault(row.get("seed"), []).append(row)
    if number.rises_with:
        trends = {seed: _trend(some, number) for seed, some in chosen.items()}
        return {seed: trend for seed, trend in trends.items() if _is_known(trend)}
    for some in chosen.values():
        if len(some) > 1:
            raise ConfigError(
                f"{number.column} is in {len(some)} rows for one seed where {dict(where)}. "
                "Name more columns."
            )
    return {seed: number.times * float(some[0][number.column]) for seed, some in chosen.items()}


def _trend(rows: Sequence[Row], number: Number) -> float:
    """Tau-b of the column with the one that it may rise with; three cells at least."""
    values = {row[number.rises_with]: float(row[number.column]) for row in rows}
    if len(values) < len(rows):
        raise ConfigError(
            f"{number.column} is in several rows for one value of {number.rises_with}. "
            "Name more columns."
        )
    if len(values) < 3:
        return math.nan
    return number.times * float(stats.kendalltau(list(values), list(values.values())).statistic)


def _is_known(value: Any) -> bool:
    return value is not None and not math.isnan(float(value))


def why_missing(rows: Sequence[Row], where: Where) -> str:
    """That it failed, and why, or that nobody ran it."""
    at = [row for row in rows if is_at(row, known_in(rows, where))]
    told = next((row["error"] for row in at if row.get("error")), None)
    if told:
        return f"it failed: {told}"
    is_done = any(row.get("state") == "done" for row in at)
    return "the runs do not give this number" if is_done else NOT_RUN


def known_in(rows: Sequence[Row], where: Where) -> Where:
    """The part of it that speaks of columns which the rows have."""
    columns = {name for row in rows for name in row}
    return {name: value for name, value in where.items() if name in columns}


def is_at(row: Row, where: Where) -> bool:
    """Whether a row has these values, or one of them where several are listed."""
    return all(
        row.get(name) in value if isinstance(value, list) else row.get(name) == value
        for name, value in where.items()
    )


def values_of(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    """All combinations of some columns that occur, in order."""
    seen = dict.fromkeys(tuple(row.get(name) for name in names) for row in rows)
    return [dict(zip(names, values, strict=True)) for values in seen]
