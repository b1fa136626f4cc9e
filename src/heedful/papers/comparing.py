"""Our results beside a paper's numbers and claims: rows and verdicts, no running."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy import stats

from heedful.errors import ConfigError
from heedful.papers.paper import Claim, Number, Picture, Published, Where

Row = Mapping[str, Any]
"""One run: what it was and what came of it."""

RUNS = ""  # the name of the table with a row per run
Tables = Mapping[str, Sequence[Row]]
"""Rows by the table they stand in."""

NOT_RUN = "it was not run here"
Verdict = Literal["replicates", "does not", "cannot be compared"]
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


@dataclass(frozen=True)
class Compared:
    """A published number and ours."""

    where: Where
    published: Published
    ours: Mean | None  # None: it was not run
    verdict: Verdict
    why: str = ""

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return math.nan if self.ours is None else self.ours.mean - self.published.value


@dataclass(frozen=True)
class Tested:
    """A claim and what came of it."""

    claim: Claim
    where: Where  # of `each`
    found: Mean | None  # the difference, or the spread of the means
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Point:
    """A point of a picture: where it stands, and the mean over seeds."""

    over: Any
    line: str
    panel: str
    mean: Mean


def points_of(tables: Tables, picture: Picture) -> list[Point]:
    """The points of a picture, in the order of the rows; cells without numbers are left out."""
    names = [name for name in (picture.panels, picture.lines, picture.over) if name]
    rows = [row for row in tables.get(picture.number.of, ()) if _is_at(row, picture.where)]
    points = []
    for where in _values_of(rows, names):
        found = _by_seed(rows, picture.number, where)
        if found:
            line, panel = (str(where.get(name, "")) for name in (picture.lines, picture.panels))
            points.append(Point(where[picture.over], line, panel, Mean.of(list(found.values()))))
    return points


def compare(tables: Tables, published: Sequence[Published]) -> list[Compared]:
    """Published numbers beside the mean of our runs; those nobody asked for are left out."""
    runs = tables[RUNS]
    seen = {name: {row.get(name) for row in runs} for one in published for name in one.where}
    asked = {name for row in runs for name in row}
    return [
        _compared(tables, one)
        for one in published
        if all(value in seen[name] for name, value in one.where.items() if name in asked)
    ]


def test_claims(tables: Tables, claims: Sequence[Claim]) -> list[Tested]:
    """Every claim, for each value of what it is tested for."""
    return [tested for claim in claims for tested in _tested(tables, claim)]


test_claims.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test


def _compared(tables: Tables, one: Published) -> Compared:
    found = _by_seed(tables.get(one.number.of, ()), one.number, one.where)
    if not found:
        why = one.why_not or _why_missing(tables[RUNS], one.where)
        return Compared(one.where, one, None, "cannot be compared", why)
    ours = Mean.of(list(found.values()))
    if one.why_not:
        return Compared(one.where, one, ours, "cannot be compared", one.why_not)
    is_near = abs(ours.mean - one.value) <= one.tolerance + 1e-9
    return Compared(one.where, one, ours, "replicates" if is_near else "does not")


def _tested(tables: Tables, claim: Claim) -> Iterator[Tested]:
    rows = tables.get(claim.number.of, ())
    if not rows:  # not even a row to be tested for
        yield Tested(claim, {}, None, "cannot be compared", claim.why_not or NOT_RUN)
    for where in _values_of(rows, claim.each):
        some = [row for row in rows if _is_at(row, where)]
        if claim.cells is not None:
            yield _spread(some, claim, where)
        else:
            yield _judged(claim, where, _gains(some, claim), tables[RUNS])


def _gains(rows: Sequence[Row], claim: Claim) -> dict[Any, float]:
    """What should be above 0, by seed; differences are paired by seed."""
    number = claim.number
    first = _by_seed(rows, number, claim.at or claim.higher or {})
    if claim.lower is not None:
        second = _by_seed(rows, number, claim.lower)
    elif claim.than:
        second = _by_seed(rows, replace(number, column=claim.than), claim.at or {})
    else:
        second = dict.fromkeys(first, 0.0)
    return {seed: first[seed] - second[seed] for seed in first if seed in second}


def _judged(claim: Claim, where: Where, gains: Mapping[Any, float], runs: Sequence[Row]) -> Tested:
    if not gains:
        needed = {**where, **(claim.at or claim.higher or {})}
        why = claim.why_not or _why_missing(runs, needed)
        return Tested(claim, where, None, "cannot be compared", why)
    found = Mean.of(list(gains.values()))
    if claim.why_not:
        return Tested(claim, where, found, "cannot be compared", claim.why_not)
    if found.seeds == 1:
        return Tested(claim, where, found, "cannot be compared", "one seed has no interval")
    if claim.most is not None:
        verdict: Verdict = "replicates" if found.mean <= claim.most else "does not"
        return Tested(claim, where, found, verdict)
    if found.mean >= claim.by and found.low > 0:
        return Tested(claim, where, found, "replicates")
    if found.high < claim.by:
        return Tested(claim, where, found, "does not")
    why = f"{found.seeds} seeds do not settle it"
    return Tested(claim, where, found, "cannot be compared", why)


def _spread(rows: Sequence[Row], claim: Claim, where: Where) -> Tested:
    """How far the means of the cells lie apart."""
    cells = claim.cells or {}
    lists = {name: value if isinstance(value, list) else [value] for name, value in cells.items()}
    means = []
    for values in product(*lists.values()):
        found = _by_seed(rows, claim.number, dict(zip(lists, values, strict=True)))
        if not found:
            return Tested(claim, where, None, "cannot be compared", "not all of it was run here")
        means.append(Mean.of(list(found.values())))
    apart = max(m.mean for m in means) - min(m.mean for m in means)
    result = Mean(apart, math.nan, math.nan, min(m.seeds for m in means))
    if claim.why_not:
        return Tested(claim, where, result, "cannot be compared", claim.why_not)
    verdict: Verdict = "replicates" if apart <= claim.spread else "does not"
    return Tested(claim, where, result, verdict)


def _by_seed(rows: Sequence[Row], number: Number, where: Where) -> dict[Any, float]:
    """The number of each seed in the cells; a row per seed, unless a trend is taken over them."""
    chosen: dict[Any, list[Row]] = {}
    for row in rows:
        if _is_at(row, where) and _is_known(row.get(number.column)):
            chosen.setdefault(row.get("seed"), []).append(row)
    if number.rises_with:
        trends = {seed: _trend(some, number) for seed, some in chosen.items()}
        return {seed: trend for seed, trend in trends.items() if _is_known(trend)}
    for some in chosen.values():
        if len(some) > 1:
            raise ConfigError(
                f"{number.column} stands in {len(some)} rows for one seed where {dict(where)}. "
                "Name more columns."
            )
    return {seed: number.times * float(some[0][number.column]) for seed, some in chosen.items()}


def _trend(rows: Sequence[Row], number: Number) -> float:
    """Tau-b of the column with the one that it may rise with; three cells at least."""
    values = {row[number.rises_with]: float(row[number.column]) for row in rows}
    if len(values) < 3:
        return math.nan
    return number.times * float(stats.kendalltau(list(values), list(values.values())).statistic)


def _is_known(value: Any) -> bool:
    return value is not None and not math.isnan(float(value))


def _why_missing(rows: Sequence[Row], where: Where) -> str:
    """That it failed, and why, or that nobody ran it."""
    columns = {name for row in rows for name in row}
    cell = {name: value for name, value in where.items() if name in columns}
    errors = [row.get("error") for row in rows if _is_at(row, cell)]
    told = next((error for error in errors if error), None)
    if told:
        return f"its training failed: {told}"
    is_done = any(row.get("state") == "done" for row in rows if _is_at(row, cell))
    return "the runs do not give this number" if is_done else NOT_RUN


def _is_at(row: Row, where: Where) -> bool:
    """Whether a row has these values, or one of them where several are listed."""
    return all(
        row.get(name) in value if isinstance(value, list) else row.get(name) == value
        for name, value in where.items()
    )


def _values_of(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    """All combinations of some columns that occur, in order."""
    seen = dict.fromkeys(tuple(row.get(name) for name in names) for row in rows)
    return [dict(zip(names, values, strict=True)) for values in seen]
