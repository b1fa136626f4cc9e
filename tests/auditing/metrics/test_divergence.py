import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

from heedful.auditing.metrics.divergence import (
    js_divergence,
    kl_divergence,
    max_js_divergence,
    normalised_entropy,
    total_variation,
)
from heedful.errors import DataError
from tests.auditing.strategies import distributions

DIVERGENCES = [js_divergence, kl_divergence, total_variation]
every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)


def all_tokens(weights):
    return np.ones(weights.shape, dtype=bool)


@pytest.mark.parametrize("divergence", [js_divergence, total_variation])
@given(rows=distributions(rows=6))
def test_divergence_is_symmetric(divergence, rows):
    np.testing.assert_allclose(
        divergence(rows[:3], rows[3:]), divergence(rows[3:], rows[:3]), atol=1e-15
    )


@every_divergence
@given(rows=distributions())
def test_equal_distributions_do_not_diverge(divergence, rows):
    np.testing.assert_allclose(divergence(rows, rows), 0, atol=1e-15)


@every_divergence
@given(rows=distributions(rows=6), columns=st.integers(1, 9))
def test_padding_changes_nothing(divergence, rows, columns):
    padded = np.hstack([rows, np.zeros((6, columns))])
    np.testing.assert_allclose(
        divergence(padded[:3], padded[3:]), divergence(rows[:3], rows[3:]), atol=1e-12
    )


@given(rows=distributions(rows=6))
def test_divergences_are_scipys(rows):
    first, second = rows[:3], rows[3:]
    np.testing.assert_allclose(
        js_divergence(first, second), jensenshannon(first, second, axis=1) ** 2, atol=1e-9
    )
    np.testing.assert_allclose(
        kl_divergence(first, second), stats.entropy(first, second, axis=1), atol=1e-9
    )


@given(rows=distributions(rows=6))
def test_kl_is_infinite_exactly_off_the_support(rows):
    first, second = rows[:3], rows[3:]
    is_off_support = ((first > 0) & (second == 0)).any(axis=1)
    np.testing.assert_array_equal(np.isinf(kl_divergence(first, second)), is_off_support)


@given(rows=distributions(rows=6))
def test_pinsker_holds(rows):
    # KL >= 2 TVD^2 for any two distributions, so JSD >= TVD^2 / 2: the middle is half as far.
    first, second = rows[:3], rows[3:]
    distance = total_variation(first, second)
    assert (kl_divergence(first, second) >= 2 * distance**2 - 1e-12).all()
    assert (js_divergence(first, second) >= distance**2 / 2 - 1e-12).all()


@given(rows=distributions())
def test_entropy_is_scipys_over_the_logarithm_of_the_length(rows):
    ours = normalised_entropy(rows, all_tokens(rows))
    if rows.shape[1] == 1:
        assert np.isnan(ours).all()
    else:
        expected = stats.entropy(rows, axis=1) / np.log(rows.shape[1])
        np.testing.assert_allclose(ours, expected, atol=1e-12)


@given(rows=distributions(), columns=st.integers(1, 5))
def test_padding_changes_neither_entropy_nor_the_largest_divergence(rows, columns):
    padded = np.hstack([np.full((3, columns), 99.0), rows])
    is_token = np.hstack([np.zeros((3, columns), dtype=bool), all_tokens(rows)])
    for measure in (normalised_entropy, max_js_divergence):
        np.testing.assert_allclose(
            measure(padded, is_token), measure(rows, all_tokens(rows)), atol=1e-12
        )


@given(rows=distributions(), seed=st.integers(0, 999))
def test_the_largest_divergence_is_reached_at_a_corner_and_nowhere_exceeded(rows, seed):
    tokens = rows.shape[1]
    largest = max_js_divergence(rows, all_tokens(rows))
    corners = [js_divergence(rows, np.tile(corner, (3, 1))) for corner in np.eye(tokens)]
    np.testing.assert_allclose(np.max(corners, axis=0), largest, atol=1e-12)
    others = np.random.default_rng(seed).dirichlet(np.full(tokens, 0.3), size=3)
    assert (js_divergence(rows, others) <= largest + 1e-12).all()


def test_divergences_by_hand():
    # p = (1/2, 1/2), q = (1, 0), middle = (3/4, 1/4).
    # KL(p || m) = 1/2 ln(2/3) + 1/2 ln 2 = 1/2 ln(4/3);  KL(q || m) = ln(4/3);  JSD = 3/4 ln(4/3)
    p, q = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])
    assert js_divergence(p, q) == pytest.approx(0.75 * np.log(4 / 3))
    assert kl_divergence(q, p) == pytest.approx(np.log(2))
    assert kl_divergence(p, q) == np.inf
    assert total_variation(p, q) == 0.5
    assert js_divergence(q, q[:, ::-1]) == pytest.approx(np.log(2))


def test_entropy_by_hand():
    # (1/2, 1/4, 1/4, 0): H = 1/2 ln 2 + 1/2 ln 4 = 1.5 ln 2; over ln 4 = 2 ln 2: 3/4
    weights = np.array([[0.5, 0.25, 0.25, 0.0]])
    assert normalised_entropy(weights, all_tokens(weights)) == pytest.approx(0.75)


def test_the_largest_divergence_from_two_equal_weights_by_hand():
    # One-hot on either of (1/2, 1/2): the JSD worked out above, 3/4 ln(4/3).
    weights = np.array([[0.5, 0.5]])
    assert max_js_divergence(weights, all_tokens(weights)) == pytest.approx(0.75 * np.log(4 / 3))


def test_documents_without_words_are_nan():
    none = np.zeros((1, 3))
    no_token = np.zeros((1, 3), dtype=bool)
    for divergence in DIVERGENCES:
        assert np.isnan(divergence(none, none)).all()
    assert np.isnan(normalised_entropy(none, no_token)).all()
    assert np.isnan(max_js_divergence(none, no_token)).all()


def test_shares_too_small_to_halve_do_not_make_the_divergence_infinite():
    tiny = np.array([[1.0, 5e-324]])
    assert js_divergence(tiny, np.array([[1.0, 0.0]])) == 0


def test_rows_that_are_no_distributions_are_refused():
    scores = np.array([[0.5, 0.5], [0.5, 0.33]])
    with pytest.raises(DataError, match=r"example 1 sums to 0.83. Was `is_token` inverted"):
        js_divergence(scores, scores)
    signed = np.array([[1.5, -0.5]])
    with pytest.raises(DataError, match=r"no negative entries; example 0 has -0.5"):
        total_variation(signed, signed)


def test_single_precision_rows_are_taken_as_the_distributions_they_were_meant_to_be():
    rng = np.random.default_rng(0)
    exact = rng.dirichlet(np.ones(500), size=4)
    rounded = exact.astype(np.float32)
    np.testing.assert_allclose(js_divergence(rounded, exact), 0, atol=1e-9)
    assert (kl_divergence(rounded, rounded[::-1]) >= 0).all()
