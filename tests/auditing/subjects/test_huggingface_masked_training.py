"""A copy of a Transformer that learns from texts with words replaced."""

import numpy as np
import pytest
import torch

from heedful.auditing.questions import AuditSettings
from heedful.auditing.sampling import drawn
from heedful.auditing.subjects.huggingface.masked_training import (
    MaskedTraining,
    masked_judge,
    texts_to_learn,
    train_on_masked,
)
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.readouts import readouts
from tests.readouts.tiny import fine_tuned, planted_documents

SETTINGS = AuditSettings()


@pytest.fixture(scope="module")
def model() -> TransformerModel:
    return TransformerModel(*fine_tuned())


def test_the_copy_learns_what_holes_mean_and_the_model_stays_as_it_is(model):
    texts, new = planted_documents(300, seed=3).texts, planted_documents(60, seed=4).texts
    before = {name: numbers.clone() for name, numbers in model.model.state_dict().items()}
    training = MaskedTraining(steps=150, learning_rate=3e-3)
    copy = train_on_masked(model, texts, "[UNK]", training)
    for name, numbers in model.model.state_dict().items():
        torch.testing.assert_close(numbers, before[name], atol=0, rtol=0)
    own, learnt = model.probabilities(new), copy.probabilities(new)
    assert (own.argmax(axis=1) == learnt.argmax(axis=1)).mean() > 0.95
    # Without the clue both labels are as likely; the model has never met such a text.
    holes = [text.replace("good", "[UNK]").replace("bad", "[UNK]") for text in new]
    sure = [np.abs(one.probabilities(holes)[:, 0] - 0.5).mean() for one in (model, copy)]
    assert sure[1] < 0.6 * sure[0]
    again = train_on_masked(model, texts, "[UNK]", training)
    np.testing.assert_allclose(again.probabilities(new), learnt, atol=1e-5)


def test_judged_documents_are_never_learnt_from():
    documents = planted_documents(400, seed=5)
    texts, why = texts_to_learn(documents, SETTINGS, 100, None)
    audited = documents.take(drawn(documents, SETTINGS, 100).tolist()).texts
    assert not why
    assert set(texts) == set(documents.texts) - set(audited)
    given, why = texts_to_learn(documents, SETTINGS, 100, [*audited, *texts[:150]])
    assert (given, why) == (texts[:150], "")


def test_without_enough_other_texts_there_is_no_judge_and_the_reason(model):
    documents = planted_documents(120, seed=6)
    texts, why = texts_to_learn(documents, SETTINGS, None, None)
    assert texts == []
    assert why == (
        "it learns from at least 100 texts that are not audited, and there are 0 texts: audit a "
        "sample (--documents) or give others with --train"
    )
    subject = subject_of(model, readouts.make("last-cls"), ("bad", "good"))
    twins = masked_judge(subject, texts, why)
    assert twins.judge is None
    assert twins.why_no_judge == why
