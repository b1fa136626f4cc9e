import json
import math
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from heedful.auditing.operating_points import FILE_NAME, Cut, OperatingPoints, Share, shipped
from heedful.errors import RunError
from tests.auditing.points import CUTS_OF_FUNCTIONS, KINDS, POINTS, a_point


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
    with pytest.raises(
        RunError, match="operating points have schema 99; this version reads 1 and 2"
    ):
        OperatingPoints.from_dict({**POINTS.to_dict(), "schema": 99})


def test_only_judged_tests_have_a_cut_to_be_judged_by():
    assert POINTS.cuts == {"look away": 0.55, "true pictures": 0.85, "word choice": 0.5}


@pytest.mark.parametrize("kind", ["classifier", "module"])
def test_attention_over_the_words_own_states_is_judged_by_all_cuts(kind):
    assert POINTS.cuts_for(kind) == POINTS.cuts


@pytest.mark.parametrize("kind", ["transformer", "function"])
def test_other_kinds_of_models_are_judged_by_the_cuts_made_for_them(kind):
    assert POINTS.cuts_for(kind) == CUTS_OF_FUNCTIONS
    assert POINTS.cuts_for("another") == {}


@pytest.mark.parametrize(
    ("tolerate", "cut"), [(0.0, 1.0), (0.15, 0.85), (0.5, 0.5), (1.0, 0.0), (None, 0.85)]
)
def test_tolerating_more_false_pictures_lowers_their_cut_and_no_other(tolerate, cut):
    found = POINTS.cuts_for("module", tolerate)
    assert found.pop("true pictures") == pytest.approx(cut)
    assert found == {"look away": 0.55, "word choice": 0.5}


def test_a_cut_is_read_off_its_curve_by_straight_lines():
    cut = Cut(0.8, 0.7, 0.9, 5, ((0.1, 0.9), (0.3, 0.5), (0.4, 0.5)))
    doses = (0.0, 0.1, 0.2, 0.35, 1.0)
    assert [cut.at(dose) for dose in doses] == pytest.approx([0.9, 0.9, 0.7, 0.5, 0.5])


def test_points_of_schema_1_judge_every_kind_of_model_alike():
    stored = json.loads(json.dumps(OperatingPoints((a_point("permutation", 0.1),)).to_dict()))
    for point in stored["points"]:
        for name in ("dose", "tolerated", "cuts"):
            del point[name]
    points = OperatingPoints.from_dict({**stored, "schema": 1})
    for kind in (*KINDS, ""):
        assert points.cuts_for(kind) == points.cuts_for(kind, 0.5) == {"permutation": 0.1}


def test_a_test_judged_for_other_kinds_of_models_says_so():
    said = POINTS.said_of("look away", POINTS.cuts_for("transformer").get("look away"))
    assert said.startswith("not judged: not for this kind of model")
    said = POINTS.said_of("look away", POINTS.cuts_for("module").get("look away"))
    assert said == "cut 0.55: judged by its dose curve on models with a known answer"


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
    assert points.said_of("t", points.cuts.get("t")) == sentence
    assert points.said_of("another", None) == "not calibrated"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            POINTS.verdict,
            "On models with a known answer, of kinds not used to set the cuts: liars passed "
            "2% (0% to 6%) of 30; honest ones refused 5% (1% to 11%) of 20.",
        ),
        (
            {"liars": 30, "honest": 20, "liars_caught": 0.92, "honest_refused": 0.05},
            "On held-out settings with known answers the verdict caught 92% of 30 that lie and "
            "refused 5% of 20 that are honest.",
        ),
        ({"liars": 0, "liars_caught": None, "honest_refused": 0.0}, ""),
        ({"all": {}}, ""),
        ({}, ""),
    ],
)
def test_the_record_of_the_verdict_says_what_is_known_of_it(found, sentence):
    record = OperatingPoints((), {"version": "x"}, found).track_record
    scope = (
        "The rates are for small models with planted evidence that clearly lie or clearly do not. "
    )
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
            for share in filter(None, (point.power, point.false_alarms)):
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
