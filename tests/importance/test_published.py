"""Readings of a Transformer against the code of those who published them.

Their code was run on the model of `published.py`; its numbers and where it is from are in
`published.json`.
"""

import numpy as np
import pytest

from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.importance import Need, importances
from heedful.readouts import readouts
from heedful.readouts.pooling import SPECIAL
from tests.importance.published import NUMBERS, published_bert
from tests.readouts.tiny import tiny_tokenizer

TEXTS = NUMBERS["texts"]
THEIRS = {one["reading"]: one["scores"] for one in NUMBERS["readings"]}


@pytest.fixture(scope="module")
def model():
    return TransformerModel(published_bert(), tiny_tokenizer())


def on_words(model, text, scores):
    (pieces,) = model.cutter.cut([text])
    words = np.zeros(len(pieces.offsets))
    for score, word in zip(scores, pieces.word_of, strict=True):
        if word != SPECIAL:
            words[word] += score
    return words


def test_the_model_is_the_one_that_their_code_was_run_on(model):
    found = [
        model.model(**tiny_tokenizer()([text], return_tensors="pt")).logits[0].tolist()
        for text in TEXTS
    ]
    np.testing.assert_allclose(found, NUMBERS["logits"], atol=1e-5)


@pytest.mark.parametrize("name", [name for name in THEIRS if name in importances])
def test_a_measure_gives_the_numbers_of_its_authors_code(model, name):
    subject = subject_of(model, readouts.make("last-cls"), ("bad", "good"))
    for text, scores in zip(TEXTS, THEIRS[name], strict=True):
        found = subject.importance(subject.read([text]), name)[0]
        np.testing.assert_allclose(found, on_words(model, text, scores), atol=1e-4)


@pytest.mark.parametrize("name", [name for name in THEIRS if name in readouts])
def test_a_readout_gives_the_numbers_of_its_authors_code_as_shares(model, name):
    subject = subject_of(model, readouts.make(name), ("bad", "good"))
    for text, scores in zip(TEXTS, THEIRS[name], strict=True):
        theirs = on_words(model, text, scores)
        found = subject.read([text]).weights[0]
        np.testing.assert_allclose(found, theirs / theirs.sum(), atol=1e-4)


def test_every_reading_of_layers_was_compared():
    of_layers = {name for name in importances if Need.LAYERS in importances[name].needs}
    assert of_layers <= set(THEIRS)


def test_numbers_say_where_they_are_from():
    for one in NUMBERS["readings"]:
        assert one["repository"].startswith("https://github.com/")
        assert len(one["commit"]) == 40
        assert len(one["scores"]) == len(TEXTS)
        assert one["run"]
