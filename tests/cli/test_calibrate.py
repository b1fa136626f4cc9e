"""What `heedful calibrate` prints and leaves; the zoo itself is tested in tests/calibration."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from heedful.auditing.operating_points import OperatingPoints
from heedful.calibration.ground_truth import Looked
from tests.calibration.made_up import made_calibration


def points_in(path):
    return OperatingPoints.from_dict(json.loads(path.read_text()))


@pytest.fixture
def found(monkeypatch):
    made = made_calibration()
    asked = {}

    def calibrate(output, **options):
        asked.update(options, output=output)
        return made

    monkeypatch.setattr("heedful.calibration.calibrate.calibrate", calibrate)
    return made, asked


@pytest.fixture
def no_page(monkeypatch):
    """Drawing it takes seconds, and one test looks at it."""
    monkeypatch.setattr("heedful.report.calibration.write_calibration", lambda *given: None)


def test_every_test_is_rated_and_the_points_are_left_in_the_folder(heedful, found):
    made, asked = found
    done = heedful("calibrate", "--quick", "--seeds", "2", "-o", "zoo")
    assert done.code == 0, done.err
    assert (asked["is_quick"], asked["seeds"]) == (True, 2)
    for test in made.tests:
        assert test.test in done.out
        if test.is_judged:
            cuts = [f"{cut.value:.2f} ({kind})" for kind, cut in test.cuts.items()]
            assert f"judged at {', '.join(cuts)}" in done.out.replace("\n", " ")
    assert made.points.track_record in done.out.replace("\n", " ")
    kept = points_in(Path("zoo/operating_points.json")).cuts
    assert kept == pytest.approx(made.points.cuts, rel=1e-3)
    assert Path("zoo/report.html").read_text().startswith("<!doctype html>")


def test_models_that_were_left_out_are_named_with_the_reason(heedful, found, no_page):
    made, _ = found
    done = heedful("calibrate", "-o", "zoo")
    for model in made.models:
        assert (f"{model.member}: {model.left_out}" in done.out) == bool(model.left_out)


def test_json_is_the_record(heedful, found, no_page):
    made, _ = found
    done = heedful("calibrate", "-o", "zoo", "--json")
    assert json.loads(done.out)["points"]["points"] == made.to_dict()["points"]["points"]


def test_a_model_that_failed_ends_in_code_1(heedful, monkeypatch, found, no_page):
    made, _ = found
    lost = Looked(
        "flat, short-one, seed 1", "flat", "short-one", 2, 1, "fully", False, {},
        left_out="failed: x.",
    )  # fmt: skip
    worse = replace(made, models=(*made.models, lost))

    def calibrate(output, **options):
        return worse

    monkeypatch.setattr("heedful.calibration.calibrate.calibrate", calibrate)
    assert heedful("calibrate", "-o", "zoo").code == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seeds", "0", "-o", "zoo"], "--seeds should be at least 1"),
        (["--device", "abacus", "-o", "zoo"], "no device named 'abacus'"),
        (["--on", "cloud", "-o", "zoo"], "no engine named 'cloud'"),
    ],
)
def test_bad_requests_are_sentences(heedful, arguments, sentence):
    done = heedful("calibrate", *arguments)
    assert done.code == 2
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert not Path("zoo").exists()
