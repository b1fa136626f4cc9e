"""The GitHub Action: its script, run as GitHub runs it, and what its description promises."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ACTION = Path(__file__).parents[2] / ".github/actions/audit"


def test_every_variable_of_the_script_is_given_by_the_action():
    described = yaml.safe_load((ACTION / "action.yml").read_text())
    (audit,) = (step for step in described["runs"]["steps"] if step.get("id") == "audit")
    script = (ACTION / "audit.sh").read_text()
    for name, value in audit["env"].items():
        assert f"${{{name}" in script
        (wanted,) = [one for one in described["inputs"] if f"inputs.{one} " in f"{value} "]
        assert "description" in described["inputs"][wanted]
    assert audit["run"] == 'bash "$GITHUB_ACTION_PATH/audit.sh"'
    assert any("upload-artifact" in step.get("uses", "") for step in described["runs"]["steps"])


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Calls the script with `heedful` on the PATH and GitHub's files at hand."""
    command = tmp_path / "bin/heedful"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m heedful "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))

    def call(**settings: object) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {f"HEEDFUL_{name}": str(one) for name, one in settings.items()}
        program = ["bash", str(ACTION / "audit.sh")]
        return subprocess.run(program, env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.mark.workers
def test_the_script_fails_on_a_bad_verdict_and_keeps_the_report(script, run, data):
    arguments = "--documents 12 --ask telling --include-trained"  # too few for a yes
    done = script(MODEL=run, DATA_FILE=data, FAIL_ON="not-safe", ARGUMENTS=arguments)
    assert done.returncode == 1, done.stderr
    assert Path("audited/report.html").is_file()
    summary = Path("summary.md").read_text()
    assert summary.startswith("### The attention of this model ")
    assert "A heat map claims" in summary
    assert "report=audited/report.html\nfailed=1\n" in Path("output").read_text()
    settings = {"OUTPUT": "again", "FAIL_ON": "never", "ARGUMENTS": arguments}
    assert script(MODEL=run, DATA_FILE=data, **settings).returncode == 0


@pytest.mark.workers
def test_the_script_says_what_is_missing(script):
    assert "the model to audit is missing" in script().stderr
    wrong = script(MODEL="nowhere", DATA_FILE="nothing.csv")
    assert wrong.returncode == 2
    assert not Path("summary.md").exists()
