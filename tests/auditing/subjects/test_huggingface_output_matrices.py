"""The output matrices of layers, and the lengths of what heads write through them."""

import numpy as np
import pytest
import torch

from heedful.auditing.run_audit import AuditPlan
from heedful.auditing.subjects.huggingface.audit_readings import audit_readings
from heedful.auditing.subjects.huggingface.loading import LoadedTransformer
from heedful.auditing.subjects.huggingface.output_matrices import output_maps
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.readouts import readouts
from heedful.readouts.pooling import pool_to_words
from tests.auditing.subjects.test_huggingface import CLASSES, LABELLED, QUICK, TEXTS, a_model
from tests.readouts.tiny import KINDS

NAMES = {
    "Bert": "attention.output.dense",
    "DistilBert": "attention.out_lin",
    "Albert": "attention.dense",
    "ModernBert": "attn.Wo",
    "GPT2": "attn.c_proj",
    "Llama": "self_attn.o_proj",
}


@pytest.mark.parametrize("kind", NAMES)
def test_the_matrix_is_found_wherever_the_architecture_keeps_it(kind, monkeypatch):
    ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    monkeypatch.setitem(KINDS, "GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 4} | ends)
    monkeypatch.setitem(KINDS, "Llama", KINDS["Bert"] | {"num_key_value_heads": 2} | ends)
    model = a_model(kind)
    batch = model.cutter.pad(model.cutter.cut(TEXTS))
    name_of = {module: name for name, module in model.model.named_modules()}
    found = [name_of[output.linear] for output in output_maps(model.model, batch)]
    assert len(found) == 2
    assert all(name.endswith(NAMES[kind]) for name in found)
    assert [squares.shape for squares in model.squares] == [(4, 8, 8)] * 2
    assert not any(module._forward_pre_hooks for module in model.model.modules())


def test_value_norm_weighs_by_the_length_of_what_each_head_adds():
    """Kobayashi et al.'s f(x): by hand, with the layers' own matrices."""
    model = a_model("Bert")
    subject = subject_of(model, readouts.make("value-norm"), CLASSES)
    reading = subject.read(TEXTS)
    batch = model.cutter.pad(reading.inner)
    with torch.no_grad():
        own = model.model
        own.set_attn_implementation("eager")
        told = own(**batch.inputs, output_attentions=True, output_hidden_states=True)
        total = torch.zeros(batch.is_real.shape)
        for number, layer in enumerate(own.bert.encoder.layer):
            values = layer.attention.self.value(told.hidden_states[number])
            matrix = layer.attention.output.dense.weight
            for head in range(4):
                part = slice(8 * head, 8 * head + 8)
                added = values[..., part] @ matrix[:, part].T
                total += told.attentions[number][:, head, 0] * added.norm(dim=-1) / 8
    expected = pool_to_words(total, batch.word_of, 7).numpy()
    np.testing.assert_allclose(reading.weights, expected, atol=1e-6)
    assert not any("was not found" in note for note in subject.notes)


def test_where_the_matrix_is_not_found_values_stand_for_themselves_and_a_note_says_so():
    model = a_model("Bert")
    whole = subject_of(model, readouts.make("value-norm"), CLASSES).read(TEXTS)
    hidden = a_model("Bert")
    for layer in hidden.model.bert.encoder.layer:  # whatever it is given is not what heads took
        layer.attention.output.register_forward_pre_hook(lambda _, given: (2 * given[0], given[1]))
    subject = subject_of(hidden, readouts.make("value-norm"), CLASSES)
    assert hidden.squares == ()
    assert not np.allclose(subject.read(TEXTS).weights, whole.weights, atol=1e-3)
    note = (
        "value-norm takes the lengths of values as they are: the matrix that "
        "BertForSequenceClassification sends them through was not found"
    )
    assert note in subject.notes
    loaded = LoadedTransformer("tiny", hidden, CLASSES)
    found = audit_readings(
        loaded, {"value-norm": subject}, LABELLED, AuditPlan(QUICK, ["leak-free"])
    )
    assert note in found.notes
    assert note in found.audits["value-norm"].about["notes"]
