"""Operating points -> the words and numbers that the report prints of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from heedful.auditing.operating_points import OperatingPoint, OperatingPoints, Share
from heedful.auditing.results import Audit
from heedful.report.figures import spoken
from heedful.report.tables import number


@dataclass(frozen=True)
class PointRow:
    """An operating point, ready to print."""

    test: str
    cut: str
    power: str
    false_alarms: str
    auc: str
    judged: str


@dataclass(frozen=True)
class JudgedBy:
    """A calibration that audits were judged by, ready to print."""

    version: str
    origin: str
    track_record: str
    points: tuple[PointRow, ...]


def calibrations(audits: Mapping[str, Audit]) -> list[JudgedBy]:
    """Each calibration that any of the audits was judged by, once."""
    found: list[OperatingPoints] = []
    for audit in audits.values():
        if audit.calibration not in found:
            found.append(audit.calibration)
    return [
        JudgedBy(one.version, one.origin, one.track_record, tuple(map(_point_row, one.points)))
        for one in found
    ]


def _point_row(point: OperatingPoint) -> PointRow:
    return PointRow(
        test=f"{point.question} · {spoken(point.test)}" if point.question else spoken(point.test),
        cut=number(math.nan if point.cut is None else point.cut, 3),
        power=_share(point.power),
        false_alarms=_share(point.false_alarms),
        auc=_share(point.auc, "{:.2f}"),
        judged="judged" if point.is_judged else f"reported: {point.note}".removesuffix(": "),
    )


def _share(share: Share | None, form: str = "{:.0%}") -> str:
    if share is None:
        return "–"
    value, low, high = (form.format(bound) for bound in (share.value, share.low, share.high))
    return f"{value} ({low} to {high}) of {share.models}"
