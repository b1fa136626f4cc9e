import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score, roc_auc_score

from heedful.auditing.metrics.corpus import auc_terms, information_terms, ratio_terms

words = st.integers(2, 60)
seeds = st.integers(0, 10**6)


@given(count=words, seed=seeds)
def test_the_mean_term_is_the_area_under_the_roc_curve_ties_included(count, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, count).astype(float)
    is_positive = rng.random(count) < 0.5
    is_positive[:2] = [True, False]
    document = rng.integers(0, 7, count)
    terms = auc_terms(values, is_positive, document, 7)
    assert terms.mean() == pytest.approx(roc_auc_score(is_positive, values))


@given(count=words, seed=seeds)
def test_the_mean_term_is_mutual_information_over_entropy(count, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, count), rng.integers(0, 3, count)
    first[:2] = [0, 1]
    document = rng.integers(0, 6, count)
    terms = information_terms(first, second, document, 6)
    share = mutual_info_score(first, second) / mutual_info_score(first, first)
    assert terms.mean() == pytest.approx(share)


def test_a_labelling_tells_itself_whole_and_a_constant_nothing():
    first, document = np.array([0, 1, 2, 0, 1]), np.array([0, 0, 1, 1, 2])
    assert information_terms(first, first, document, 3).mean() == pytest.approx(1)
    assert information_terms(first, np.zeros(5, int), document, 3).mean() == pytest.approx(0)


def test_resampled_terms_vary_as_the_number_itself_does():
    rng = np.random.default_rng(0)
    documents, each = 200, 6
    document = np.repeat(np.arange(documents), each)
    is_positive = rng.random(len(document)) < 0.5
    of_document = rng.normal(size=documents)[document]  # words of one document are alike
    values = rng.normal(size=len(document)) + of_document + is_positive
    terms = auc_terms(values, is_positive, document, documents)
    direct, by_terms = [], []
    for _ in range(300):
        drawn = rng.integers(documents, size=documents)
        rows = np.concatenate([np.flatnonzero(document == d) for d in drawn])
        direct.append(roc_auc_score(is_positive[rows], values[rows]))
        by_terms.append(terms[drawn].mean())
    assert np.std(by_terms) == pytest.approx(np.std(direct), rel=0.2)


def test_terms_of_a_ratio_average_to_it():
    sums, counts = np.array([3.0, 0.0, 5.0]), np.array([4.0, 0.0, 6.0])
    assert ratio_terms(sums, counts).mean() == pytest.approx(0.8)


def test_without_words_of_both_kinds_there_is_no_area():
    nothing = auc_terms(np.ones(3), np.ones(3, bool), np.zeros(3, int), 2)
    assert np.isnan(nothing).all()
