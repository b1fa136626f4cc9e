import numpy as np
import pytest

from heedful.auditing.metrics.corpus import information_terms
from heedful.auditing.metrics.information import (
    cluster_states,
    deal_within,
    most_frequent,
    word_information,
)

WORDS = np.array([0, 0, 1, 1, 2, 2, 0, 1])
DOCUMENT = np.array([0, 0, 0, 1, 1, 1, 2, 2])


def test_information_in_nats_is_the_share_times_the_entropy():
    cluster = np.array([0, 1, 1, 1, 2, 0, 0, 1])
    nats = information_terms(WORDS, cluster, DOCUMENT, 3, in_nats=True).mean()
    share = information_terms(WORDS, cluster, DOCUMENT, 3).mean()
    p = np.bincount(WORDS) / len(WORDS)
    assert nats == pytest.approx(share * -(p * np.log(p)).sum())


def test_miller_madow_by_hand():
    # words 3 values, clusters 2, pairs (0,0) (1,0) (1,1) (2,1): 4;  8 words
    cluster = np.array([0, 0, 0, 1, 1, 1, 0, 1])
    plain = information_terms(WORDS, cluster, DOCUMENT, 3, in_nats=True).mean()
    corrected = information_terms(
        WORDS, cluster, DOCUMENT, 3, in_nats=True, miller_madow=True
    ).mean()
    assert corrected - plain == pytest.approx((3 + 2 - 4 - 1) / 16)
    p = np.bincount(WORDS) / len(WORDS)
    entropy = -(p * np.log(p)).sum()
    share = information_terms(WORDS, cluster, DOCUMENT, 3, miller_madow=True).mean()
    assert share == pytest.approx(corrected / (entropy + 2 / 16))


def test_miller_madow_takes_off_most_of_what_chance_adds():
    rng = np.random.default_rng(0)
    words, cluster = rng.integers(0, 20, 4000), rng.integers(0, 15, 4000)
    document = np.repeat(np.arange(100), 40)
    plain, corrected = (
        information_terms(words, cluster, document, 100, in_nats=True, miller_madow=m).mean()
        for m in (False, True)
    )
    assert plain > 0.02
    assert abs(corrected) < 0.2 * plain


def test_dealing_anew_stays_within_documents():
    labels = np.arange(8)
    dealt = deal_within(labels, DOCUMENT, np.random.default_rng(0))
    assert dealt.tolist() != labels.tolist()
    for document in range(3):
        inside = document == DOCUMENT
        assert sorted(dealt[inside]) == sorted(labels[inside])


def test_the_most_frequent_words_come_first_and_ties_by_number():
    assert most_frequent(np.array([5, 5, 9, 2, 2, 2, 7]), 3).tolist() == [2, 5, 7]


def test_states_that_are_their_words_tell_everything_and_noise_nothing():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 10, 3000)
    document = np.repeat(np.arange(100), 30)
    states = {
        "embedded": np.eye(10, dtype=np.float32)[words],
        "hidden": rng.normal(size=(3000, 4)).astype(np.float32),
    }
    found = word_information(
        words, document, states, 120, frequent_words=10, clusters=40, seed=0, rng=rng
    )
    mean = {kind: np.nanmean(column) for kind, column in found.items()}
    assert mean["embedded"] > 0.8
    assert mean["hidden"] < 0.15
    assert np.isnan(found["hidden"][100:]).all()  # documents without words
    assert len(np.unique(cluster_states(states["embedded"], 4, 0))) <= 4


def test_too_few_words_give_nothing():
    states = {"hidden": np.zeros((8, 2), dtype=np.float32)}
    rng = np.random.default_rng(0)
    assert (
        word_information(WORDS, DOCUMENT, states, 3, frequent_words=9, clusters=9, seed=0, rng=rng)
        == {}
    )
