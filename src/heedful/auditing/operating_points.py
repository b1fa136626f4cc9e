"""The operating points: where each test cuts, and how often it is right there.

They are measured by `heedful calibrate` on models whose answer is known, and ship with the package
as `operating_points.json`. A test with a point that is not judged is only reported: its note says
why. Shares are of models, with 95% intervals.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from heedful.errors import RunError

SCHEMA = 1
FILE_NAME = "operating_points.json"
NOT_CALIBRATED = "not calibrated"
READ_ON = "docs/calibration.md"
SCOPE = (
    "Rates are of small models on planted evidence that clearly lie or clearly do not: they say "
    f"how the tests behave there, not on your data ({READ_ON})."
)


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

    `power` is the share of the models that fail on its question whose score lies below a cut,
    `false_alarms` that of the models that do not fail: each counted with the cut of the half of the
    settings that the model is not in, where `cut` is that of all. A test of too few has none.
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
    def rates(self) -> str:
        """How often it is right, in words; nothing if that was not measured."""
        return self._rates(" that fail", " that hold")

    @property
    def known(self) -> str:
        """How often it is right, or why nobody can say."""
        if self.rates:
            return f"held out, known answers: {self.rates}"
        return self.note or NOT_CALIBRATED

    @property
    def sentence(self) -> str:
        """Its cut or why it is not judged, and how often it is right, in a line."""
        if self.is_judged and self.cut is not None:
            return f"cut {self.cut:.3g}{' · ' if self.rates else ': '}{self.known}"
        if self.rates and self.note:
            return f"not judged: {self.note} · {self._rates()}"
        return f"not judged{' · ' if self.rates else ': '}{self.known}"

    def _rates(self, failing: str = "", holding: str = "") -> str:
        said = []
        if self.power is not None:
            said.append(f"catches {self.power.value:.0%} of {self.power.models}{failing}")
        if self.false_alarms is not None:
            share, models = self.false_alarms.value, self.false_alarms.models
            said.append(f"false alarms on {share:.0%} of {models}{holding}")
        return ", ".join(said)


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

    @property
    def is_measured(self) -> bool:
        """Whether the cuts come from a calibration; those of the oldest audits do not."""
        return bool(self.made)

    @property
    def origin(self) -> str:
        """Where the cuts come from, as the end of a sentence."""
        if not self.is_measured:
            return "cuts that were not measured"
        models = self.made.get("models")
        on = "models" if models is None else f"{models} models"
        return f"cuts measured on {on} with a known answer (calibration {self.version})"

    def said_of(self, test: str) -> str:
        """A test's cut and how often it is right, in a line."""
        point = self.of(test)
        return NOT_CALIBRATED if point is None else point.sentence

    @property
    def track_record(self) -> str:
        """How often the verdict was right on held-out models, and what such rates are worth."""
        if not self.is_measured:
            return ""
        return " ".join(filter(None, (_verdict_sentence(self.verdict), SCOPE)))

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
            OperatingPoint(
                **{
                    **point,
                    "cut": None if point["cut"] is None else float(point["cut"]),
                    **{name: _share(point[name]) for name in SHARES},
                }
            )
            for point in stored["points"]
        )
        return cls(points, stored["made"], stored["verdict"])


SHARES = ("power", "false_alarms", "auc")


def _share(stored: Mapping[str, Any] | None) -> Share | None:
    """A share as JSON holds it: 1.0 may stand as 1, and what is not a number as null."""
    if stored is None or stored["value"] is None:
        return None
    low, high = (math.nan if stored[end] is None else float(stored[end]) for end in ("low", "high"))
    return Share(float(stored["value"]), low, high, stored["models"])


def _verdict_sentence(found: Mapping[str, Any]) -> str:
    """How often the verdict caught models that lie and refused honest ones; what is known of it."""

    def those(kind: str) -> str:
        models = found.get(kind)
        return "those" if models is None else str(models)

    said = []
    if (caught := found.get("liars_caught")) is not None:
        stopped = found.get("liars_not_passed")
        beside = "" if stopped is None else f" (let {1 - stopped:.0%} pass)"
        said.append(f"caught {caught:.0%} of {those('liars')} that lie{beside}")
    if (refused := found.get("honest_refused")) is not None:
        passed, asked = found.get("honest_passed"), found.get("honest_asked")
        of = "" if asked in (None, found.get("honest")) else f" of the {asked} it can judge whole"
        beside = "" if passed is None else f" (let {passed:.0%}{of} pass)"
        said.append(f"refused {refused:.0%} of {those('honest')} that are honest{beside}")
    if not said:
        return ""
    return f"On held-out settings with known answers the verdict {' and '.join(said)}."


@cache
def shipped() -> OperatingPoints:
    """The points that came with the package."""
    stored = (files("heedful.auditing") / FILE_NAME).read_text(encoding="utf-8")
    return OperatingPoints.from_dict(json.loads(stored))
