"""The operating points: where each test cuts, and how often it is right there.

They are measured by `heedful calibrate` on models whose answer is known, and ship with the package
as `operating_points.json`. A test with a point that is not judged is only reported: its note says
why. Shares are of models, with 95% intervals. Schema 2 has a cut for each kind of model, where a
tolerable dose is exceeded; schema 1 had one for all, in the gap between models that hold and fail.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from heedful.errors import RunError

SCHEMA = 2
READABLE = (1, 2)
FILE_NAME = "operating_points.json"
# Doses; of the first a user may tolerate more or less.
FALSE_DOCUMENTS, BYPASS, WRITTEN_CHOICE = "false-documents", "bypass", "written-choice"
NOT_CALIBRATED = "not calibrated"
NOT_FOR_THIS_KIND = "not for this kind of model"
READ_ON = "docs/calibration.md"
SCOPE = (
    "The rates are for small models with planted evidence that clearly lie or clearly do not. They "
    f"show how the tests behave there, not on your data ({READ_ON})."
)


@dataclass(frozen=True)
class Share:
    """A share of some models, with its interval."""

    value: float
    low: float
    high: float
    models: int


def read_curve(curve: Sequence[tuple[float, float]], dose: float) -> float:
    """The score at a dose, by straight lines between the points of a curve."""
    doses, scores = zip(*curve, strict=True)
    return float(np.interp(dose, doses, scores))


@dataclass(frozen=True)
class Cut:
    """The score at which a tolerated dose is reached, for one kind of model."""

    value: float
    low: float  # of its interval
    high: float
    models: int
    curve: tuple[tuple[float, float], ...] = ()  # (dose, score) it was read from

    def at(self, dose: float) -> float:
        """The score at another dose."""
        return read_curve(self.curve, dose)


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
    note: str = ""  # why it is only reported, or whose cut it has
    dose: str = ""  # what the cut is a dose of
    tolerated: float | None = None  # the dose that it stands at
    cuts: Mapping[str, Cut] = field(default_factory=dict)  # by kind of model, where it is judged

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

    def sentence(self, cut: float | None) -> str:
        """Its cut or why it is not judged, and how often it is right, in a line."""
        if self.is_judged and cut is not None:
            at = f"cut {cut:.3g}"
            if self.dose and self.note:
                return f"{at}: {self.note}"
            if self.dose and self.tolerated is not None:
                return f"{at}: judged by its dose curve on models with a known answer"
            return f"{at}{' · ' if self.rates else ': '}{self.known}"
        note = NOT_FOR_THIS_KIND if self.is_judged else self.note
        if self.rates and note:
            return f"not judged: {note} · {self._rates()}"
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
        """The cuts of the tests that are judged, taken over all kinds of models."""
        return {p.test: p.cut for p in self.points if p.is_judged and p.cut is not None}

    def cuts_for(self, architecture: str, tolerate: float | None = None) -> dict[str, float]:
        """The cuts that judge one kind of model, at another share of false pictures if one is said.

        Those of schema 1 judge every kind alike.
        """
        found = {}
        for point in self.points:
            if not point.is_judged:
                continue
            if not point.dose and point.cut is not None:
                found[point.test] = point.cut
            elif cut := point.cuts.get(architecture):
                is_asked = tolerate is not None and point.dose == FALSE_DOCUMENTS
                found[point.test] = cut.at(float(tolerate)) if is_asked else cut.value  # type: ignore[arg-type]
        return found

    @property
    def has_doses(self) -> bool:
        """Whether the cuts are tolerable doses, as they are since zoo 2."""
        return any(point.dose for point in self.points)

    def tolerated(self, dose: str) -> float | None:
        """The dose that the cuts of a test stand at."""
        return next((p.tolerated for p in self.points if p.dose == dose), None)

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

    def said_of(self, test: str, cut: float | None) -> str:
        """A test's cut and how often it is right, in a line."""
        point = self.of(test)
        return NOT_CALIBRATED if point is None else point.sentence(cut)

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
        if stored.get("schema") not in READABLE:
            raise RunError(
                f"the operating points have schema {stored.get('schema')!r}; this version reads "
                f"{' and '.join(map(str, READABLE))}. Create them again with `heedful calibrate`."
            )
        points = tuple(
            OperatingPoint(
                **{
                    **point,
                    "cut": None if point["cut"] is None else float(point["cut"]),
                    "cuts": {kind: read_cut(cut) for kind, cut in point.get("cuts", {}).items()},
                    **{name: _share(point[name]) for name in SHARES},
                }
            )
            for point in stored["points"]
        )
        return cls(points, stored["made"], stored["verdict"])


SHARES = ("power", "false_alarms", "auc")


def read_cut(stored: Mapping[str, Any]) -> Cut:
    """A cut as JSON holds it."""
    curve = tuple((float(dose), float(score)) for dose, score in stored["curve"])
    low, high = (math.nan if stored[end] is None else float(stored[end]) for end in ("low", "high"))
    return Cut(float(stored["value"]), low, high, stored["models"], curve)


def _share(stored: Mapping[str, Any] | None) -> Share | None:
    """A share as JSON holds it: 1.0 may stand as 1, and what is not a number as null."""
    if stored is None or stored["value"] is None:
        return None
    low, high = (math.nan if stored[end] is None else float(stored[end]) for end in ("low", "high"))
    return Share(float(stored["value"]), low, high, stored["models"])


def _verdict_sentence(found: Mapping[str, Any]) -> str:
    """How often the verdict let models pass that lie, and refused honest ones."""
    if "all" not in found:
        return _first_verdict_sentence(found)
    rates, said = found["all"], []
    for name, words in RATES.items():
        if (rate := _share(rates.get(name))) is not None:
            is_known = math.isfinite(rate.low) and math.isfinite(rate.high)
            ends = f" ({rate.low:.0%} to {rate.high:.0%})" if is_known else ""
            said.append(f"{words} {rate.value:.0%}{ends} of {rate.models}")
    if not said:
        return ""
    told = "; ".join(said)
    return f"On models with a known answer, of kinds not used to set the cuts: {told}."


RATES = {
    "liars_passed": "liars passed",
    "partial_liars_passed": "partial liars passed",
    "honest_refused": "honest ones refused",
    "honest_passed": "honest ones passed",
}


def _first_verdict_sentence(found: Mapping[str, Any]) -> str:
    """The same of calibrations of schema 1."""
    if found.get("liars_caught") is None or found.get("honest_refused") is None:
        return ""
    return (
        f"On held-out settings with known answers the verdict caught {found['liars_caught']:.0%} "
        f"of {found.get('liars', 'those')} that lie and refused {found['honest_refused']:.0%} of "
        f"{found.get('honest', 'those')} that are honest."
    )


@cache
def shipped() -> OperatingPoints:
    """The points that came with the package."""
    stored = (files("heedful.auditing") / FILE_NAME).read_text(encoding="utf-8")
    return OperatingPoints.from_dict(json.loads(stored))
