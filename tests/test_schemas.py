"""The published schemas are those that files are read by, and saved files fit them."""

import json
from pathlib import Path

import jsonschema
import pytest

from heedful import runs
from tests.auditing.test_results import a_found_audit
from tools import schemas

GOLDEN = sorted((Path(__file__).parent / "golden").rglob(runs.AUDIT))


def test_the_published_schemas_are_made_of_the_types_that_files_are_read_by():
    on_disk = {path.name: path.read_text() for path in schemas.FOLDER.iterdir()}
    assert on_disk == schemas.published(), "python -m tools.schemas writes them again"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_audits_of_earlier_versions_fit(path):
    jsonschema.validate(json.loads(path.read_text()), schema_of(runs.AUDIT))


def test_a_saved_audit_fits_and_a_damaged_one_does_not(tmp_path):
    a_found_audit().save(tmp_path)
    stored = json.loads((tmp_path / runs.AUDIT).read_text())
    jsonschema.validate(stored, schema_of(runs.AUDIT))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**stored, "verdict": "perhaps"}, schema_of(runs.AUDIT))


def schema_of(name):
    return json.loads(schemas.published()[f"{name}.schema.json"])
