"""Words hidden from the attention of a Transformer."""

import numpy as np
import pytest
from tokenizers import processors

from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.readouts import readouts
from tests.readouts.tiny import KINDS, fine_tuned, planted_documents, tiny_model, tiny_tokenizer

# DeBERTa's own code, on import.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

TEXTS = ["Good old film, unhappily bad.", "a bad film"]


def a_subject(kind, **changes):
    model = TransformerModel(tiny_model(kind, **changes), tiny_tokenizer())
    return subject_of(model, readouts.make("mean-layers"), ("bad", "good"))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_hidden_changes_nothing_and_a_hidden_word_has_no_say(kind):
    subject = a_subject(kind)
    reading = subject.read(TEXTS)
    other = subject.read([TEXTS[0].replace("unhappily", "unnewly"), TEXTS[1]])
    rows = np.array([0, 1])
    masking = subject.masking
    assert masking is not None
    whole = masking.predict_kept(reading, rows, reading.is_token)
    np.testing.assert_allclose(whole, reading.probabilities, atol=1e-5)
    is_kept = reading.is_token.copy()
    is_kept[0, 4] = False  # of three pieces
    hidden = masking.predict_kept(reading, rows, is_kept)
    assert np.abs(hidden[0] - whole[0]).max() > 1e-6
    np.testing.assert_allclose(hidden[1], whole[1], atol=1e-6)
    if [len(one) for one in reading.inner] == [len(one) for one in other.inner]:
        without = masking.predict_kept(other, rows, is_kept)
        np.testing.assert_allclose(hidden, without, atol=1e-5)


def test_positions_stay_where_they_are_so_hiding_is_not_deleting():
    subject = a_subject("Bert")
    reading = subject.read(TEXTS[:1])
    is_kept = reading.is_token.copy()
    is_kept[0, 0] = False
    row = np.array([0])
    hidden = subject.masking.predict_kept(reading, row, is_kept)
    deleted = subject.predict_kept(reading, row, is_kept)
    assert np.abs(hidden - deleted).max() > 1e-6


def test_a_classifier_that_reads_the_state_of_a_word_cannot_hide_it():
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", special_tokens=[("[SEP]", 3)]
    )
    model = TransformerModel(tiny_model("Bert"), tokenizer)  # which reads the first position
    assert not model.hides_words
    assert subject_of(model, readouts.make("mean-layers"), ("bad", "good")).masking is None


def test_a_mean_over_the_states_of_words_leaves_hidden_ones_out():
    assert a_subject("ModernBert", classifier_pooling="mean").masking is not None


def test_an_audit_of_a_transformer_judges_pictures_with_words_masked():
    model, tokenizer = fine_tuned()
    subject = subject_of(
        TransformerModel(model, tokenizer), readouts.make("mean-layers"), ("bad", "good")
    )
    settings = AuditSettings(sampled_documents=10, replaced_documents=25, folds=2)
    found = audit(subject, planted_documents(30, seed=5), settings, ["telling"])
    tests = {test.name: test for test in found.answer("telling").tests}
    masked = tests["true pictures, words masked"]
    assert masked.note == "words hidden from attention"
    assert masked.judgement != "reported"
    assert found.cuts["true pictures, words masked"] == pytest.approx(0.85, abs=0.03)
    assert 10 <= masked.score.documents <= 25  # others are silent
    assert (~np.isnan(found.columns["is_true_masked"])).sum() == masked.score.documents
    row = found.evidence["ceiling"][0]
    assert f"best ranking: {row['measure']} on {row['share']:.0%} of the documents" in (
        tests["true pictures"].note
    )
