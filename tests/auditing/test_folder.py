from pathlib import Path

import pytest

from heedful import runs
from heedful.auditing.folder import AuditFolder
from heedful.errors import RunError


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ([], "new"),
        ([".lock", ".request.json.7.part"], "new"),
        ([runs.REQUEST], "begun"),
        ([runs.REQUEST, "parts/000000.safetensors"], "begun"),
        (["twins/seed-1/config.json"], "begun"),
        ([runs.REQUEST, runs.AUDIT, "parts/000000.safetensors"], "begun"),
        (["1-last-cls/parts/000000.safetensors"], "begun"),
        (["1-last-cls/audit.json", "2-rollout/request.json"], "begun"),
        ([runs.READINGS, "1-last-cls/audit.json", "2-rollout/parts/000000.safetensors"], "begun"),
        ([runs.REQUEST, runs.AUDIT], "done"),
        ([runs.REQUEST, runs.AUDIT, "twins/seed-1/config.json"], "done"),
        ([runs.READINGS, "1-last-cls/audit.json", "1-last-cls/request.json"], "done"),
        (["poem.txt"], "other"),
        (["audit/audit.json", "audit/request.json", "another/parts/000000.safetensors"], "other"),
    ],
)
def test_a_folder_says_how_far_its_audit_has_come(tmp_path: Path, files, state):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folder = AuditFolder(tmp_path)
    assert (folder.is_begun, folder.is_done) == (state == "begun", state == "done")
    if state == "new":
        assert folder.check(resume=False) == ""
        assert "so a new one is started" in folder.check(resume=True)
        return
    with pytest.raises(RunError, match="--resume" if state == "begun" else "already exists"):
        folder.check(resume=False)
    if state == "other":
        with pytest.raises(RunError, match="already exists"):
            folder.check(resume=True)
    else:
        assert folder.check(resume=True) == ""
