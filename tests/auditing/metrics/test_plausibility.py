import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, f1_score, precision_recall_curve, precision_score, recall_score

from heedful.auditing.metrics.plausibility import (
    auprc,
    f1_at_k,
    iou_precision,
    iou_recall,
    precision_at_k,
    recall_at_k,
)
from heedful.auditing.metrics.top import choose_top
from tests.auditing.strategies import TwoRows, two_rows

AT_K = [precision_at_k, recall_at_k, f1_at_k]


def marked(rows: TwoRows) -> np.ndarray:
    """Words to point at, drawn with the rows."""
    return rows.second > 0.3


def spans(is_inside: np.ndarray) -> list[set[int]]:
    found: list[set[int]] = []
    for place in np.flatnonzero(is_inside):
        if found and place - 1 in found[-1]:
            found[-1].add(place)
        else:
            found.append({place})
    return found


@given(rows=two_rows(), k=st.integers(1, 14))
def test_metrics_at_k_are_scikit_learns_where_nothing_ties(rows, k):
    importance = rows.first + 1e-6 * np.arange(rows.first.shape[1])  # breaks the ties of rounding
    is_marked = marked(rows)
    ks = np.full(len(importance), k)
    is_chosen = choose_top(importance, rows.is_token, ks)
    yardsticks = [precision_score, recall_score, f1_score]
    for ours, theirs in zip(AT_K, yardsticks, strict=True):
        values = ours(importance, is_marked, rows.is_token, ks)
        for i, keep in enumerate(rows.is_token):
            if is_marked[i][keep].any():
                assert values[i] == pytest.approx(theirs(is_marked[i][keep], is_chosen[i][keep]))
            else:
                assert np.isnan(values[i])


@given(rows=two_rows(), k=st.integers(1, 14))
def test_f1_is_the_harmonic_mean_even_with_ties(rows, k):
    arguments = (rows.first, marked(rows), rows.is_token, np.full(len(rows.first), k))
    precision, recall, f1 = (metric(*arguments) for metric in AT_K)
    np.testing.assert_allclose(f1 * (precision + recall), 2 * precision * recall, atol=1e-12)


@given(rows=two_rows(most_tokens=30))
def test_auprc_is_scikit_learns(rows):
    ours = auprc(rows.first, marked(rows), rows.is_token)
    for i, keep in enumerate(rows.is_token):
        is_marked = marked(rows)[i][keep]
        if is_marked.all() or not is_marked.any():
            assert np.isnan(ours[i])
            continue
        precision, recall, _ = precision_recall_curve(is_marked, rows.first[i][keep])
        assert ours[i] == pytest.approx(auc(recall, precision), abs=1e-12)


@given(rows=two_rows(), seed=st.integers(0, 99))
def test_ties_make_plausibility_indifferent_to_the_order_of_words(rows, seed):
    order = np.random.default_rng(seed).permutation(rows.first.shape[1])
    shuffled = rows.map(lambda array: array[:, order])
    ks = np.full(len(rows.first), 3)
    for metric in AT_K:
        np.testing.assert_allclose(
            metric(shuffled.first, marked(shuffled), shuffled.is_token, ks),
            metric(rows.first, marked(rows), rows.is_token, ks),
            atol=1e-12,
        )


@given(rows=two_rows(), k=st.integers(1, 9), columns=st.integers(0, 5))
def test_padding_changes_nothing(rows, k, columns):
    ks = np.full(len(rows.first), k)
    padded = rows.pad(columns)
    for metric in AT_K:
        np.testing.assert_allclose(
            metric(padded.first, marked(padded), padded.is_token, ks),
            metric(rows.first, marked(rows), rows.is_token, ks),
        )
    np.testing.assert_allclose(
        auprc(padded.first, marked(padded), padded.is_token),
        auprc(rows.first, marked(rows), rows.is_token),
    )


@given(rows=two_rows(most_tokens=30), threshold=st.sampled_from([0.1, 0.5, 0.8, 1.0]))
def test_span_matches_are_what_a_loop_over_spans_finds(rows, threshold):
    is_chosen, is_marked = rows.first > 0, marked(rows)
    precision = iou_precision(is_chosen, is_marked, rows.is_token, threshold)
    recall = iou_recall(is_chosen, is_marked, rows.is_token, threshold)
    for i, keep in enumerate(rows.is_token):
        chosen, true = spans(is_chosen[i] & keep), spans(is_marked[i] & keep)
        if not chosen or not true:
            assert np.isnan([precision[i], recall[i]]).all()
            continue
        matches = sum(any(len(c & t) / len(c | t) >= threshold for t in true) for c in chosen)
        if threshold >= 0.5:  # below, one span may match two
            assert recall[i] == pytest.approx(matches / len(true))
        assert precision[i] == pytest.approx(matches / len(chosen))


def test_an_eraser_document_by_hand():
    # Marked: words 0 1 2 and 6.  Importance ranks them 0 1 3 6 9 7 4 2 5 8.
    importance = np.array([[0.9, 0.8, 0.1, 0.7, 0.2, 0.05, 0.6, 0.3, 0.0, 0.4]])
    is_marked = np.zeros((1, 10), dtype=bool)
    is_marked[0, [0, 1, 2, 6]] = True
    is_token, k = np.ones((1, 10), dtype=bool), np.array([4])
    # Top 4 is 0 1 3 6: 3 hits of 4 chosen and 4 marked.
    for metric in AT_K:
        assert metric(importance, is_marked, is_token, k) == pytest.approx(3 / 4)
    # Chosen spans [0 1] [3] [6], marked spans [0 1 2] [6]. IOUs: 2/3, 0, 1: two matches.
    is_chosen = choose_top(importance, is_token, k)
    assert iou_precision(is_chosen, is_marked, is_token) == pytest.approx(2 / 3)
    assert iou_recall(is_chosen, is_marked, is_token) == pytest.approx(2 / 2)
    # Recall grows by 1/4 at ranks 1, 2, 4 and 8; precision before and after each:
    #   1 1 | 1 1 | 2/3 3/4 | 3/7 4/8
    area = (1 + 1 + (2 / 3 + 3 / 4) / 2 + (3 / 7 + 4 / 8) / 2) / 4
    assert auprc(importance, is_marked, is_token) == pytest.approx(area)


def test_planted_words_on_top_have_precision_one_at_their_number():
    importance = np.array([[0.1, 0.5, 0.4, 0.0], [0.4, 0.1, 0.3, 0.2]])
    is_planted = np.array([[False, True, True, False], [True, True, False, False]])
    is_token = np.ones((2, 4), dtype=bool)
    found = precision_at_k(importance, is_planted, is_token, np.array([2, 2]))
    assert found.tolist() == [1.0, 0.5]


def test_a_document_shorter_than_k_is_chosen_whole():
    importance, is_token = np.array([[1.0, 2.0, 9.0]]), np.array([[True, True, False]])
    is_marked = np.array([[True, False, True]])
    assert precision_at_k(importance, is_marked, is_token, np.array([5])) == pytest.approx(1 / 2)
    assert recall_at_k(importance, is_marked, is_token, np.array([5])) == pytest.approx(1)


def test_importance_that_is_nan_cannot_be_asked():
    importance, everything = np.array([[1.0, np.nan, 0.5]]), np.ones((1, 3), dtype=bool)
    is_marked = np.array([[True, False, False]])
    assert np.isnan(auprc(importance, is_marked, everything)).all()
    for metric in AT_K:
        assert np.isnan(metric(importance, is_marked, everything, np.array([1]))).all()
