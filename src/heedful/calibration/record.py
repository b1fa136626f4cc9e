"""What a calibration found, as a record: calibration.json, and the operating points beside it.

Numbers are kept to four significant digits, and what the rows of a model share is kept once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from heedful import storage
from heedful.auditing.operating_points import FILE_NAME, OperatingPoints, Share, read_cut
from heedful.auditing.results import plain
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import Judged, Tested
from heedful.calibration.roc import Separation
from heedful.errors import RunError, misfits_named
from heedful.runs import RunFolder

RECORD = "calibration.json"
NUMBERS = ("dose", "score", "low", "high")  # of a row; null: not a number
OF_MODEL = ("kind", "setting", "half", "architecture")  # of a row: as its model has them
DIGITS = 4  # significant ones
SCHEMA = 2


@dataclass(frozen=True)
class Calibration:
    """Every test rated, every model looked at, and the operating points that come of it."""

    points: OperatingPoints
    tests: tuple[Tested, ...]
    models: tuple[Looked, ...]
    known: tuple[Known, ...]  # one row per test and model
    judged: tuple[Judged, ...]  # verdicts by cuts that were fitted without the model's kind
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found: dict[str, Any] = rounded(
            {
                "schema": SCHEMA,
                "seconds": self.seconds,
                "points": plain(self.points.to_dict()),
                "tests": [plain(asdict(one)) for one in self.tests],
                "models": [plain(asdict(one)) for one in self.models],
                "known": _columns(self.known),
                "judged": [plain(asdict(one)) for one in self.judged],
            }
        )
        return found

    def save(self, folder: Path) -> None:
        """Write calibration.json and operating_points.json."""
        place, found = RunFolder(folder), self.to_dict()
        with storage.held(folder):
            place.write_lines(RECORD, [found])
            place.write_json(FILE_NAME, found["points"])

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Calibration":
        """The inverse of `to_dict`; what is null there and a number here is not a number."""
        models = tuple(
            Looked(**{**one, "quantities": _numbers(one["quantities"])}) for one in stored["models"]
        )
        return cls(
            OperatingPoints.from_dict(stored["points"]),
            tuple(map(_tested, stored["tests"])),
            models,
            tuple(_rows(stored["known"], models)),
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
                f"Create it with `heedful calibrate -o {folder}`."
            )
        stored = RunFolder(folder).read_json(RECORD)
        if stored.get("schema") != SCHEMA:
            raise RunError(
                f"{path} has schema {stored.get('schema')!r}; this version reads {SCHEMA}. "
                "Create it again with `heedful calibrate`."
            )

        def refusal(reason: str) -> RunError:
            return RunError(
                f"{path} is not as heedful wrote it ({reason}). Make it again with "
                "`heedful calibrate`."
            )

        with misfits_named(refusal):
            return cls.from_dict(stored)


def rounded(value: Any) -> Any:
    """Plain data with its numbers cut to the digits that are kept."""
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _columns(known: Sequence[Known]) -> dict[str, Any]:
    """Rows by columns: numbers as they are, all else as places in a list of different values."""
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(Known) if field.name not in OF_MODEL):
        column = [getattr(one, name) for one in known]
        if name in NUMBERS:
            found[name] = plain(column)
        else:
            place = {value: number for number, value in enumerate(dict.fromkeys(column))}
            found[name] = {"values": list(place), "rows": [place[value] for value in column]}
    return found


def _rows(stored: Mapping[str, Any], models: Sequence[Looked]) -> Iterator[Known]:
    """The inverse of `_columns`."""
    model = {one.member: one for one in models}
    columns = [
        map(_number, column)
        if name in NUMBERS
        else [column["values"][place] for place in column["rows"]]
        for name, column in stored.items()
    ]
    for values in zip(*columns, strict=True):
        row = dict(zip(stored, values, strict=True))
        yield Known(**row, **{name: getattr(model[row["member"]], name) for name in OF_MODEL})


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
    )


def _share(stored: Mapping[str, Any]) -> Share:
    value, low, high = (_number(stored[name]) for name in ("value", "low", "high"))
    return Share(value, low, high, stored["models"])


def _numbers(stored: Mapping[str, Any]) -> dict[str, float | int]:  # counts stay counts
    return {name: _number(value) for name, value in stored.items()}


def _number(value: float | int | None) -> float | int:
    return math.nan if value is None else value
