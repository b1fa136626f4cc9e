"""Power, false alarms and AUC of a score."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from heedful.calibration.roc import alarms, auc, best_cut, scores_of, separate, share

NAN = math.nan
some_scores = st.lists(
    st.sampled_from([-0.5, 0.0, 0.1, 0.2, 0.5, 0.9, 1.0, NAN]), min_size=1, max_size=40
)


@given(fails=some_scores, holds=some_scores)
def test_a_cut_keeps_false_alarms_within_5_percent_and_no_other_catches_more(fails, holds):
    fails, holds = scores_of(fails), scores_of(holds)
    cut = best_cut(fails, holds)
    assert alarms(holds, cut) <= 0.05
    if (~np.isnan(holds)).sum() <= 0.05 * len(holds):
        assert math.isnan(cut)  # there is nothing to cut by
        return
    tried = np.concatenate([fails, holds, [2.0]])
    for other in np.concatenate([tried, np.nextafter(tried, 3.0)]):
        if alarms(holds, other) <= 0.05:
            assert alarms(fails, other) <= alarms(fails, cut)


def test_the_cut_stands_in_the_middle_of_the_gap():
    assert best_cut(scores_of([0.0, 0.1]), scores_of([0.5, 0.9])) == pytest.approx(0.3)


def test_one_of_20_may_be_alarmed_wrongly():
    holds = scores_of([-1.0, *([0.8] * 19)])
    assert best_cut(scores_of([0.0, 0.2]), holds) == pytest.approx(0.5)
    # with 19, one would be more than 5%
    assert math.isnan(best_cut(scores_of([0.0, 0.2]), holds[:-1]))


def test_a_missing_score_is_never_an_alarm():
    assert alarms(scores_of([NAN, 0.0]), 0.5) == 0.5
    assert math.isnan(best_cut(scores_of([NAN]), scores_of([0.5])))


@given(fails=some_scores, holds=some_scores)
def test_auc_is_that_of_scikit_learn_with_missing_scores_highest(fails, holds):
    fails, holds = scores_of(fails), scores_of(holds)
    both = np.concatenate([fails, holds])
    expected = roc_auc_score(
        np.repeat([1, 0], [len(fails), len(holds)]), -np.where(np.isnan(both), 10.0, both)
    )
    assert auc(fails, holds) == pytest.approx(expected)


@given(count=st.integers(0, 30), more=st.integers(0, 30))
def test_shares_carry_wilsons_interval(count, more):
    of = count + more
    if not of:
        assert math.isnan(share(0, 0).value)
        return
    expected = binomtest(count, of).proportion_ci(0.95, method="wilson")
    found = share(count, of)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.models == of


def test_a_perfect_test_has_all_power_and_one_that_knows_nothing_little():
    rng = np.random.default_rng(0)
    perfect = separate(scores_of([0.0] * 20), scores_of([1.0] * 20), rng)
    assert (perfect.power.value, perfect.auc.value) == (1.0, 1.0)
    assert perfect.power.low == pytest.approx(0.839, abs=1e-3)  # Wilson's, of 20 of 20
    assert perfect.false_alarms.value == 0.0
    same = rng.random(200)
    nothing = separate(same, same, rng)
    assert nothing.power.value < 0.2
    assert nothing.auc.low < 0.5 < nothing.auc.high
