"""What words give to a logit, all that is not linear held."""

import numpy as np
import pytest
import torch

from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.errors import ConfigError
from heedful.importance import importances
from heedful.readouts import readouts
from tests.importance.models import a_batch, a_model, predicted
from tests.readouts.tiny import (
    DECODERS,
    KINDS,
    fine_tuned,
    planted_documents,
    tiny_model,
    tiny_tokenizer,
)

# DeBERTa's own code, on import.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

TEXTS = ["Good old film, unhappily bad.", "a bad film", "new"]
NAME = "decomposition"


def a_subject(kind):
    model = TransformerModel(tiny_model(kind), tiny_tokenizer())
    return subject_of(model, readouts.make("last-cls"), ("bad", "good"))


@pytest.mark.parametrize("kind", [*KINDS, *DECODERS])
def test_it_is_measured_in_encoders_and_decoders_of_every_usual_kind(kind):
    subject = a_subject(kind)
    assert NAME in subject.measures
    reading = subject.read(TEXTS)
    together = subject.importance(reading, NAME)
    assert np.isfinite(together).all()
    assert (together[~reading.is_token] == 0).all()
    assert np.abs(together[0]).min() > 0
    for row, text in enumerate(TEXTS):  # padding changes nothing
        alone = subject.importance(subject.read([text]), NAME)[0]
        np.testing.assert_allclose(alone, together[row, : len(alone)], atol=1e-4)


def test_a_model_that_cannot_be_decomposed_says_so_and_gives_no_number():
    bent = tiny_model("Bert")
    bent.bert.pooler.activation = torch.nn.Softsign()  # nobody holds it
    model = TransformerModel(bent, tiny_tokenizer())
    subject = subject_of(model, readouts.make("last-cls"), ("bad", "good"))
    assert NAME not in subject.measures
    (note,) = [one for one in subject.notes if NAME in one]
    assert note.startswith("decomposition is not available: with attention, normalisation and")
    assert "BertForSequenceClassification does not add up to them (off by " in note
    with pytest.raises(ConfigError, match="a Hugging Face model has no decomposition, which ne"):
        subject.importance(subject.read(TEXTS), NAME)


def test_in_a_model_of_one_clue_the_clue_gives_most():
    model, tokenizer = fine_tuned()
    subject = subject_of(
        TransformerModel(model, tokenizer), readouts.make("last-cls"), ("bad", "good")
    )
    documents = planted_documents(50, seed=7)
    reading = subject.read(documents.texts)
    scores = subject.importance(reading, NAME)
    top = [
        text[slice(*offsets[row.argmax()])]
        for text, offsets, row in zip(documents.texts, reading.offsets, scores, strict=True)
    ]
    assert np.mean([word in ("good", "bad") for word in top]) > 0.95


def test_in_a_pretrained_encoder_words_specials_and_biases_add_up_to_the_logit():
    """By a second route: the gradient of the held pass by everything that it starts from."""
    from heedful.importance.held_layers import layers_held

    model, batch = a_model(encoder="pretrained"), a_batch(5)
    target = predicted(model, batch)
    scores = importances[NAME](model, batch, target)
    embedded = model.embed(batch).detach()
    inner = model.encoder.inner
    added = [
        inner.embeddings.position_embeddings.weight,
        inner.embeddings.token_type_embeddings.weight,
    ]
    given = [model.encoder.first, model.encoder.last, *added]
    given += [numbers for name, numbers in model.named_parameters() if name.endswith("bias")]
    with layers_held(model):
        trace = model.read(embedded, batch.is_token)
        logits = model.decide(trace.hidden, trace.weights.detach())
    logit = logits.gather(1, target[:, None])[0, 0]
    slopes = torch.autograd.grad(logit, given, allow_unused=True, materialize_grads=True)
    rest = sum((slope * numbers).sum() for slope, numbers in zip(slopes, given, strict=True))
    torch.testing.assert_close(scores.sum() + rest.detach(), logit.detach())


def test_a_recurrent_encoder_cannot_be_held():
    model, batch = a_model(encoder="bilstm"), a_batch(5, 2)
    with pytest.raises(ConfigError, match=r"this model \(Recurrent\) cannot be held fixed"):
        importances[NAME](model, batch, predicted(model, batch))
