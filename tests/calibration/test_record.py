"""A calibration is kept as it was."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from heedful.auditing.operating_points import OperatingPoints
from heedful.calibration.record import NUMBERS, OF_MODEL, RECORD, Calibration, rounded
from heedful.errors import RunError
from tests.calibration.made_up import made_calibration


def no_constants(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_what_is_saved_is_loaded(tmp_path: Path):
    made = made_calibration()
    made.save(tmp_path)
    loaded = Calibration.load(tmp_path)
    assert loaded.to_dict() == made.to_dict()
    assert loaded.judged == made.judged
    assert (
        OperatingPoints.from_dict(json.loads((tmp_path / "operating_points.json").read_text()))
        == loaded.points
    )
    for one, same in zip(loaded.known, made.known, strict=True):
        numbers = {name: getattr(one, name) for name in NUMBERS}
        expected = {name: getattr(same, name) for name in NUMBERS}
        assert numbers == pytest.approx(expected, rel=1e-3, nan_ok=True)
        assert replace(one, **expected) == same or math.isnan(same.dose + same.score)


def test_numbers_are_kept_to_four_digits_and_counts_as_they_are():
    assert rounded({"a": [0.123456, 12345, 1.0, True, None, "x"]}) == {
        "a": [0.1235, 12345, 1.0, True, None, "x"]
    }


def test_rows_do_not_repeat_what_their_model_says():
    stored = made_calibration().to_dict()["known"]
    assert not set(OF_MODEL) & set(stored)
    assert len(set(stored["member"]["values"])) == len(stored["member"]["values"]) == 72


def test_what_is_not_a_number_is_null_on_disk_and_not_a_number_again(tmp_path: Path):
    made_calibration().save(tmp_path)
    json.loads((tmp_path / RECORD).read_text(encoding="utf-8"), parse_constant=no_constants)
    loaded = Calibration.load(tmp_path)
    assert sum(math.isnan(one.score) for one in loaded.known) == 1
    cuts = {one.test: one.separation.cut for one in loaded.tests if one.separation}
    without_cut = {test for test, cut in cuts.items() if math.isnan(cut)}
    assert without_cut == {"kendall_tau with state-gradient-norm"}
    (left_out,) = (model for model in loaded.models if model.left_out)
    assert math.isnan(left_out.quantities["moved"])
    assert next(one for one in loaded.tests if one.test == "auprc").separation is None


def test_a_folder_without_a_calibration_is_refused_in_a_sentence(tmp_path: Path):
    with pytest.raises(RunError, match=r"no calibration in .*: calibration.json is missing\. "):
        Calibration.load(tmp_path)


def test_a_calibration_of_another_schema_is_refused_in_a_sentence(tmp_path: Path):
    (tmp_path / RECORD).write_text(json.dumps({"schema": 7}))
    with pytest.raises(RunError, match=r"has schema 7; this version reads 2\. Create it again"):
        Calibration.load(tmp_path)


@pytest.mark.parametrize(("name", "value"), [("tests", 7), ("known", 7), ("models", [{}])])
def test_a_calibration_of_other_types_is_refused_in_a_sentence(tmp_path: Path, name, value):
    made_calibration().save(tmp_path)
    stored = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps({**stored, name: value}))
    with pytest.raises(RunError, match=r"calibration.json is not as heedful wrote it \(.*Make it"):
        Calibration.load(tmp_path)
