"""The operating points: where each test cuts, and how often it is right there.

They are measured by `heedful calibrate` on models whose answer is known, and ship with the package
as `operating_points.json`. A test with a point that is not judged is only reported: its note says
why. Shares are of models, with 95% intervals.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from heedful.errors import RunError

SCHEMA = 1
FILE_NAME = "operating_points.json"


@dataclass(frozen=True)
class Share:
    """A share of some models, with its interval."""

    value: float
    low: float
    high: float
    models: int


@dataclass(frozen=True)
class OperatingPoint:
    """One test: its cut, and how it does there on models with a known answer.

    `power` is the share of the models that fail on its question whose score lies below the cut,
    `false_alarms` that of the models that do not fail. A test that was asked of too few has none.
    """

    question: str
    test: str
    cut: float | None  # of the score; None: there is no cut to be had
    is_judged: bool
    power: Share | None
    false_alarms: Share | None
    auc: Share | None  # of telling the two apart by score; models: of both kinds
    note: str = ""  # why it is only reported

    @property
    def right(self) -> float | None:
        """Mean of the shares answered rightly of either kind."""
        if self.power is None or self.false_alarms is None:
            return None
        return (self.power.value + 1 - self.false_alarms.value) / 2


@dataclass(frozen=True)
class OperatingPoints:
    """All points of one calibration, and where they come from."""

    points: tuple[OperatingPoint, ...]
    made: Mapping[str, Any] = field(default_factory=dict)  # version, models, seeds, versions, date
    verdict: Mapping[str, Any] = field(default_factory=dict)  # how it did on held-out settings

    @cached_property
    def _by_test(self) -> dict[str, OperatingPoint]:
        return {point.test: point for point in self.points}

    def of(self, test: str) -> OperatingPoint | None:
        """The point of a test, if it was calibrated."""
        return self._by_test.get(test)

    @cached_property
    def cuts(self) -> dict[str, float]:
        """The cuts of the tests that are judged."""
        return {p.test: p.cut for p in self.points if p.is_judged and p.cut is not None}

    @property
    def version(self) -> str:
        """A name for this calibration."""
        return str(self.made.get("version", "unknown"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as the file holds it."""
        return {
            "schema": SCHEMA,
            "made": dict(self.made),
            "verdict": dict(self.verdict),
            "points": [asdict(point) for point in self.points],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "OperatingPoints":
        """The inverse of `to_dict`."""
        if stored.get("schema") != SCHEMA:
            raise RunError(
                f"operating points of schema {stored.get('schema')!r}, and this version reads "
                f"{SCHEMA}. Make them again with `heedful calibrate`."
            )
        points = tuple(
            OperatingPoint(**{**point, **{name: _share(point[name]) for name in SHARES}})
            for point in stored["points"]
        )
        return cls(points, stored["made"], stored["verdict"])

    @classmethod
    def read(cls, path: Path) -> "OperatingPoints":
        """The points of a file."""
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))


SHARES = ("power", "false_alarms", "auc")


def _share(stored: Mapping[str, Any] | None) -> Share | None:
    return None if stored is None else Share(**stored)


@cache
def shipped() -> OperatingPoints:
    """The points that came with the package."""
    stored = (files("heedful.auditing") / FILE_NAME).read_text(encoding="utf-8")
    return OperatingPoints.from_dict(json.loads(stored))
