"""A device that runs short of memory gets half of the documents; one that breaks loses nothing."""

import numpy as np
import pytest
import torch

import heedful
from heedful import runs
from heedful.auditing.audit import audit
from heedful.auditing.checkpoints import PartsInFolder
from heedful.auditing.measuring import AuditOptions
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects import classifier
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.errors import EnvironmentFailure
from heedful.importance.inside import Inside
from heedful.model.precision import is_broken_device, is_short_of_memory

NOTE = "memory was low, so some texts were read in smaller batches"
FEW = 3  # documents that fit into memory


@pytest.fixture(scope="module")
def trained(planted):
    model = heedful.Classifier(
        encoder="gru:hidden_size=4", embedding_size=4, recipe="standard:epochs=1"
    )
    return model.fit(planted.train.texts, planted.train.labels).trained_


def short_of_memory(documents: int) -> None:
    if documents > FEW:
        raise torch.OutOfMemoryError("Tried to allocate 20.00 GiB")


def test_halves_of_the_documents_are_measured_as_all_at_once(trained, planted, monkeypatch):
    texts = [*planted.train.texts[:7], "short text"]
    calm, pressed = ClassifierSubject(trained), ClassifierSubject(trained)
    reading = calm.read(texts)
    target = 1 - reading.prediction
    expected = [
        calm.importance(reading, "integrated-gradients"),
        calm.importance(reading, "gradient-x-input", target),
        calm.influence(reading),
        calm.without_each(reading),
    ]
    by_parts, usual = Inside.by_parts, (classifier.influence, classifier.logits_without_each)

    def of_few(self, score, passes=1):
        short_of_memory(len(self.batch.token_ids))
        return by_parts(self, score)

    monkeypatch.setattr(Inside, "by_parts", of_few)
    for name, function in zip(("influence", "logits_without_each"), usual, strict=True):
        monkeypatch.setattr(
            classifier,
            name,
            lambda model, batch, *further, f=function: (
                short_of_memory(len(batch.token_ids)) or f(model, batch, *further)
            ),
        )
    again = pressed.read(texts)
    found = [
        pressed.importance(again, "integrated-gradients"),
        pressed.importance(again, "gradient-x-input", target),
        pressed.influence(again),
        pressed.without_each(again),
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one[reading.is_token], other[reading.is_token], atol=1e-6)
    assert pressed.notes == [NOTE]
    assert not calm.notes


def test_one_document_that_does_not_fit_is_an_error(trained, planted, monkeypatch):
    def never(self, score):
        raise torch.OutOfMemoryError("Tried to allocate 20.00 GiB")

    subject = ClassifierSubject(trained)
    reading = subject.read(planted.train.texts[:2])
    monkeypatch.setattr(Inside, "by_parts", never)
    with pytest.raises(torch.OutOfMemoryError):
        subject.importance(reading, "gradient-x-input")


def test_a_device_that_breaks_leaves_what_was_measured_and_a_sentence(
    trained, planted, tmp_path, monkeypatch
):
    documents, settings = planted.train[:150], AuditSettings(rationale_words=2)
    subject, asked = ClassifierSubject(trained), ["decisive"]
    whole = audit(subject, documents, settings, asked)
    usual, read = ClassifierSubject.without_evidence, []

    def breaks(self, reading):
        read.append(len(reading.texts))
        if len(read) > 1:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")
        return usual(self, reading)

    with monkeypatch.context() as patch:
        patch.setattr(ClassifierSubject, "without_evidence", breaks)
        request = AuditOptions(parts=PartsInFolder(tmp_path, {"model": "a"}))
        with pytest.raises(EnvironmentFailure) as failure:
            audit(subject, documents, settings, asked, request=request)
    assert "CUDA error: an illegal memory access was encountered. What was" in str(failure.value)
    assert len(list((tmp_path / runs.PARTS).glob("*.safetensors"))) >= 1
    request = AuditOptions(parts=PartsInFolder(tmp_path, {"model": "a"}))
    assert audit(subject, documents, settings, asked, request=request).to_dict() == whole.to_dict()


@pytest.mark.parametrize(
    ("error", "is_short", "is_broken"),
    [
        (torch.OutOfMemoryError("Tried to allocate"), True, False),
        (RuntimeError("CUDA error: out of memory"), True, False),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True, False),
        (RuntimeError("CUDA error: device-side assert triggered"), False, True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), False, True),
        (RuntimeError("shapes do not match"), False, False),
        (ValueError("CUDA error: told by somebody else"), False, False),
    ],
)
def test_failures_are_told_apart(error, is_short, is_broken):
    assert (is_short_of_memory(error), is_broken_device(error)) == (is_short, is_broken)
