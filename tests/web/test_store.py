"""What is served: found in folders, looked after, and missed when it goes."""

import json
import shutil

import numpy as np
import pytest

from heedful import runs
from heedful.auditing.results import Audit
from heedful.errors import RunError, UnknownName
from heedful.web.store import Gone, Store
from tests.web.conftest import trained_on


def test_runs_and_audits_are_found_below_a_folder(served_folder):
    store = Store.open([served_folder])
    assert set(store.runs) == {"words", "bilstm"}
    assert set(store.audits) == {"words"}
    assert store.run("bilstm").trained.settings.model.encoder.hidden_size == 6
    assert store.audit("words").documents == 60


def test_they_can_be_given_one_by_one_and_twice(served_folder):
    paths = [served_folder / "words", served_folder / "audits", served_folder / "words"]
    store = Store.open([*paths, str(served_folder / ".." / served_folder.name / "words")])
    assert list(store.runs) == ["words"]
    assert list(store.audits) == ["words"]


def test_runs_of_one_name_get_longer_names(served_folder, tmp_path):
    for place in ("one", "two", "two/deeper"):
        shutil.copytree(served_folder / "words", tmp_path / place / "words")
    store = Store.open([tmp_path / "one", tmp_path / "two"])
    assert set(store.runs) == {"words", "two-words", "deeper-words"}


def test_what_belongs_to_a_run_or_an_audit_is_no_run_of_its_own(own_folder):
    shutil.copytree(own_folder / "bilstm", own_folder / "words" / runs.BASE)
    shutil.copytree(own_folder / "bilstm", own_folder / "audits" / "words" / runs.TWINS / "one")
    assert set(Store.open([own_folder]).runs) == {"words", "bilstm"}


def test_an_audit_knows_its_run(served_folder):
    store = Store.open([served_folder])
    audit = store.audit("words")
    assert store.run_of(audit) == "words"
    assert Store.open([served_folder / "audits"]).run_of(audit) is None
    audit.about["encoder"] = "another"
    assert store.run_of(audit) is None


def test_folders_that_hold_nothing_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for name, sentence in {
        "nowhere": "no run folder at ",
        "file": "is a file. Expected a run folder",
        "empty": "does not contain a run or an audit. `heedful train DATA -o RUN` makes a run",
    }.items():
        with pytest.raises(RunError, match=sentence):
            Store.open([tmp_path / name])


def test_a_run_that_is_broken_from_the_start_is_refused_if_it_was_asked_for(own_folder):
    (own_folder / "words" / runs.MODEL).write_bytes(b"x")
    with pytest.raises(RunError, match="is not the file that heedful wrote"):
        Store.open([own_folder / "words"])


def test_one_that_was_only_found_says_so_and_leaves_the_others_alone(own_folder):
    whole = (own_folder / "words" / runs.PROVENANCE).read_bytes()
    (own_folder / "words" / runs.PROVENANCE).unlink()
    store = Store.open([own_folder])
    assert store.run("bilstm").classes
    with pytest.raises(Gone, match=r"words cannot be read: the run in .* is unfinished"):
        store.run("words")
    (own_folder / "words" / runs.PROVENANCE).write_bytes(whole)
    assert store.run("words").classes


def test_unknown_names_are_told_with_the_nearest(served_folder):
    store = Store.open([served_folder])
    with pytest.raises(UnknownName, match=r"no run named 'word' is served\. Did you mean 'words'"):
        store.run("word")
    with pytest.raises(UnknownName, match=r"no audit named 'bilstm' is served\. .*Served: words\."):
        store.audit("bilstm")


def test_a_run_that_goes_is_gone_and_one_put_back_is_served_again(own_folder, words, tmp_path):
    store = Store.open([own_folder])
    before = store.run("words").trained.probabilities(["positiveaaa"])
    shutil.move(own_folder / "words", tmp_path / "away")
    for _ in range(2):
        with pytest.raises(Gone, match=r"words is missing: .* contained config.json when"):
            store.run("words")
    assert store.run("bilstm")
    shutil.move(tmp_path / "away", own_folder / "words")
    np.testing.assert_array_equal(store.run("words").trained.probabilities(["positiveaaa"]), before)


@pytest.mark.parametrize("name", [*runs.CHECKSUMMED, runs.PROVENANCE])
def test_any_file_of_a_run_is_missed(own_folder, name):
    store = Store.open([own_folder / "words"])
    (own_folder / "words" / name).unlink()
    with pytest.raises(Gone, match=f"contained {name} when the server started"):
        store.run("words")


@pytest.mark.parametrize("name", [*runs.CHECKSUMMED, runs.PROVENANCE])
@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\x00 not this"])
def test_a_run_that_breaks_says_so_and_does_so_again(own_folder, name, data):
    store = Store.open([own_folder / "words"])
    (own_folder / "words" / name).write_bytes(data)
    for _ in range(2):
        with pytest.raises(Gone, match=r"words cannot be read any more: .*\.$"):
            store.run("words")


def test_a_run_that_is_trained_anew_answers_anew(own_folder, planted):
    store = Store.open([own_folder])
    first = store.run("words")
    assert store.run("words") is first
    shutil.rmtree(own_folder / "words")
    again = trained_on(planted, seed=7)
    again.save(own_folder / "words")
    text = ["neutralaaa positiveaaa"]
    np.testing.assert_allclose(
        store.run("words").trained.probabilities(text), again.probabilities(text)
    )
    assert np.abs(first.trained.probabilities(text) - again.probabilities(text)).max() > 1e-6


def test_an_audit_that_goes_or_breaks_is_gone(own_folder):
    folder = own_folder / "audits" / "words"
    store = Store.open([own_folder])
    stored = json.loads((folder / runs.AUDIT).read_text())
    (folder / runs.AUDIT).write_text(json.dumps({**stored, "schema": 99}))
    with pytest.raises(Gone, match=r"words cannot be read any more: .* has schema 99"):
        store.audit("words")
    (folder / runs.PER_EXAMPLE).write_bytes(b"PAR1")
    (folder / runs.AUDIT).write_text(json.dumps(stored))
    with pytest.raises(Gone, match=r"per_example\.parquet is not the file that heedful wrote"):
        store.audit("words")
    (folder / runs.PER_EXAMPLE).unlink()
    with pytest.raises(Gone, match=f"contained {runs.PER_EXAMPLE} when"):
        store.audit("words")


def test_an_audit_made_anew_is_read_anew(own_folder):
    store = Store.open([own_folder])
    folder = own_folder / "audits" / "words"
    before = store.audit("words")
    assert store.audit("words") is before
    stored = Audit.load(folder)
    stored.about["name"] = "another name"
    stored.save(folder)
    assert store.audit("words").about["name"] == "another name"
