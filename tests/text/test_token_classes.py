import numpy as np
import pytest

import heedful
from heedful.text.token_classes import classify_tokens, label_counts
from heedful.text.tokenize import TextSettings, Tokenizer


def test_counts_are_of_occurrences_not_documents():
    texts = ["good good bad", "bad"]
    tokenizer = Tokenizer.learn(texts, TextSettings(min_documents=1))
    counts = label_counts(tokenizer.encode(texts), np.array([1, 0]), 2, len(tokenizer.words))
    good = tokenizer.words.index("good")
    bad = tokenizer.words.index("bad")
    assert counts[:, good].tolist() == [0, 2]
    assert counts[:, bad].tolist() == [1, 1]


def test_classes_by_hand():
    # columns: only positive 6x; only positive 5x; 3:1 with 9 (lean exactly 0.5); 4:4; 30:36
    counts = np.array([[0, 0, 3, 4, 30], [6, 5, 9, 4, 36]])
    classes = classify_tokens(counts)
    assert classes.polar[1].tolist() == [0]  # lean must lie above 0.5, the count above 5
    assert classes.polar[0].tolist() == []
    assert classes.neutral.tolist() == [3]  # 30:36 leans little but differs by 6


def test_three_labels():
    counts = np.array([[9, 2, 7], [1, 2, 6], [0, 2, 0]])
    classes = classify_tokens(counts)
    assert [words.tolist() for words in classes.polar] == [[0], [], []]
    assert classes.neutral.tolist() == [1]


@pytest.mark.corpora
def test_sst_has_the_published_412_265_1384(data_dir):
    corpus = heedful.load("sst2_jw", data_dir)
    settings = TextSettings(split=corpus.split, min_documents=1, max_words=10_000)
    tokenizer = Tokenizer.learn(corpus.train.texts, settings)
    labels = np.array([int(str(label)) for label in corpus.train.labels])
    counts = label_counts(tokenizer.encode(corpus.train.texts), labels, 2, len(tokenizer.words))
    negative, positive, neutral = classify_tokens(counts).counts
    assert (positive, negative, neutral) == (412, 265, 1384)  # Sun & Lu 2020, supplement
