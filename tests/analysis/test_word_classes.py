import numpy as np
import pytest

from heedful.analysis.word_classes import (
    kind_names,
    kind_of_words,
    label_margins,
    mean_by_kind,
    mean_dot_products,
    mean_with_others,
    read_labels,
    words_by_kind,
)
from heedful.errors import DataError
from heedful.text.token_classes import TokenClasses

TOKENS = TokenClasses((np.array([1]), np.array([2, 3])), np.array([4]))


def test_zero_and_one_are_called_negative_and_positive():
    assert kind_names(("0", "1")) == ("negative", "positive")
    assert kind_names(("sports", "medicine")) == ("sports", "medicine")
    assert kind_names(("neutral", "angry")) == ("label neutral", "angry")


def test_every_word_has_the_name_of_its_kind():
    kinds = words_by_kind(("0", "1"), TOKENS)
    assert kind_of_words(kinds, 6) == ["", "negative", "positive", "positive", "neutral", ""]


def test_means_leave_out_words_without_a_value():
    kinds = words_by_kind(("0", "1"), TOKENS)
    means = mean_by_kind(np.array([9.0, 1.0, 2.0, np.nan, np.nan, 9.0]), kinds)
    assert means["negative"] == 1.0
    assert means["positive"] == 2.0
    assert np.isnan(means["neutral"])


def test_a_corpus_without_polar_words_is_refused():
    nothing = np.array([], dtype=np.int64)
    with pytest.raises(DataError, match="no word of the training documents belongs to a label"):
        words_by_kind(("0", "1"), TokenClasses((nothing, nothing), np.array([4])))


def test_adding_the_same_to_every_label_changes_no_margin():
    values = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(label_margins(values), label_margins(values + 7.0))
    np.testing.assert_allclose(label_margins(values).sum(axis=1), 0, atol=1e-12)


def test_one_score_for_two_labels_is_the_margin_of_the_second():
    np.testing.assert_allclose(label_margins(np.array([[2.0], [-1.0]])), [[-2, 2], [1, -1]])
    np.testing.assert_allclose(label_margins(np.array([[-1.0, 1.0]])), [[-2, 2]])


def test_a_word_is_read_on_its_own_label_or_on_the_one_it_speaks_for_most():
    margins = np.array([[3.0, 1.0, -4.0]] * 5)
    kinds = {"a": np.array([0]), "b": np.array([1]), "c": np.array([2]), "neutral": np.array([3])}
    assert read_labels(margins, kinds).tolist() == [0, 1, 2, 0, 0]
    assert read_labels(margins[:, :2], kinds).tolist() == [1] * 5  # of two: always the second


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
