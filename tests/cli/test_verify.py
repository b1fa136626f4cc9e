"""What is changed in a sealed run or audit is noticed, by `heedful verify` and on load."""

import json
import shutil
from pathlib import Path

import pytest

from heedful import runs, seals
from heedful.runs import RunFolder
from tests.auditing.test_results import a_found_audit


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    found = a_found_audit()
    found.save(tmp_path / "audit")
    found.to_html(tmp_path / "audit" / runs.REPORT)
    return tmp_path / "audit"


def changed(file: Path, before: bytes, after: bytes) -> None:
    data = file.read_bytes()
    assert before in data
    file.write_bytes(data.replace(before, after))


def test_an_untouched_run_and_audit_are_as_written(heedful, run, audited):
    answer = heedful("verify", run, audited)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [
        f"{run}: run, 7 files as written",
        f"{audited}: audit, 3 files as written",
    ]


def test_a_verdict_that_was_edited_is_refused_and_named(heedful, audited):
    verdict = json.loads((audited / runs.AUDIT).read_text())["verdict"]
    assert verdict != "may"
    changed(audited / runs.AUDIT, f'"verdict": "{verdict}"'.encode(), b'"verdict": "may"')
    refused = heedful("serve", audited, "--port", "0")
    assert refused.code == 2
    assert "audit.json is not the file that heedful wrote" in refused.err
    answer = heedful("verify", audited)
    assert answer.code == 1
    assert answer.out == f"{audited}: audit, audit.json has changed since it was written\n"


def test_a_seal_that_was_taken_away_is_missed(heedful, audited):
    stored = json.loads((audited / runs.AUDIT).read_text())
    del stored[seals.OWN]
    (audited / runs.AUDIT).write_text(json.dumps({**stored, "verdict": "may"}))
    refused = heedful("serve", audited, "--port", "0")
    assert refused.code == 2
    assert "audit.json has no seal: it was changed." in refused.err
    answer = heedful("verify", audited)
    assert answer.code == 1
    assert "audit without a seal" in answer.out


def test_a_run_of_version_0_1_did_not_seal_its_provenance(heedful, run):
    stored = json.loads((run / runs.PROVENANCE).read_text())
    del stored[seals.OWN]
    (run / runs.PROVENANCE).write_text(json.dumps(stored))
    answer = heedful("verify", run)
    assert answer.code == 0
    assert answer.out == f"{run}: run, 6 files as written (not sealed: {runs.PROVENANCE})\n"


@pytest.mark.parametrize("name", [runs.PER_EXAMPLE, runs.REPORT])
@pytest.mark.parametrize(("harm", "said"), [("changed", "has changed"), ("missing", "is missing")])
def test_any_file_of_an_audit_is_watched(heedful, audited, name, harm, said):
    file = audited / name
    file.write_bytes(file.read_bytes() + b" ") if harm == "changed" else file.unlink()
    answer = heedful("verify", audited)
    assert answer.code == 1
    assert answer.out == f"{audited}: audit, {name} {said} since it was written\n"


def test_rows_of_another_audit_are_refused_on_load(heedful, audited):
    other = a_found_audit(documents=14)
    other.save("other")
    shutil.copy(Path("other", runs.PER_EXAMPLE), audited)
    refused = heedful("serve", audited, "--port", "0")
    assert refused.code == 2
    assert "per_example.parquet is not the file that heedful wrote" in refused.err


def test_provenance_is_sealed_too(heedful, run):
    changed(run / runs.PROVENANCE, b'"seed": 1', b'"seed": 2')
    assert (
        heedful("verify", run).out
        == f"{run}: run, provenance.json has changed since it was written\n"
    )
    refused = heedful("predict", run, "a text")
    assert refused.code == 2
    assert "provenance.json is not the file that heedful wrote" in refused.err


def test_files_that_nobody_sealed_are_named_and_do_no_harm(heedful, audited):
    (audited / "notes.txt").write_text("mine")
    answer = heedful("verify", audited)
    assert answer.code == 0
    assert answer.out == f"{audited}: audit, 3 files as written (not sealed: notes.txt)\n"


def test_a_report_that_is_written_again_is_sealed_again(heedful, audited):
    a_found_audit().to_html(audited / runs.REPORT)
    assert heedful("verify", audited).code == 0


def test_an_audit_that_was_killed_before_it_sealed_its_report_seals_it_when_resumed(
    heedful, run, data
):
    audit = ("audit", run, data, "-o", "out", "--ask", "decisive", "--documents", "40", "-q")
    assert heedful(*audit).code == 0
    whole = Path("out", runs.AUDIT).read_bytes()
    stored = json.loads(whole)
    RunFolder("out").write_sealed(runs.AUDIT, stored, [runs.PER_EXAMPLE, runs.REQUEST])
    assert heedful("verify", "out").out.endswith("(not sealed: report.html)\n")
    assert heedful(*audit, "--resume").code == 0
    assert Path("out", runs.AUDIT).read_bytes() == whole


def test_a_report_does_not_seal_an_audit_that_was_changed(heedful, audited):
    changed(audited / runs.AUDIT, b'"schema": 3', b'"schema": 2')
    a_found_audit().to_html(audited / runs.REPORT)
    answer = heedful("verify", audited)
    assert answer.code == 1
    assert "audit.json has changed" in answer.out


def test_audits_of_earlier_versions_open_and_have_no_seal(heedful, audited):
    stored = json.loads((audited / runs.AUDIT).read_text())
    old = {key: value for key, value in stored.items() if key not in (seals.OWN, seals.FILES)}
    (audited / runs.AUDIT).write_text(json.dumps({**old, "schema": 2}))
    from heedful.auditing.results import Audit

    assert Audit.load(audited).documents == stored["documents"]
    answer = heedful("verify", audited, "--json")
    assert answer.code == 1
    (found,) = json.loads(answer.out)["verified"]
    assert found["problem"].startswith("audit without a seal: an earlier version wrote it")


def test_folders_of_runs_and_audits_are_verified_at_once(heedful, run, audited):
    answer = heedful("verify", run.parent)
    assert answer.code == 0
    assert [line.split(": ")[1][:5] for line in answer.out.splitlines()] == ["audit", "run, "]


def test_what_holds_nothing_is_refused(heedful, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, sentence in (("empty", "contains no finished run and no"), ("no", "no folder at")):
        answer = heedful("verify", path)
        assert answer.code == 2
        assert sentence in answer.err
