"""Our numbers beside a paper's, and the points of our own pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from heedful.papers.expected import Picture, Published, Where
from heedful.papers.rows import RUNS, Mean, Tables, by_seed, is_at, values_of, why_missing

Nearness = Literal["replicates", "does not replicate", "cannot be compared"]


@dataclass(frozen=True)
class Compared:
    """A published number and ours."""

    where: Where
    published: Published
    ours: Mean | None  # None: it was not run
    verdict: Nearness
    why: str = ""

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return math.nan if self.ours is None else self.ours.mean - self.published.value


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
    rows = [row for row in tables.get(picture.number.of, ()) if is_at(row, picture.where)]
    points = []
    for where in values_of(rows, names):
        found = by_seed(rows, picture.number, where)
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


def _compared(tables: Tables, one: Published) -> Compared:
    found = by_seed(tables.get(one.number.of, ()), one.number, one.where)
    if not found:
        why = one.why_not or why_missing(tables[RUNS], one.where)
        return Compared(one.where, one, None, "cannot be compared", why)
    ours = Mean.of(list(found.values()))
    if one.why_not:
        return Compared(one.where, one, ours, "cannot be compared", one.why_not)
    is_near = abs(ours.mean - one.value) <= one.tolerance + 1e-9
    return Compared(one.where, one, ours, "replicates" if is_near else "does not replicate")
