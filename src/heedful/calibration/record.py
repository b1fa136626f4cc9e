"""What a calibration found, as a record: calibration.json, and the operating points beside it."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from heedful import storage
from heedful.auditing.operating_points import FILE_NAME, OperatingPoints, Share, read_cut
from heedful.auditing.results import plain
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import Judged, Tested
from heedful.calibration.roc import Separation
from heedful.errors import RunError
from heedful.runs import RunFolder

RECORD = "calibration.json"
NUMBERS = ("dose", "score", "low", "high")  # of a row; null: not a number
SCHEMA = 2


@dataclass(frozen=True)
class Calibration:
    """Every test rated, every model looked at, and the operating points that come of it."""

    points: OperatingPoints
    tests: tuple[Tested, ...]
    models: tuple[Looked, ...]
    known: tuple[Known, ...]  # one row per test and model
    judged: tuple[Judged, ...]  # verdicts by cuts of the other half of the settings
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema": SCHEMA,
            "seconds": self.seconds,
            "points": plain(self.points.to_dict()),
            "tests": [plain(asdict(one)) for one in self.tests],
            "models": [plain(asdict(one)) for one in self.models],
            "known": {  # by columns: there are thousands of rows
                field.name: plain([getattr(one, field.name) for one in self.known])
                for field in fields(Known)
            },
            "judged": [plain(asdict(one)) for one in self.judged],
        }

    def save(self, folder: Path) -> None:
        """Write calibration.json and operating_points.json."""
        place = RunFolder(folder)
        with storage.held(folder):
            place.write_json(RECORD, self.to_dict())
            place.write_json(FILE_NAME, plain(self.points.to_dict()))

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Calibration":
        """The inverse of `to_dict`; what is null there and a number here is not a number."""
        points = OperatingPoints.from_dict(stored["points"])
        return cls(
            points,
            tuple(map(_tested, stored["tests"])),
            tuple(
                Looked(**{**one, "quantities": _numbers(one["quantities"])})
                for one in stored["models"]
            ),
            tuple(
                Known(**{**one, **{name: _number(one[name]) for name in NUMBERS}})
                for one in _rows(stored["known"])
            ),
            tuple(Judged(**one) for one in stored["judged"]),
            float(stored["seconds"]),
        )

    @classmethod
    def load(cls, folder: str | Path) -> "Calibration":
        """The calibration that was saved in a folder."""
        path = Path(folder) / RECORD
        if not path.is_file():
            raise RunError(
                f"no calibration in {folder}: {RECORD} is missing. "
                f"`heedful calibrate -o {folder}` makes it."
            )
        stored = RunFolder(folder).read_json(RECORD)
        if stored.get("schema") != SCHEMA:
            raise RunError(
                f"{path} has schema {stored.get('schema')!r}, and this version reads {SCHEMA}. "
                "Make it again with `heedful calibrate`."
            )
        return cls.from_dict(stored)


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _tested(stored: Mapping[str, Any]) -> Tested:
    found = stored["separation"]
    elsewhere = ("power_elsewhere", "false_alarms_elsewhere")
    return Tested(
        **{
            **stored,
            **{name: stored[name] and _share(stored[name]) for name in elsewhere},
            "separation": found and _separation(found),
            "cuts": {kind: read_cut(cut) for kind, cut in stored["cuts"].items()},
        }
    )


def _separation(stored: Mapping[str, Any]) -> Separation:
    return Separation(
        _number(stored["cut"]),
        _share(stored["power"]),
        _share(stored["false_alarms"]),
        _share(stored["auc"]),
        tuple((float(alarms), float(power)) for alarms, power in stored["roc"]),
    )


def _share(stored: Mapping[str, Any]) -> Share:
    value, low, high = (_number(stored[name]) for name in ("value", "low", "high"))
    return Share(value, low, high, stored["models"])


def _numbers(stored: Mapping[str, Any]) -> dict[str, float | int]:  # counts stay counts
    return {name: _number(value) for name, value in stored.items()}


def _number(value: float | int | None) -> float | int:
    return math.nan if value is None else value
