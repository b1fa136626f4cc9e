"""A calibration is kept as it was."""

import json
import math
from pathlib import Path

import pytest

from heedful.auditing.operating_points import OperatingPoints
from heedful.calibration.record import RECORD, Calibration
from heedful.errors import RunError
from tests.calibration.made_up import made_calibration


def no_constants(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_what_is_saved_is_loaded(tmp_path: Path):
    made = made_calibration()
    made.save(tmp_path)
    loaded = Calibration.load(tmp_path)
    assert loaded.to_dict() == made.to_dict()
    assert loaded.tests[1] == made.tests[1]  # shares, intervals and curves are what they were
    assert loaded.judged == made.judged
    assert (
        OperatingPoints.from_dict(json.loads((tmp_path / "operating_points.json").read_text()))
        == loaded.points
    )


def test_what_is_not_a_number_is_null_on_disk_and_not_a_number_again(tmp_path: Path):
    made_calibration().save(tmp_path)
    json.loads((tmp_path / RECORD).read_text(encoding="utf-8"), parse_constant=no_constants)
    loaded = Calibration.load(tmp_path)
    assert sum(math.isnan(one.score) for one in loaded.known) == 1
    cuts = {one.test: one.separation.cut for one in loaded.tests if one.separation}
    without_cut = {test for test, cut in cuts.items() if math.isnan(cut)}
    assert without_cut == {"kendall_tau with state-gradient-norm"}
    assert math.isnan(loaded.models[-1].quantities["moved"])
    assert next(one for one in loaded.tests if one.test == "auprc").separation is None


def test_rates_of_no_models_are_not_numbers_again(tmp_path: Path):
    made = made_calibration()
    points = OperatingPoints(made.points.points, {}, {"liars": 0, "liars_caught": math.nan})
    Calibration(points, made.tests, made.models, made.known, (), 0.0).save(tmp_path)
    json.loads((tmp_path / RECORD).read_text(encoding="utf-8"), parse_constant=no_constants)
    loaded = Calibration.load(tmp_path).points.verdict
    assert math.isnan(loaded["liars_caught"])
    assert str(loaded["liars"]) == "0"  # a count stays a count


def test_a_folder_without_a_calibration_is_refused_in_a_sentence(tmp_path: Path):
    with pytest.raises(RunError, match=r"no calibration in .*: calibration.json is missing\. "):
        Calibration.load(tmp_path)


def test_a_calibration_of_another_schema_is_refused_in_a_sentence(tmp_path: Path):
    (tmp_path / RECORD).write_text(json.dumps({"schema": 7}))
    with pytest.raises(RunError, match=r"has schema 7, and this version reads 1\. Make it again"):
        Calibration.load(tmp_path)
