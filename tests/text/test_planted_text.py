import numpy as np
import pytest

from heedful.errors import ConfigError, DataError
from heedful.text.datasets import load
from heedful.text.datasets.planted_text import PlantedText

SMALL = PlantedText(documents=200, evidence_words=2)


def marked(document):
    return [document.text[start:end] for start, end in document.rationale]


def test_only_the_planted_words_say_the_label_and_they_are_marked():
    real = {" ".join(text.lower().split()) for text in load("reviews-short").train.texts}
    for document in SMALL().train:
        assert len(marked(document)) == 2
        assert all(word.startswith(document.label) for word in marked(document))
        rest = [word for word in document.text.split() if word not in marked(document)]
        assert " ".join(rest) in real


def test_noise_plants_another_labels_words():
    documents = PlantedText(documents=2000, noise=0.1)().train
    turned = [not marked(document)[0].startswith(document.label) for document in documents]
    assert np.mean(turned) == pytest.approx(0.1, abs=0.02)


def test_parts_share_no_text_and_labels_take_turns():
    corpus = SMALL()
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [200, 20, 20]
    assert not set(corpus.train.texts) & set(corpus.test.texts)
    assert corpus.train.labels.count("positive") == 100


def test_long_texts_are_cut():
    for document in PlantedText(documents=50, most_words=5)().train:
        assert len(document.text.split()) <= 6


def test_more_documents_than_there_are_texts_is_a_sentence():
    with pytest.raises(DataError, match=r"needs 120,000 texts, but reviews-short has 6,\d+"):
        PlantedText(documents=100_000)()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"classes": 11}, "classes should be 2 to 10, not 11"),
        ({"evidence_words": 6}, "should be at most evidence_vocabulary"),
    ],
)
def test_impossible_requests_are_sentences(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        PlantedText(**options)


def test_in_context_a_word_of_the_label_and_one_that_all_labels_share_are_planted():
    for document in PlantedText(documents=50, pattern="context")().train:
        groups = {word[:-3] for word in marked(document)}
        assert groups == {document.label, "context"}


def test_the_order_of_two_words_says_the_label_and_neither_does_alone():
    documents = PlantedText(documents=50, pattern="order")().train
    orders = {(document.label, *(w[:-3] for w in marked(document))) for document in documents}
    assert orders == {("negative", "early", "late"), ("positive", "late", "early")}


def test_two_words_have_two_orders():
    with pytest.raises(
        ConfigError, match="two words have two orders, so classes should be 2, not 3"
    ):
        PlantedText(pattern="order", classes=3)
