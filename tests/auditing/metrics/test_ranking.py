from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from heedful.auditing.metrics import pairs
from heedful.auditing.metrics.ranking import (
    FEWEST_AT_ONCE,
    LONGEST_AT_ONCE,
    kendall_tau,
    kendall_test,
    pearson,
    top_overlap,
    weighted_tau,
)
from heedful.errors import ConfigError
from tests.auditing.strategies import two_rows

AGREEMENTS = [kendall_tau, weighted_tau, pearson, top_overlap]
every_agreement = pytest.mark.parametrize("agreement", AGREEMENTS)


@every_agreement
@given(rows=two_rows())
def test_agreement_is_symmetric(agreement, rows):
    first, second, is_token = rows
    turned = agreement(second, first, is_token)
    np.testing.assert_allclose(agreement(*rows), turned, atol=1e-12)


@every_agreement
@given(rows=two_rows(), columns=st.integers(1, 20))
def test_padding_changes_nothing(agreement, rows, columns):
    np.testing.assert_allclose(agreement(*rows.pad(columns)), agreement(*rows), atol=1e-12)


@every_agreement
@given(rows=two_rows(), seed=st.integers(0, 99))
def test_the_order_of_the_words_does_not_matter(agreement, rows, seed):
    order = np.random.default_rng(seed).permutation(rows.first.shape[1])
    shuffled = rows.map(lambda array: array[:, order])
    np.testing.assert_allclose(agreement(*shuffled), agreement(*rows), atol=1e-12)


@pytest.mark.parametrize("agreement", [kendall_tau, weighted_tau, top_overlap])
@given(rows=two_rows())
def test_only_the_order_of_the_values_counts(agreement, rows):
    first, second, is_token = rows
    stretched = agreement(np.exp(first), 7 * second + 3, is_token)
    np.testing.assert_allclose(stretched, agreement(*rows), atol=1e-12)


@pytest.mark.parametrize("agreement", [kendall_tau, weighted_tau, pearson])
@given(rows=two_rows())
def test_a_measure_agrees_fully_with_itself_and_disagrees_with_its_reverse(agreement, rows):
    first, _, is_token = rows
    values = agreement(first, first, is_token)
    reversed_values = agreement(first, -first, is_token)
    is_asked = np.array([len(np.unique(row)) > 1 for row, _ in rows.per_row()])
    np.testing.assert_array_equal(np.isnan(values), ~is_asked)
    np.testing.assert_allclose(values[is_asked], 1)
    np.testing.assert_allclose(reversed_values[is_asked], -1)


