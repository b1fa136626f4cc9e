"""Adversarial weights sought inside tiny Hugging Face classifiers."""

import numpy as np
import pytest
import torch

from heedful.auditing.audit import audit
from heedful.auditing.metrics.divergence import max_js_divergence
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.huggingface.attention import parameters_held
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError
from heedful.readouts import readouts
from tests.auditing.subjects.test_huggingface import CLASSES, TEXTS, a_subject, state_of
from tests.readouts.tiny import fine_tuned, planted_documents, tiny_model, tiny_tokenizer

SEARCH = Adversarial(candidates=3, steps=10, learning_rate=0.5, tolerance=0.04)
QUICK = AuditSettings(short_search=SEARCH)


@pytest.fixture(scope="module")
def planted():
    return fine_tuned()


def without_influence():
    """A tiny BERT whose attention takes nothing: all values are zero."""
    model = tiny_model("Bert")
    with torch.no_grad():
        for layer in model.bert.encoder.layer:
            for numbers in layer.attention.self.value.parameters():
                numbers.zero_()
    return model


@pytest.mark.parametrize("kind", ["Bert", "DistilBert"])
@pytest.mark.parametrize("readout", ["last-cls", "mean-layers", "head:layer=1:head=2"])
def test_what_is_found_is_other_weights_of_words_with_the_same_prediction(kind, readout):
    subject = a_subject(kind, readout)
    reading = subject.read(TEXTS)
    found = subject.otherwise(reading, SEARCH, 0)
    assert found.shape == (3, 9, 7)
    np.testing.assert_allclose(found.sum(axis=-1), 1)
    assert (found >= 0).all()
    assert (found[~np.broadcast_to(reading.is_token[:, None], found.shape)] == 0).all()
    farthest = found[:, :3]
    moved = reading.moved(subject.decide(reading, farthest))
    assert (moved <= SEARCH.tolerance + 1e-4).all()
    distance = reading.apart(found)
    assert (distance[:2, :3] > 0.01).any(axis=1).all()
    most = max_js_divergence(reading.weights, reading.is_token)
    assert (distance >= 0).all()
    assert (distance <= most[:, None] + 1e-6).all()
    # Of one word there is no other.
    np.testing.assert_allclose(found[2], np.eye(7)[[0] * 9], rtol=0, atol=1e-6)


def test_the_gradient_is_that_of_the_model_with_the_weights_imposed():
    model = TransformerModel(tiny_model("Bert").double(), tiny_tokenizer())
    subject = subject_of(model, readouts.make("mean-layers"), CLASSES)
    reading = subject.read(TEXTS[:1])
    batch = model.cutter.pad(reading.inner)
    shown = torch.from_numpy(reading.weights)
    noise = torch.randn(1, 7, generator=torch.Generator().manual_seed(0), dtype=torch.double)

    def logit(scores):
        return model.logits_under(batch, subject.readout, shown, scores.softmax(dim=-1))[0, 0]

    scores = noise.requires_grad_()
    (slope,) = torch.autograd.grad(logit(scores), scores)
    assert slope.abs().max() > 1e-3
    with torch.no_grad():
        for place in range(7):
            step = 1e-3 * torch.eye(7, dtype=torch.double)[[place]]
            by_hand = (logit(scores + step) - logit(scores - step)) / 2e-3
            torch.testing.assert_close(slope[0, place], by_hand, atol=2e-3, rtol=2e-2)


def of_exclusive(model, tokenizer, settings=QUICK, documents=None, readout="mean-layers"):
    subject = subject_of(TransformerModel(model, tokenizer), readouts.make(readout), CLASSES)
    texts = planted_documents(12, seed=7) if documents is None else documents
    return audit(subject, texts, settings, ["exclusive"])


def test_attention_without_influence_reaches_the_bound_and_attention_that_decides_does_not(planted):
    decoration = of_exclusive(without_influence(), tiny_tokenizer())
    columns = decoration.columns
    np.testing.assert_allclose(columns["epsilon_max_jsd"], columns["max_jsd"], atol=1e-6)
    (test,) = decoration.answer("exclusive").tests
    assert test.score.score == pytest.approx(0, abs=1e-5)
    planted = of_exclusive(*planted)
    (test,) = planted.answer("exclusive").tests
    assert test.score.interval[0] > 0.05
    share = planted.columns["epsilon_max_jsd"] / planted.columns["max_jsd"]
    assert (share <= 1 + 1e-6).all()
    assert share.mean() < 0.95


