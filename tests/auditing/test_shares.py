"""An audit measured in shares is the audit measured in one piece."""

from pathlib import Path

import pytest

import heedful
from heedful import runs
from heedful.auditing import measuring
from heedful.auditing.audit import audit, measure_share
from heedful.auditing.checkpoints import PartsInFolder
from heedful.auditing.measuring import AuditOptions
from heedful.auditing.progress import AuditWatcher
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.errors import RunError

SETTINGS = AuditSettings(rationale_words=2)
ASKED = ["decisive", "telling"]


@pytest.fixture(scope="module")
def subject(planted) -> ClassifierSubject:
    classifier = heedful.Classifier(
        encoder="embedding", embedding_size=4, recipe="standard:epochs=1"
    )
    classifier.fit(planted.train.texts, planted.train.labels)
    return ClassifierSubject(classifier.trained_)


class Counting(AuditWatcher):
    """Counts the documents."""

    measured = 0

    def advance(self, documents: int) -> None:
        self.measured += documents


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / runs.PARTS).glob("*.safetensors")}


def test_shares_are_measured_apart_and_nothing_is_left_to_measure(
    subject, planted, monkeypatch, tmp_path: Path
):
    documents = planted.train[:400]
    whole = audit(subject, documents, SETTINGS, ASKED)
    seen: list[set[str]] = []
    counting = Counting()
    for share in range(3):
        parts = PartsInFolder(tmp_path, {"model": "a"})  # as another process would
        request = AuditOptions(parts=parts, watcher=counting)
        measure_share(subject, documents, SETTINGS, ASKED, request, share, 3)
        seen.append(files(tmp_path) - set().union(*seen))
    assert all(seen)
    assert counting.measured == 400

    def never(*arguments: object) -> None:
        raise AssertionError("it was measured again")

    monkeypatch.setattr(measuring, "_measure_group", never)
    request = AuditOptions(parts=PartsInFolder(tmp_path, {"model": "a"}))
    joined = audit(subject, documents, SETTINGS, ASKED, request=request)
    assert joined.to_dict() == whole.to_dict()
    frame = whole.to_frame()
    assert joined.to_frame()[list(frame)].equals(frame)


def test_a_process_that_finds_the_folder_but_no_request_yet_begins_it(tmp_path: Path):
    (tmp_path / runs.PARTS).mkdir()
    parts = PartsInFolder(tmp_path, {"model": "a"})
    parts.put(0, {})
    with pytest.raises(RunError, match="started with model = a, not b"):
        PartsInFolder(tmp_path, {"model": "b"})
