import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing.metrics.top import chance_in_top, choose_top, top_k
from tests.auditing.strategies import two_rows


def test_top_k_is_the_ceiling_of_the_exact_fraction():
    tokens = np.arange(1500)
    for percent in range(1, 101):  # in binary 0.01 * 700 is above 7
        exact = np.maximum(1, -(-percent * tokens // 100))
        np.testing.assert_array_equal(top_k(percent / 100, tokens), exact)


@given(rows=two_rows(), k=st.integers(1, 14))
def test_chances_add_up_to_k_and_are_highest_for_the_highest(rows, k):
    chance = chance_in_top(rows.first, rows.is_token, np.full(len(rows.first), k))
    np.testing.assert_allclose(chance.sum(axis=1), np.minimum(k, rows.is_token.sum(axis=1)))
    assert (chance[~rows.is_token] == 0).all()
    for row, chances, keep in zip(rows.first, chance, rows.is_token, strict=True):
        order = np.argsort(row[keep])
        assert (np.diff(chances[keep][order]) >= 0).all()


@given(rows=two_rows(), k=st.integers(1, 14))
def test_chosen_words_are_k_and_none_left_out_is_higher(rows, k):
    is_chosen = choose_top(rows.first, rows.is_token, np.full(len(rows.first), k))
    assert not is_chosen[~rows.is_token].any()
    for row, chosen, keep in zip(rows.first, is_chosen, rows.is_token, strict=True):
        assert chosen.sum() == min(k, keep.sum())
        left_out = row[keep & ~chosen]
        if chosen.any() and left_out.size:
            assert row[chosen].min() >= left_out.max()


def test_of_tied_words_the_first_are_chosen():
    tied = np.array([[0.0, 7.0, 7.0, 7.0]])
    is_chosen = choose_top(tied, np.ones((1, 4), dtype=bool), np.array([2]))
    assert is_chosen.tolist() == [[False, True, True, False]]


def test_chances_of_tied_words_by_hand():
    # Top 2: the 9 is in, and one of three 7s takes the second place.
    chance = chance_in_top(
        np.array([[7.0, 9, 7, 7, 1]]), np.ones((1, 5), dtype=bool), np.array([2])
    )
    assert chance[0].tolist() == pytest.approx([1 / 3, 1, 1 / 3, 1 / 3, 0])