def test_where_attention_decides_what_is_kept_still_leaves_the_prediction(planted):
    model, tokenizer = planted
    readout = readouts.make("mean-layers")
    subject = subject_of(TransformerModel(model, tokenizer), readout, CLASSES)
    reading = subject.read(planted_documents(12, seed=7).texts)
    found = subject.otherwise(reading, SEARCH, 0)
    moved = reading.moved(subject.decide(reading, found))
    assert moved[:, 3:].max() > 0.5  # not everything does
    assert (moved[:, :3] <= SEARCH.tolerance + 1e-4).all()
    assert (reading.apart(found)[:, :3].max(axis=1) > 0.1).mean() > 0.8


def test_only_a_sample_is_sought_and_the_test_says_so():
    documents = planted_documents(12, seed=7)
    settings = AuditSettings(short_search=SEARCH, sampled_documents=5)
    found = of_exclusive(tiny_model("Bert"), tiny_tokenizer(), settings, documents)
    assert np.isnan(found.columns["epsilon_max_jsd"]).sum() == 7
    (test,) = found.answer("exclusive").tests
    assert test.note == ("3 candidates, 10 steps; epsilon 0.05; searched in 5 sampled documents")
    assert test.score.documents == 5
    assert found.settings["short_search"]["steps"] == 10


def test_a_search_that_thinks_it_found_something_is_not_believed(planted, monkeypatch):
    subject_kind = type(a_subject())
    far = np.eye(16)

    def lying(self, reading, counterfactual, seed):
        count = reading.weights.shape[1]
        return np.broadcast_to(far[:count, :count], (len(reading.texts), count, count))

    monkeypatch.setattr(subject_kind, "otherwise", lying)
    monkeypatch.setattr(
        subject_kind,
        "decide",
        lambda self, reading, f: 1 - reading.probabilities[:, None] + 0 * f[..., :2],
    )
    found = of_exclusive(*planted)
    assert (found.columns["epsilon_max_jsd"] == 0).all()


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_is_left_as_it_was(fails, monkeypatch):
    model = tiny_model("DistilBert").train()
    next(model.parameters()).requires_grad_(False)
    before = state_of(model)
    numbers = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    subject = subject_of(
        TransformerModel(model, tiny_tokenizer()), readouts.make("last-cls"), CLASSES
    )
    reading = subject.read(TEXTS)
    if fails:
        monkeypatch.setattr(TransformerModel, "is_read", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            subject.otherwise(reading, SEARCH, 0)
    else:
        subject.otherwise(reading, SEARCH, 0)
    assert state_of(model) == before
    assert all(torch.equal(numbers[name], tensor) for name, tensor in model.state_dict().items())


def test_no_parameter_is_in_the_graph_of_a_search():
    model = tiny_model("Bert")
    asked = [numbers.requires_grad for numbers in model.parameters()]
    with parameters_held(model):
        assert not any(numbers.requires_grad for numbers in model.parameters())
    assert [numbers.requires_grad for numbers in model.parameters()] == asked


def test_a_search_that_does_not_fit_in_memory_is_halved(monkeypatch):
    subject = a_subject()
    reading = subject.read(TEXTS)
    forward = subject.model.model.forward

    def scarce(**inputs):
        if len(inputs["input_ids"]) > SEARCH.candidates:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(**inputs)

    monkeypatch.setattr(subject.model.model, "forward", scarce)
    found = subject.otherwise(reading, SEARCH, 0)
    np.testing.assert_allclose(found.sum(axis=-1), 1)
    assert "memory was low, so some texts were read in smaller batches" in subject.notes


def test_a_search_that_tolerates_more_than_epsilon_is_refused():
    with pytest.raises(
        ConfigError, match=r"epsilon = 0\.01, less than its search tolerates: 0\.04"
    ):
        AuditSettings(epsilon=0.01)
