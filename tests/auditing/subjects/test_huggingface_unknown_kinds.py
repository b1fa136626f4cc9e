"""A model that transformers does not know, and one model loaded in several ways."""

import numpy as np
import pytest
import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

import heedful
from heedful.auditing.explanation import explain_with, subject_of_any
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.base import Decides
from heedful.auditing.subjects.huggingface.loading import of_anything
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.errors import ConfigError
from tests.readouts.tiny import SPECIAL, WORDS, fine_tuned, planted_documents, tiny_tokenizer

# DeBERTa's own code, on import.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

NEED_NO_LAYERS = {
    "leave-one-out", "gradient-x-input", "gradient-norm", "integrated-gradients",
    "random",
}  # fmt: skip


class OwnConfig(PreTrainedConfig):
    model_type = "written-by-hand"


class OwnForSequenceClassification(PreTrainedModel):
    """One layer of attention as people write it: no interface of transformers is used."""

    config_class = OwnConfig
    _supports_sdpa = True

    def __init__(self, config: OwnConfig) -> None:
        super().__init__(config)
        size = 16
        self.lookup = nn.Embedding(len(SPECIAL) + len(WORDS), size)
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.out = nn.Linear(size, 2)

    def get_input_embeddings(self) -> nn.Module:
        return self.lookup

    def forward(self, input_ids, attention_mask, output_attentions=False):
        states = self.lookup(input_ids)
        scores = self.query(states) @ self.key(states).transpose(1, 2) / 4
        scores = scores.masked_fill(attention_mask[:, None] == 0, -torch.inf)
        weights = scores.softmax(dim=-1)
        mixed = torch.tanh(weights @ self.value(states))
        shown = (weights[:, None],) if output_attentions else None
        return SequenceClassifierOutput(logits=self.out(mixed[:, 0]), attentions=shown)


@pytest.fixture(scope="module")
def subject():
    torch.manual_seed(0)
    model = OwnForSequenceClassification(OwnConfig(num_labels=2)).eval()
    return subject_of_any((model, tiny_tokenizer()))


def test_an_unknown_kind_gives_all_that_needs_gradients_and_deletions(subject):
    assert not isinstance(subject, Decides)
    assert set(subject.measures) >= NEED_NO_LAYERS
    assert not {"alti", "value-zeroing", "attention-x-gradient"} & set(subject.measures)
    found = explain_with(subject, "a good film is old", sorted(NEED_NO_LAYERS))
    for measure, scores in found.scores.items():
        assert np.isfinite(scores).all()
        assert np.abs(scores).max() > 0, measure


def test_attention_that_is_a_copy_has_no_gradient_and_is_not_read_by_one(subject):
    loaded = of_anything((subject.model.model, tiny_tokenizer()))
    subjects, notes = subjects_of(loaded, None)
    assert list(subjects) == ["last-cls", "mean-layers", "rollout"]
    assert (
        "attention-x-gradient is left out: the attention that OwnForSequenceClassification shows "
        "is a copy, on which no logit depends"
    ) in notes
    with pytest.raises(ConfigError, match="attention-x-gradient cannot be read: the att"):
        subjects_of(loaded, ["attention-x-gradient"])


def test_its_gradients_are_those_of_its_own_logit(subject):
    text = "a good film is old"
    reading = subject.read([text])
    model, target = subject.model.model, int(reading.prediction[0])
    inputs = tiny_tokenizer()([text], return_tensors="pt")
    embedded = model.lookup(inputs.input_ids).detach().requires_grad_()
    handle = model.lookup.register_forward_hook(lambda *told: embedded)
    logits = model(inputs.input_ids, inputs.attention_mask).logits
    handle.remove()
    (slope,) = torch.autograd.grad(logits[0, target], embedded)
    expected = (slope * embedded).sum(dim=-1)[0, 1:-1].detach().numpy()
    found = subject.importance(reading, "gradient-x-input")[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_its_audit_ends_in_a_verdict_and_says_what_it_has_not(subject):
    model = subject.model
    documents = planted_documents(6)
    found = heedful.audit(
        (model.model, tiny_tokenizer()), documents.texts, AuditSettings(), ["telling"]
    )
    assert found.verdict in ("may", "may-not", "not-safe")
    assert any("readings of its layers are not available" in n for n in found.about["notes"])


WAYS = {
    "as it is": lambda model: model,
    "eager": lambda model: model.set_attn_implementation("eager"),
    "sdpa": lambda model: model.set_attn_implementation("sdpa"),
    "fp16": lambda model: model.half(),
    "bf16": lambda model: model.bfloat16(),
}
OF_ONE_WAY = ("eager", "sdpa")  # DeBERTa attends as it does


@pytest.fixture(scope="module", params=["Bert", "DebertaV2", "GPT2", "Llama"])
def loaded_in_every_way(request, tmp_path_factory):
    folder, kind = tmp_path_factory.mktemp("trained"), request.param
    pair = fine_tuned(kind=kind)
    pair[0].save_pretrained(folder)
    found = {}
    for name, change in WAYS.items():
        if kind == "DebertaV2" and name in OF_ONE_WAY:
            continue
        model = type(pair[0]).from_pretrained(folder).eval()
        change(model)
        found[name] = (model, pair[1])
    return found


def test_however_a_model_is_loaded_the_same_words_come_first(loaded_in_every_way):
    texts = planted_documents(12, seed=9).texts
    readings = {n: subject_of_any(pair).read(texts) for n, pair in loaded_in_every_way.items()}
    exact = readings["as it is"]
    for name, reading in readings.items():
        np.testing.assert_array_equal(reading.prediction, exact.prediction, err_msg=name)
        tolerance = {"fp16": 5e-3, "bf16": 3e-2}.get(name, 1e-5)
        np.testing.assert_allclose(reading.weights, exact.weights, atol=tolerance, err_msg=name)
        top, largest = reading.weights.argmax(axis=1), exact.weights.max(axis=1)
        of_top = np.take_along_axis(exact.weights, top[:, None], axis=1)[:, 0]
        np.testing.assert_array_less(largest - of_top, 2 * tolerance, err_msg=name)


def test_however_a_model_is_loaded_the_audit_says_the_same(loaded_in_every_way):
    documents = planted_documents(6, seed=9)
    is_replaceable = len(loaded_in_every_way) == len(WAYS)
    asked = ["decisive"] if is_replaceable else ["telling"]
    said = {
        name: heedful.audit(pair[0], documents, asked=asked, tokenizer=pair[1], readout="last-cls")
        for name, pair in loaded_in_every_way.items()
    }
    verdicts = {name: (audit.verdict, audit.sentence) for name, audit in said.items()}
    assert len(set(verdicts.values())) == 1, verdicts
