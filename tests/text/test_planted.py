import numpy as np
import pytest

from heedful.errors import ConfigError
from heedful.text.datasets import corpora, load
from heedful.text.datasets.planted import Planted

MADE_UP = [name for name in corpora if name.startswith("planted") and name != "planted-text"]


@pytest.mark.parametrize("name", MADE_UP)
def test_the_rationale_marks_the_two_planted_words(name):
    corpus = load(name)
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [12_000, 1200, 1200]
    for document in corpus.dev[:200]:
        words = document.text.split(" ")
        assert len(words) == len(set(words)) == 12
        marked = [document.text[start:end] for start, end in document.rationale]
        assert len(marked) == 2
        assert [word for word in words if not word.startswith("neutral")] == marked


def test_without_noise_the_planted_words_are_the_labels_own():
    for document in Planted(documents=300)().train:
        assert all(
            document.text[start:end].startswith(document.label) for start, end in document.rationale
        )


def test_noise_turns_round_the_evidence_of_its_share_of_each_label():
    documents = Planted(documents=1000, noise=0.1)().train
    turned = [not d.text[d.rationale[0][0] :].startswith(d.label) for d in documents]
    assert sum(turned) == 100
    assert sum(t for t, d in zip(turned, documents, strict=True) if d.label == "positive") == 50


def test_ratio_sets_the_mix_of_labels():
    labels = Planted(documents=600, ratio=(5.0, 1.0))().train.labels
    assert (labels.count("negative"), labels.count("positive")) == (500, 100)


def test_the_seed_decides_the_corpus_and_parts_differ():
    one, same, other = (Planted(documents=50, seed=seed)() for seed in (1, 1, 2))
    assert one.train.texts == same.train.texts != other.train.texts
    assert not set(one.train.texts) & set(one.test.texts)


def test_every_word_of_the_vocabulary_is_a_form_of_its_own():
    words = {w for t in Planted(documents=6000)().train.texts for w in t.split(" ")}
    assert len(words) == 1100
    assert not any(character.isdigit() for word in words for character in word)


def test_options_come_by_name():
    corpus = load("planted:classes=3:documents=90")
    assert sorted(set(corpus.train.labels)) == ["mixed", "negative", "positive"]
    assert np.unique(corpus.train.labels, return_counts=True)[1].tolist() == [30, 30, 30]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"classes": 1}, "classes should be 2 to 10"),
        ({"ratio": (1.0, 2.0, 3.0)}, "ratio should have 2 numbers"),
        ({"noise": 1.5}, "noise should be between 0 and 1"),
        ({"neutral_words": 2000}, "should be at most neutral_vocabulary"),
    ],
)
def test_impossible_plans_are_refused(options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Planted(**options)


def test_repeated_evidence_is_marked_wherever_it_stands():
    for document in Planted(documents=50, evidence_words=1, repeats=3)().train:
        marked = [document.text[start:end] for start, end in document.rationale]
        assert len(marked) == 3
        assert len(set(marked)) == 1
