"""What became of a paper's claims: rows and verdicts, no running."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from heedful.papers.expected import Claim, Where
from heedful.papers.power import MOST_SEEDS, seeds_to_settle, smallest_visible
from heedful.papers.rows import (
    RUNS,
    Mean,
    Row,
    Tables,
    by_seed,
    is_at,
    known_in,
    values_of,
    why_missing,
)
from heedful.papers.verdicts import Verdict, decide

UNSETTLED = "do not settle it"


@dataclass(frozen=True)
class Tested:
    """A claim and what came of it."""

    claim: Claim
    where: Where  # of `each`
    found: Mean | None  # the difference, or the spread of the means
    verdict: Verdict
    why: str = ""
    seeds_needed: int | None = None  # that would settle an open one, where that is known

    @property
    def visible(self) -> float:
        """The smallest difference that these seeds could have seen; nan if there is no interval."""
        return math.nan if self.found is None else smallest_visible(self.found)


def test_claims(tables: Tables, claims: Sequence[Claim]) -> list[Tested]:
    """Every claim, for each value of what it is tested for."""
    return [tested for claim in claims for tested in _tested(tables, claim)]


test_claims.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test


def _tested(tables: Tables, claim: Claim) -> Iterator[Tested]:
    rows = [row for row in tables.get(claim.number.of, ()) if is_at(row, claim.where)]
    cells = [row for row in tables[RUNS] if is_at(row, known_in(tables[RUNS], claim.where))]
    if claim.where and not cells:
        return  # about corpora or variants that were not asked for
    is_of_cells = all(name in row for row in cells for name in claim.each)
    for where in values_of(cells if is_of_cells else rows, claim.each) or [{}]:
        some = [row for row in rows if is_at(row, where)]
        found = _closeness(some, claim) if claim.cells is not None else _gains(some, claim)
        yield _judged(claim, where, found, tables[RUNS])


@dataclass(frozen=True)
class Found:
    """The number that a claim is about; or the cells that gave none."""

    mean: Mean | None
    missing: Where = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[Any, float], missing: Where) -> "Found":
        """The mean of a number by seed."""
        return cls(Mean.of(list(values.values())) if values else None, missing)


def _gains(rows: Sequence[Row], claim: Claim) -> Found:
    """How much more the one is than the other; differences are paired by seed."""
    number, at = claim.number, claim.at or claim.higher or {}
    first = by_seed(rows, number, at)
    if claim.lower is not None:
        second, other = by_seed(rows, number, claim.lower), claim.lower
    elif claim.than:
        second, other = by_seed(rows, replace(number, column=claim.than), at), at
    else:
        second, other = dict.fromkeys(first, 0.0), at
    shared = {seed: first[seed] - second[seed] for seed in first if seed in second}
    return Found.of(shared, at if not first else other)


def _closeness(rows: Sequence[Row], claim: Claim) -> Found:
    """How far apart the cells lie: the difference of two; of more the range, without interval."""
    cells = claim.cells or {}
    lists = {name: value if isinstance(value, list) else [value] for name, value in cells.items()}
    found = []
    for values in product(*lists.values()):
        where = dict(zip(lists, values, strict=True))
        found.append(by_seed(rows, claim.number, where))
        if not found[-1]:
            return Found(None, where)
    shared = set.intersection(*(set(one) for one in found))
    if len(found) == 2:
        return Found.of({seed: found[0][seed] - found[1][seed] for seed in shared}, cells)
    means = [float(np.mean([one[seed] for seed in shared])) for one in found if shared]
    if not means:
        return Found(None, cells)
    # That of single seeds grows with their noise, so an interval of it would mislead.
    return Found(Mean(max(means) - min(means), math.nan, math.nan, len(shared)))


def _judged(claim: Claim, where: Where, about: Found, runs: Sequence[Row]) -> Tested:
    if about.mean is None:
        why = claim.why_not or why_missing(runs, {**where, **about.missing})
        return Tested(claim, where, None, "open", why)
    return judge(claim, where, about.mean)


def judge(claim: Claim, where: Where, found: Mean) -> Tested:
    """What a number over seeds says of a claim, and what more seeds would say."""
    if claim.why_not:
        return Tested(claim, where, found, "open", claim.why_not)
    if found.seeds == 1:
        return Tested(claim, where, found, "open", "one seed has no interval")
    verdict = decide(claim, found)
    if verdict != "open":
        return Tested(claim, where, found, verdict)
    needed = seeds_to_settle(found, lambda mean: decide(claim, mean) != "open")
    would = f"about {needed} would" if needed else f"{MOST_SEEDS} would not"
    why = f"{found.seeds} seeds {UNSETTLED}; {would}"
    return Tested(claim, where, found, "open", why, needed)
