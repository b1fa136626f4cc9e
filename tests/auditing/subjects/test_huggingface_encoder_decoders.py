"""Encoder-decoders that classify: BART's and T5's kind, small and random."""

import numpy as np
import pytest
import torch
import transformers

import heedful
from heedful.auditing.explanation import explain_with, subject_of_any
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.base import Decides
from heedful.auditing.subjects.huggingface.loading import load_transformer, of_anything
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.errors import ConfigError
from heedful.model.sequence_classifier import SequenceClassifier
from tests.readouts.tiny import SPECIAL, WORDS, planted_documents, tiny_tokenizer

SIZES = {
    "vocab_size": len(SPECIAL) + len(WORDS), "d_model": 32, "pad_token_id": 0, "eos_token_id": 3,
    "id2label": {0: "bad", 1: "good"},
}  # fmt: skip
KINDS = {
    "Bart": SIZES | {
        "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 37, "decoder_ffn_dim": 37,
        "bos_token_id": 2, "decoder_start_token_id": 3, "max_position_embeddings": 40,
    },
    "T5": SIZES | {
        "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0,
    },
}  # fmt: skip
MEASURES = {
    "leave-one-out", "gradient-x-input", "gradient-norm", "integrated-gradients",
    "attention-x-gradient",
}  # fmt: skip
TEXTS = ["a good film is old", "bad"]


def pair_of(kind):
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**KINDS[kind])
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for name, numbers in model.named_parameters():
            if numbers.ndim > 1 and "embed" not in name and "shared" not in name:
                numbers.mul_(3.0)
    return model, tiny_tokenizer(eos_token="[SEP]")


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    return pair_of(request.param)


@pytest.fixture(scope="module")
def subject(pair):
    return subject_of_any(pair)


def test_it_gives_all_that_needs_gradients_and_deletions(subject):
    assert not isinstance(subject, Decides)
    assert set(subject.measures) >= MEASURES
    found = explain_with(subject, TEXTS[0], sorted(MEASURES))
    for measure, scores in found.scores.items():
        assert np.isfinite(scores).all()
        assert np.abs(scores).max() > 0, measure


def test_the_gradient_of_a_word_is_that_of_its_row_of_the_table(subject, pair):
    """By a second route: the row serves the encoder and the decoder, and each word comes once."""
    model, tokenizer = pair
    reading = subject.read(TEXTS[:1])
    ids = tokenizer(TEXTS[:1], return_tensors="pt").input_ids
    table = model.get_input_embeddings().weight
    logit = model(input_ids=ids).logits[0, int(reading.prediction[0])]
    (slope,) = torch.autograd.grad(logit, table)
    words = ids[0, 1:-1]
    expected = (slope[words] * table[words]).sum(dim=-1).detach().numpy()
    found = subject.importance(reading, "gradient-x-input")[0]
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-4)


def test_its_attention_is_what_the_end_of_the_decoder_attends_to(subject, pair):
    model, tokenizer = pair
    model.set_attn_implementation("eager")
    inputs = tokenizer(TEXTS[:1], return_tensors="pt").input_ids
    crossing = model(input_ids=inputs, output_attentions=True).cross_attentions
    row = crossing[-1][0, :, -1, 1:-1].mean(dim=0).detach().numpy()
    found = subject.read(TEXTS[:1]).weights[0]
    np.testing.assert_allclose(found, row / row.sum(), atol=1e-5)
    assert any("cross-attention" in note for note in subject.notes)


def test_padding_changes_nothing(subject):
    together, alone = subject.read(TEXTS), subject.read(TEXTS[1:])
    np.testing.assert_allclose(together.probabilities[1:], alone.probabilities, atol=1e-5)
    for measure in MEASURES:
        found = subject.importance(together, measure)
        assert (found[~together.is_token] == 0).all()
        expected = subject.importance(alone, measure)[0]
        np.testing.assert_allclose(found[1, : len(expected)], expected, atol=1e-5)


def test_readings_that_it_does_not_allow_are_left_out_with_a_reason(pair):
    loaded = of_anything(pair)
    subjects, notes = subjects_of(loaded, None)
    assert list(subjects) == ["last-cls", "mean-layers", "attention-x-gradient"]
    kind = type(pair[0]).__name__
    assert notes == [
        f"rollout is left out: the decoder of {kind} attends to the encoder's states, not to its "
        "own layers",
        "value-norm is left out: the model does not show the values that it attends to",
    ]
    with pytest.raises(ConfigError, match="rollout cannot be read: the decoder of"):
        subjects_of(loaded, ["rollout"])


def test_its_audit_ends_in_a_verdict_and_says_why_other_weights_were_not_tried(pair):
    texts = planted_documents(6).texts
    found = heedful.audit(pair, texts, AuditSettings(), ["telling", "decisive"])
    assert found.verdict in ("may", "may-not", "not-safe")
    assert "attends in its encoder, in its decoder" in str(found.to_dict())


def test_it_is_loaded_from_a_folder_and_predicts_as_transformers_does(pair, tmp_path):
    for one in pair:
        one.save_pretrained(tmp_path)
    loaded = load_transformer(str(tmp_path))
    inputs = pair[1](TEXTS[:1], return_tensors="pt").input_ids
    expected = pair[0](input_ids=inputs).logits.softmax(dim=-1).detach().numpy()
    np.testing.assert_allclose(loaded.model.probabilities(TEXTS[:1]), expected, atol=1e-5)


def test_a_tokenizer_that_ends_no_text_is_refused(pair):
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = None
    with pytest.raises(ConfigError, match=r"by the token that ends a text \(number 3\)"):
        of_anything((pair[0], tokenizer))


def test_the_token_that_ends_texts_is_a_blank_where_a_text_holds_it(subject, pair):
    """transformers refuses texts with different numbers of it in one batch."""
    odd, plain = "a good[SEP] film", "a good film"
    predicted = subject.predict_texts([odd, plain, "bad"])
    np.testing.assert_allclose(predicted[0], predicted[1], atol=1e-6)
    reading = subject.read([odd, plain])
    np.testing.assert_allclose(reading.weights[0], reading.weights[1], atol=1e-6)
    assert reading.offsets[0].tolist() == [[0, 1], [2, 6], [12, 16]]
    found = SequenceClassifier.of_pair(*pair).probabilities([odd, plain, "bad"])
    np.testing.assert_allclose(found, predicted, atol=1e-5)
