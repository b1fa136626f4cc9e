"""Our results beside a paper's numbers and claims: rows and verdicts, no running."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy import stats

from heedful.papers.paper import Claim, Published, Where

Row = Mapping[str, Any]
"""One run: what it was and what came of it."""

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


def compare(rows: Sequence[Row], published: Sequence[Published]) -> list[Compared]:
    """Published numbers beside the mean of our runs; those nobody asked for are left out."""
    seen = {name: {row.get(name) for row in rows} for one in published for name in one.where}
    return [
        _compared(rows, one)
        for one in published
        if all(value in seen[name] for name, value in one.where.items())
    ]


def test_claims(rows: Sequence[Row], claims: Sequence[Claim]) -> list[Tested]:
    """Every claim, for each value of what it is tested for."""
    return [tested for claim in claims for tested in _tested(rows, claim)]


test_claims.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test


def _compared(rows: Sequence[Row], one: Published) -> Compared:
    values = _values(rows, one.where, one.column, one.times)
    if not values:
        why = one.why_not or _why_missing(rows, one.where)
        return Compared(one.where, one, None, "cannot be compared", why)
    ours = Mean.of(values)
    if one.why_not:
        return Compared(one.where, one, ours, "cannot be compared", one.why_not)
    is_near = abs(ours.mean - one.value) <= one.tolerance + 1e-9
    return Compared(one.where, one, ours, "replicates" if is_near else "does not")


def _tested(rows: Sequence[Row], claim: Claim) -> Iterator[Tested]:
    for where in _values_of(rows, claim.each):
        some = [row for row in rows if _is_at(row, where)]
        if claim.cells is not None:
            yield _spread(some, claim, where)
        elif claim.higher is not None and claim.lower is not None:
            yield _difference(some, claim, where)


def _difference(rows: Sequence[Row], claim: Claim, where: Where) -> Tested:
    """Paired by seed where both were run with the same seeds."""
    high, low = (_by_seed(rows, claim, chosen or {}) for chosen in (claim.higher, claim.lower))
    shared = sorted(high.keys() & low.keys(), key=str)
    if not shared:
        missing = claim.lower if high else claim.higher
        why = claim.why_not or _why_missing(rows, missing or {})
        return Tested(claim, where, None, "cannot be compared", why)
    found = Mean.of([high[seed] - low[seed] for seed in shared])
    if claim.why_not:
        return Tested(claim, where, found, "cannot be compared", claim.why_not)
    if found.seeds == 1:
        return Tested(claim, where, found, "cannot be compared", "one seed has no interval")
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
        at = dict(zip(lists, values, strict=True))
        found = _values(rows, at, claim.column, claim.times)
        if not found:
            return Tested(claim, where, None, "cannot be compared", "not all of it was run here")
        means.append(Mean.of(found))
    apart = max(m.mean for m in means) - min(m.mean for m in means)
    result = Mean(apart, math.nan, math.nan, min(m.seeds for m in means))
    verdict: Verdict = "replicates" if apart <= claim.spread else "does not"
    return Tested(claim, where, result, verdict)


def _values(rows: Sequence[Row], where: Where, column: str, times: float) -> list[float]:
    found = [row.get(column) for row in rows if _is_at(row, where)]
    return [times * float(value) for value in found if value is not None and _is_known(value)]


def _by_seed(rows: Sequence[Row], claim: Claim, where: Where) -> dict[Any, float]:
    """The number of each run, by its seed."""
    return {
        row.get("seed"): claim.times * float(row[claim.column])
        for row in rows
        if _is_at(row, where) and _is_known(row.get(claim.column))
    }


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(float(value))


def _why_missing(rows: Sequence[Row], where: Where) -> str:
    """That it failed, and why, or that nobody ran it."""
    errors = [row.get("error") for row in rows if _is_at(row, where)]
    told = next((error for error in errors if error), None)
    return f"its training failed: {told}" if told else "it was not run here"


def _is_at(row: Row, where: Where) -> bool:
    return all(row.get(name) == value for name, value in where.items())


def _values_of(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Any]]:
    """All combinations of some columns that occur, in order."""
    seen = dict.fromkeys(tuple(row.get(name) for name in names) for row in rows)
    return [dict(zip(names, values, strict=True)) for values in seen]
