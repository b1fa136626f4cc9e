import gc
import weakref

import numpy as np
import pytest

from heedful.auditing.audit import audit
from heedful.auditing.checkpoints import PartsInFolder
from heedful.auditing.measuring import AuditOptions, fewest_for_verdict
from heedful.auditing.progress import AuditWatcher
from heedful.auditing.questions import AuditSettings
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import RunError
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject

QUICK = AuditSettings(search=Adversarial(steps=20, learning_rate=0.1))
POINTS = {"good": 2.0, "bad": -2.0, "fine": 1.0}
DOCUMENTS = Documents(
    Document(f"{first} word{n} {second}", "good" if first != "bad" else "bad")
    for n in range(120)
    for first, second in (("good", "fine"), ("bad", "plain"))
)


class Killed(Exception):
    """Stands for kill -9."""


class Stopping(AuditWatcher):
    """Ends the audit after so many documents."""

    def __init__(self, after):
        self.after, self.done, self.notes = after, 0, []

    def advance(self, documents):
        self.done += documents
        if self.after is not None and self.done >= self.after:
            raise Killed

    def note(self, sentence):
        self.notes.append(sentence)


def run(parts=None, stop_after=None, **options):
    request = AuditOptions(parts=parts, watcher=Stopping(stop_after), **options)
    return audit(a_subject(POINTS, len), DOCUMENTS, QUICK, request=request)


def test_the_same_audit_is_the_same_files_wherever_its_parts_were_kept(tmp_path):
    for name, parts in (("memory", None), ("folder", PartsInFolder(tmp_path / "parts", {"m": 1}))):
        found = run(parts, documents=100)
        found.save(tmp_path / name)
        found.to_html(tmp_path / name / "report.html")
    for file in ("per_example.parquet", "audit.json", "report.html"):
        of_memory, of_folder = (
            (tmp_path / name / file).read_bytes() for name in ("memory", "folder")
        )
        assert of_memory == of_folder, file


def test_a_killed_audit_goes_on_to_the_same_result_without_asking_again(tmp_path):
    whole = run()
    with pytest.raises(Killed):
        run(PartsInFolder(tmp_path, {"model": "m"}), stop_after=128)
    kept = PartsInFolder(tmp_path, {"model": "m"})
    assert kept.get(0) is not None
    assert kept.get(2) is None
    resumed = run(kept)
    assert resumed.answers == whole.answers
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(column, resumed.columns[name])


def test_another_audit_may_not_go_on_with_it(tmp_path):
    PartsInFolder(tmp_path, {"model": "m", "seed": 1}).put(0, {})
    with pytest.raises(RunError, match="started with seed = 1, not 2"):
        PartsInFolder(tmp_path, {"model": "m", "seed": 2})


def test_parts_are_gone_once_the_audit_is_saved(tmp_path):
    parts = PartsInFolder(tmp_path, {})
    run(parts)
    parts.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["request.json"]


def test_a_part_of_another_request_is_never_taken(tmp_path):
    PartsInFolder(tmp_path, {"seed": 0}).put(0, {})
    (tmp_path / "request.json").unlink()  # as if a kill had come between
    other = PartsInFolder(tmp_path, {"seed": 1})
    assert other.get(0) is None
    other.put(0, {})
    assert other.get(0) == {}
    assert PartsInFolder(tmp_path, {"seed": 1}).get(0) == {}


def test_when_time_runs_out_a_fair_sample_that_allows_a_verdict_has_been_audited():
    found = run(seconds=1e-9)
    assert found.documents == 20
    assert found.available == 240
    assert found.texts != tuple(DOCUMENTS.texts[:20])
    assert found.texts == run(documents=20).texts
    assert run(documents=30).documents == 30


def test_a_budget_too_small_for_a_verdict_is_reported_once():
    watcher = Stopping(None)
    request = AuditOptions(seconds=1e-9, watcher=watcher)
    found = audit(a_subject(POINTS, len), DOCUMENTS, QUICK, ["telling"], request=request)
    (sentence,) = watcher.notes
    assert sentence.startswith("1e-09s is too short; a verdict needs at least 20: that takes about")
    assert found.answer("telling").tests[0].score.documents == 20


def test_a_budget_for_too_few_documents_for_a_verdict_is_kept_without_a_word():
    watcher = Stopping(None)
    request = AuditOptions(documents=12, seconds=1e-9, watcher=watcher)
    found = audit(a_subject(POINTS, len), DOCUMENTS, QUICK, ["telling"], request=request)
    assert watcher.notes == []
    assert found.documents == 1


def test_repeated_documents_and_single_words_do_not_count_towards_a_verdict():
    texts = ["good word", "bad", "bad"] * 10 + [f"good word{n}" for n in range(19)] + ["fine word"]
    documents = Documents(map(Document, texts))
    assert fewest_for_verdict(documents, np.arange(len(texts))) == 49
    assert fewest_for_verdict(documents, np.arange(48)) == 0


def test_a_killed_audit_with_a_budget_is_resumed_with_the_documents_it_had(tmp_path):
    with pytest.raises(Killed):
        run(PartsInFolder(tmp_path, {}), stop_after=20, seconds=1e-9)
    before = {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()}
    resumed = run(PartsInFolder(tmp_path, {}), seconds=3600.0)
    assert resumed.documents == 240
    for name, content in before.items():
        assert (tmp_path / "parts" / name).read_bytes() == content


def test_a_sample_keeps_the_order_of_the_documents():
    found = run(documents=30)
    places = [DOCUMENTS.texts.index(text) for text in found.texts]
    assert places == sorted(places)


def test_a_damaged_part_is_measured_again(tmp_path):
    whole = run(PartsInFolder(tmp_path, {}))
    part = tmp_path / "parts" / "000000.safetensors"
    part.write_bytes(part.read_bytes()[:100])
    assert PartsInFolder(tmp_path, {}).get(0) is None
    again = run(PartsInFolder(tmp_path, {}))
    assert again.answers == whole.answers


def test_parts_kept_in_a_folder_are_not_held_in_memory_too(tmp_path):
    written, held = [], []

    class Counted(PartsInFolder):
        def put(self, group, part):
            super().put(group, part)
            written.append([weakref.ref(measured) for measured in part.values()])

        def get(self, group):
            part = super().get(group)
            if part is not None:  # all are measured, and a question is concluded
                gc.collect()
                held.append(sum(any(one() for one in each) for each in written))
            return part

    run(Counted(tmp_path, {}))
    assert len(written) > 3
    assert max(held) <= 1  # the last group's
