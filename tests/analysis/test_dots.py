import numpy as np
import pytest

from heedful.analysis.dots import mean_dot_products, mean_with_others


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(12, 5))


def test_means_equal_a_loop_over_pairs_of_different_words(vectors):
    first, second = np.array([0, 1, 2, 3]), np.array([2, 3, 4])
    found = mean_with_others(vectors, first, second)
    by_hand = [np.mean([vectors[i] @ vectors[k] for k in second if k != i]) for i in first]
    np.testing.assert_allclose(found, by_hand)


def test_a_word_is_never_paired_with_itself(vectors):
    assert np.isnan(mean_with_others(vectors, np.array([3]), np.array([3]))).all()


def test_a_pair_of_kinds_is_told_once_and_in_either_order_alike(vectors):
    kinds = {"negative": np.arange(4), "positive": np.arange(4, 9), "neutral": np.arange(9, 12)}
    rows = {(r["words"], r["with"]): r["dot_product"] for r in mean_dot_products(vectors, kinds)}
    assert len(rows) == 6
    turned = {
        (r["words"], r["with"]): r["dot_product"]
        for r in mean_dot_products(vectors, dict(reversed(kinds.items())))
    }
    assert rows["negative", "positive"] == pytest.approx(turned["positive", "negative"])
