import json
import shutil
from pathlib import Path

import pytest

from heedful import runs
from heedful.errors import RunError
from heedful.jobs import folder as job_folder
from heedful.sweeps.results import _column, _numbers, _tables
from heedful.sweeps.steps import AnalysisStep

SAVED = Path(__file__).parents[1] / "golden" / "version-0.1" / "words-audit"


@pytest.fixture
def cell(tmp_path) -> Path:
    """A cell whose audit version 0.1 saved."""
    (tmp_path / "audit-a").mkdir()
    shutil.copy(SAVED / runs.AUDIT, tmp_path / "audit-a")
    return tmp_path


def change(path: Path, **changes: object) -> None:
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({**stored, **changes}))


def test_a_row_has_the_numbers_of_an_old_audit_and_null_for_what_is_none(cell):
    stored = json.loads((cell / "audit-a" / runs.AUDIT).read_text())
    row = _numbers(cell, "audit-a")
    assert row["verdict"] == stored["verdict"]
    assert row["audit.documents"] == stored["documents"]
    for answer in stored["answers"]:
        assert row[f"audit.{answer['question']}"] == answer["judgement"]
        for test in answer["tests"]:
            name = f"audit.{answer['question']}.{test['name'].replace(' ', '_')}"
            low, high = test["score"]["interval"]
            assert row[f"{name}.score"] == test["score"]["score"]
            assert (row[f"{name}.low"], row[f"{name}.high"]) == (low, high)
    assert "not asked" in row.values()


def test_a_damaged_audit_is_refused_with_its_file_and_field(cell):
    change(cell / "audit-a" / runs.AUDIT, answers=[{"question": "telling"}])
    says = r"audit-a/audit.json is not as heedful wrote it: answers\[0\].asks is missing"
    with pytest.raises(RunError, match=says):
        _numbers(cell, "audit-a")


def test_damaged_times_are_refused_with_their_file_and_field(cell):
    done = cell / "audit-a" / job_folder.DONE
    work = {"work": "f", "arguments": {}}
    done.write_text(json.dumps({"fingerprint": work, "seconds": "long"}))
    with pytest.raises(RunError, match=r"done.json is not as heedful wrote it: seconds should be"):
        _numbers(cell, "audit-a")


def test_a_damaged_analysis_is_refused_with_its_file_and_field(cell):
    step = AnalysisStep("iterations")
    (cell / step.folder).mkdir()
    (cell / step.folder / runs.ANALYSIS).write_text(json.dumps({"schema": 1, "analysis": "x"}))
    with pytest.raises(RunError, match=r"analysis.json is not as heedful wrote it: asks is miss"):
        list(_tables(cell, [step], None))


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([1, None, 3], [1, None, 3]),
        ([1, 0.5], [1.0, 0.5]),
        ([10**30, 1], [str(10**30), "1"]),  # as cell.json of another may hold it
        ([0.5, 10**400], ["0.5", str(10**400)]),
        ([[1], None], ["[1]", None]),
    ],
)
def test_a_column_holds_any_values_that_a_file_may_hold(values, stored):
    assert _column(values).to_pylist() == stored
