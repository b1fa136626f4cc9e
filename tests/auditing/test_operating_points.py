import json
import math
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from heedful.auditing.operating_points import FILE_NAME, OperatingPoints, Share, shipped
from heedful.errors import RunError
from tests.auditing.points import POINTS, a_point


def test_points_come_back_whole_from_a_file():
    assert OperatingPoints.from_dict(json.loads(json.dumps(POINTS.to_dict()))) == POINTS


def test_whole_numbers_in_a_file_are_read_as_shares():
    stored = POINTS.to_dict()
    stored["points"][0] |= {"cut": 1, "power": {"value": 1, "low": 0, "high": 1, "models": 3}}
    (point, *_) = OperatingPoints.from_dict(stored).points
    assert (point.cut, point.power) == (1.0, Share(1.0, 0.0, 1.0, 3))


def test_a_share_of_nothing_is_no_share():
    stored = POINTS.to_dict()
    stored["points"][0]["power"] = {"value": None, "low": None, "high": None, "models": 0}
    (point, *_) = OperatingPoints.from_dict(stored).points
    assert point.power is None
    assert point.rates == "false alarms on 3% of 36 that hold"


def test_points_of_another_schema_are_refused_in_a_sentence():
    with pytest.raises(RunError, match="operating points of schema 99, and this version reads 1"):
        OperatingPoints.from_dict({**POINTS.to_dict(), "schema": 99})


def test_only_judged_tests_have_a_cut_to_be_judged_by():
    assert POINTS.cuts == {"permutation": 0.1, "comprehensiveness": 0.5, "auprc": 0.45}


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        (
            a_point("t", 0.1),
            "cut 0.1 · held out, known answers: catches 94% of 41 that fail, "
            "false alarms on 3% of 36 that hold",
        ),
        (
            a_point("t", 0.2, is_judged=False, power=0.3, note="too weak"),
            "not judged: too weak · catches 30% of 41, false alarms on 3% of 36",
        ),
        (
            a_point("t", None, is_judged=False, power=None, note="it defines the truth"),
            "not judged: it defines the truth",
        ),
        (a_point("t", 0.5, power=None), "cut 0.5: not calibrated"),
    ],
)
def test_a_test_says_its_cut_and_how_often_it_is_right(point, sentence):
    points = OperatingPoints((point,))
    assert points.said_of("t") == sentence
    assert points.said_of("another") == "not calibrated"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            POINTS.verdict,
            "On held-out settings with known answers the verdict caught 92% of 30 that lie (let 2% "
            "pass) and refused 5% of 20 that are honest (let 60% pass).",
        ),
        (
            {"liars_caught": 0.9},
            "On held-out settings with known answers the verdict caught 90% of those that lie.",
        ),
        (
            {"liars": 0, "liars_caught": None, "honest_refused": 0.0},
            "On held-out settings with known answers the verdict refused 0% of those that are "
            "honest.",
        ),
        ({}, ""),
    ],
)
def test_the_record_of_the_verdict_says_what_is_known_of_it(found, sentence):
    record = OperatingPoints((), {"version": "x"}, found).track_record
    scope = "Rates are of small models on planted evidence that clearly lie or clearly do not: "
    assert record.startswith(f"{sentence} {scope}".lstrip())
    assert "docs/calibration.md" in record


@pytest.mark.parametrize(
    ("made", "origin"),
    [
        ({}, "cuts that were not measured"),
        ({"version": "7"}, "cuts measured on models with a known answer (calibration 7)"),
        (
            {"version": "7", "models": 80},
            "cuts measured on 80 models with a known answer (calibration 7)",
        ),
    ],
)
def test_cuts_say_where_they_come_from(made, origin):
    assert OperatingPoints((), made).origin == origin


def test_what_ships_can_judge():
    points = shipped()
    assert points.is_measured
    assert points.cuts
    assert len({point.test for point in points.points}) == len(points.points)
    for point in points.points:
        assert point.is_judged or point.note
        if point.is_judged:
            assert math.isfinite(point.cut)
            for share in (point.power, point.false_alarms):
                assert 0 <= share.low <= share.value <= share.high <= 1
                assert share.models > 0
    assert points.track_record


def test_what_ships_is_in_the_package():
    root = Path(__file__).parents[2]
    stated = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = Path(str(files("heedful")))
    shipped_files = {
        path for pattern in stated["package-data"]["heedful"] for path in package.glob(pattern)
    }
    assert package / "auditing" / FILE_NAME in shipped_files