@given(rows=two_rows(most_tokens=60))
def test_tau_and_p_are_scipys(rows):
    ours = kendall_test(*rows)
    for i, (first, second) in enumerate(rows.per_row()):
        if len(first) < 2:  # scipy warns
            assert np.isnan([ours.tau[i], ours.p_value[i]]).all()
            continue
        theirs = stats.kendalltau(first, second)
        assert ours.tau[i] == pytest.approx(theirs.statistic, abs=1e-12, nan_ok=True)
        assert ours.p_value[i] == pytest.approx(theirs.pvalue, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("tokens", [2, 3, 5, 32, 33, 34, 35, 64, 65, 170, 171, 172, 200])
@pytest.mark.parametrize("swaps", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_nearly_perfect_rankings_have_scipys_exact_p(tokens, swaps, sign):
    first = np.arange(float(tokens))
    second = first.copy()
    for swap in range(min(swaps, tokens // 2)):
        second[[2 * swap, 2 * swap + 1]] = second[[2 * swap + 1, 2 * swap]]
    theirs = stats.kendalltau(first, sign * second)
    both = (np.tile(values, (FEWEST_AT_ONCE, 1)) for values in (first, sign * second))
    ours = kendall_test(*both, np.ones((FEWEST_AT_ONCE, tokens), dtype=bool))
    assert ours.tau[0] == pytest.approx(theirs.statistic, abs=1e-12)
    # With two discordant pairs p is far below 1e-300 in places, where doubles lose digits.
    assert ours.p_value[0] == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 129, 300, 1000, LONGEST_AT_ONCE + 1])
@pytest.mark.parametrize("has_ties", [False, True])
def test_tau_and_p_are_scipys_for_texts_of_every_length(tokens, has_ties):
    rng = np.random.default_rng(tokens)
    first = rng.random((6, tokens))
    second = first + rng.random((6, tokens))
    if has_ties:
        first, second = np.maximum(first - 0.7, 0), second.round(1)
    is_token = np.arange(tokens) < np.array([tokens, tokens, tokens // 2, 2, 1, 0])[:, None]
    first[1, 0] = np.nan
    for rows in (slice(0, 6), slice(0, 1)):  # many at once, and a single one
        ours = kendall_test(first[rows], second[rows], is_token[rows])
        for tau, p_value, a, b, keep in zip(
            ours.tau, ours.p_value, first[rows], second[rows], is_token[rows], strict=True
        ):
            theirs = stats.kendalltau(a[keep], b[keep]) if keep.sum() > 1 else (np.nan, np.nan)
            assert (tau, p_value) == pytest.approx(tuple(theirs), rel=1e-9, abs=1e-12, nan_ok=True)


@given(
    tokens=st.integers(1, 200),
    kinds=st.sampled_from([1, 3, 1000]),
    block=st.sampled_from([1, 2, 7, 64]),
    seed=st.integers(0, 99),
)
def test_discordant_partners_are_those_that_a_loop_finds(tokens, kinds, block, seed):
    ranks = np.random.default_rng(seed).integers(0, min(kinds, tokens), (2, tokens))
    is_before = np.arange(tokens)[:, None] < np.arange(tokens)
    is_discordant = is_before & (ranks[:, :, None] > ranks[:, None, :])
    partners = is_discordant.sum(axis=1) + is_discordant.sum(axis=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "BLOCK", block)
        np.testing.assert_array_equal(pairs.count_discordant_partners(ranks), partners)
        np.testing.assert_array_equal(pairs.count_discordant(ranks), is_discordant.sum((1, 2)))


def test_every_permutation_of_five_has_scipys_p():
    second = np.array(list(permutations(range(5))), dtype=float)
    first = np.broadcast_to(np.arange(5.0), second.shape)
    ours = kendall_test(first, second, np.ones(second.shape, dtype=bool))
    theirs = [stats.kendalltau(a, b) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(ours.tau, [t.statistic for t in theirs], atol=1e-12)
    np.testing.assert_allclose(ours.p_value, [t.pvalue for t in theirs], rtol=1e-12)


@given(rows=two_rows(most_tokens=40))
def test_weighted_tau_is_scipys(rows):
    ours = weighted_tau(*rows)
    for i, (first, second) in enumerate(rows.per_row()):
        expected = stats.weightedtau(first, second).statistic if len(first) > 1 else np.nan
        assert ours[i] == pytest.approx(expected, abs=1e-10, nan_ok=True)


@given(rows=two_rows())
def test_pearson_is_numpys(rows):
    ours = pearson(*rows)
    for i, (first, second) in enumerate(rows.per_row()):
        if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
            assert np.isnan(ours[i])
        else:
            assert ours[i] == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-9)


@given(rows=two_rows(), fraction=st.floats(0.01, 1))
def test_overlap_is_the_mean_over_random_breaks_of_ties(rows, fraction):
    rng = np.random.default_rng(0)
    draws = 400
    ours = top_overlap(*rows, fraction)
    for i, (first, second) in enumerate(rows.per_row()):
        tokens = len(first)
        if tokens == 0:
            assert np.isnan(ours[i])
            continue
        k = max(1, int(np.ceil(fraction * tokens - 1e-9)))
        tops = [
            np.lexsort((rng.random((draws, tokens)), np.tile(-row, (draws, 1))))[:, :k]
            for row in (first, second)
        ]
        shared = [len(set(a) & set(b)) / k for a, b in zip(*tops, strict=True)]
        error = np.std(shared) / np.sqrt(draws)
        assert ours[i] == pytest.approx(np.mean(shared), abs=5 * error + 1e-9)


def test_tau_of_five_words_by_hand():
    # Pairs of (1,1) (2,2) (2,3) (3,2) (0,0): 10. Tied in first: words 2 and 3; in second: 2 and 4.
    # Discordant: words 3 and 4 (2 < 3 but 3 > 2). Concordant: the other 7.
    # tau_b = (7 - 1) / sqrt(10 - 1) / sqrt(10 - 1) = 6/9
    first, second = np.array([[1.0, 2, 2, 3, 0]]), np.array([[1.0, 2, 3, 2, 0]])
    assert kendall_tau(first, second, np.ones((1, 5), dtype=bool)) == pytest.approx(6 / 9)


def test_weighted_tau_minds_the_top_more_than_the_bottom():
    # Ranks from the top 1, 2, 3. Pairs weigh 1 + 1/2, 1 + 1/3, 1/2 + 1/3: in all 11/3.
    # Lower two exchanged: by either ranking (11/3 - 2 * 5/6) / (11/3) = 6/11.
    # Upper two exchanged: (11/3 - 2 * 3/2) / (11/3) = 2/11.
    three = np.ones((1, 3), dtype=bool)
    first = np.array([[3.0, 2, 1]])
    assert weighted_tau(first, np.array([[3.0, 1, 2]]), three) == pytest.approx(6 / 11)
    assert weighted_tau(first, np.array([[2.0, 3, 1]]), three) == pytest.approx(2 / 11)


def test_overlap_by_hand():
    # Top 2 of 4: {0, 1} and, of the tied 1 2 3, one at random beside 0: 1/2 (1 + 1/3).
    first, second = np.array([[4.0, 3, 2, 1]]), np.array([[9.0, 5, 5, 5]])
    overlap = top_overlap(first, second, np.ones((1, 4), dtype=bool), 0.5)
    assert overlap == pytest.approx(2 / 3)


def test_a_constant_measure_overlaps_as_chance_does():
    tokens = np.random.default_rng(0).random((1, 10))
    overlap = top_overlap(tokens, np.ones((1, 10)), np.ones((1, 10), dtype=bool), 0.3)
    assert overlap == pytest.approx(3 / 10)


def test_rows_that_cannot_be_ranked_are_nan():
    values = np.array([[1.0, 2, 3], [5, 5, 5], [1, 2, 3], [1, np.nan, 3]])
    other = np.array([[3.0, 1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3]])
    is_token = np.array([[True, False, False], [True] * 3, [False] * 3, [True] * 3])
    for agreement in (kendall_tau, weighted_tau, pearson):
        assert np.isnan(agreement(values, other, is_token)).all()
    p_values = kendall_test(values, other, is_token).p_value
    assert np.isnan(p_values).all()
    np.testing.assert_array_equal(
        np.isnan(top_overlap(values, other, is_token)), [False, False, True, True]
    )


def test_infinite_values_are_ranked_like_others():
    # An erased token may have importance inf; padding must not tie with it.
    first, second = np.array([[np.inf, 1, -np.inf, 0]]), np.array([[3.0, 2, 1, 9]])
    is_token = np.array([[True, True, True, False]])
    assert kendall_tau(first, second, is_token) == pytest.approx(1)
    assert np.isnan(pearson(first, second, is_token)).all()


def test_long_documents_are_counted_in_wide_integers():
    # 40,000 words: the square of the width no longer fits the small integers used for sorting.
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 1, 40_000))
    expected = stats.kendalltau(first[0], second[0])
    found = kendall_test(first, second, np.ones((1, 40_000), dtype=bool))
    assert found.tau[0] == pytest.approx(expected.statistic)
    assert found.p_value[0] == pytest.approx(expected.pvalue)


def test_no_documents_give_no_numbers():
    none = np.empty((0, 4))
    assert kendall_test(none, none, np.empty((0, 4), dtype=bool)).p_value.shape == (0,)
    for agreement in AGREEMENTS:
        assert agreement(none, none, np.empty((0, 4), dtype=bool)).shape == (0,)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5, float("nan")])
def test_a_fraction_outside_0_to_1_is_refused(fraction):
    with pytest.raises(ConfigError, match="fraction should be above 0 and at most 1"):
        top_overlap(np.ones((1, 2)), np.ones((1, 2)), np.ones((1, 2), dtype=bool), fraction)
