import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from heedful.auditing import bootstrap
from heedful.auditing.bootstrap import (
    BootstrapSettings,
    estimate,
    f1_of_means,
    paired_difference,
    score,
    score_f1,
    score_share,
)
from heedful.errors import ConfigError, DataError
from heedful.intervals import wilson

FEW = BootstrapSettings(resamples=200)
columns = arrays(float, 12, elements=st.floats(-1, 1, allow_subnormal=False))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(
    floor=columns, gap=arrays(float, 12, elements=st.floats(0.01, 1)), sign=st.sampled_from([-1, 1])
)
def test_the_floor_scores_0_and_the_ceiling_1(floor, gap, sign):
    ceiling = floor + sign * gap  # on one side of the floor in every document, so in every resample
    at_floor, at_ceiling = (score(v, floor, ceiling, rng(), FEW) for v in (floor, ceiling))
    assert at_floor.separates("higher" if sign > 0 else "lower")
    # Exact on any machine: the differences are taken per document, and x - x is 0.
    assert (at_floor.score, *at_floor.interval) == (0, 0, 0)
    assert (at_ceiling.score, *at_ceiling.interval) == pytest.approx((1, 1, 1))


@given(value=columns, floor=columns, scale=st.sampled_from([-3.0, 0.5, 8.0]))
def test_turning_or_stretching_the_metric_changes_no_score(value, floor, scale):
    ceiling = np.abs(value) + np.abs(floor) + 1
    plain = score(value, floor, ceiling, rng(), FEW)
    turned = score(scale * value + 5, scale * floor + 5, scale * ceiling + 5, rng(), FEW)
    assert turned.score == pytest.approx(plain.score, abs=1e-9)
    assert turned.interval == pytest.approx(plain.interval, abs=1e-9)
    assert turned.separates("lower" if scale < 0 else "higher")


@given(value=columns, floor=columns, ceiling=columns)
def test_points_lie_inside_their_intervals_or_hard_by(value, floor, ceiling):
    mean = estimate(value, rng(), FEW)
    slack = 4 * np.std(value) / np.sqrt(len(value)) / np.sqrt(FEW.resamples) + 1e-9
    assert mean.interval[0] - slack <= mean.mean <= mean.interval[1] + slack
    spread = score(value, floor, ceiling, rng(), FEW).spread_interval
    assert spread[0] <= spread[1]


@given(values=columns, missing=st.integers(0, 12))
def test_documents_that_could_not_be_asked_are_left_out_and_counted(values, missing):
    with_gaps = np.concatenate([values, np.full(missing, np.nan)])
    plain, gappy = estimate(values, rng(), FEW), estimate(with_gaps, rng(), FEW)
    assert (gappy.mean, gappy.interval) == (plain.mean, plain.interval)
    assert (gappy.documents, gappy.left_out) == (12, missing)
    beside = score(with_gaps, 0.0, 1.0, rng(), FEW)
    assert (beside.documents, beside.left_out) == (12, missing)


@given(first=columns, second=columns)
def test_a_paired_difference_is_the_mean_of_differences(first, second):
    difference = paired_difference(first, second, rng(), FEW)
    assert difference.mean == pytest.approx(first.mean() - second.mean(), abs=1e-12)
    turned = paired_difference(second, first, rng(), FEW)
    assert turned.interval == pytest.approx((-difference.interval[1], -difference.interval[0]))


def test_the_interval_of_a_mean_is_scipys():
    values = rng().exponential(size=150)
    ours = estimate(values, rng(1), BootstrapSettings(resamples=20_000))
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=rng(2)
    ).confidence_interval
    assert ours.interval == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_the_interval_of_a_score_is_scipys():
    floor = rng(1).normal(size=120)
    value, ceiling = floor + rng(2).random(120), floor + 2 * rng(3).random(120)

    def ratio(value, floor, ceiling, axis=-1):
        v, f, c = (column.mean(axis=axis) for column in (value, floor, ceiling))
        return (v - f) / (c - f)

    ours = score(value, floor, ceiling, rng(4), BootstrapSettings(resamples=20_000))
    theirs = stats.bootstrap(
        (value, floor, ceiling),
        ratio,
        paired=True,
        n_resamples=20_000,
        method="percentile",
        rng=rng(5),
    ).confidence_interval
    assert ours.score == pytest.approx(ratio(value, floor, ceiling))
    assert ours.interval == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_about_95_of_100_intervals_hold_the_truth():
    held = 0
    for seed in range(200):
        low, high = estimate(rng(seed).normal(size=60), rng(seed + 1000), FEW).interval
        held += low <= 0 <= high
    assert 180 <= held <= 197  # binomial(200, 0.93 to 0.95) stays inside


def test_a_score_is_a_ratio_of_means_by_hand():
    # Means 2, 0, 6: score 1/3. The mean of the ratios 1/2 and 3/10 would be 2/5.
    found = score(np.array([1.0, 3.0]), 0.0, np.array([2.0, 10.0]), rng(), FEW)
    assert (found.value, found.floor, found.ceiling) == (2, 0, 6)
    assert found.score == pytest.approx(1 / 3)
    # Either document twice, or both: ratios 1/2, 3/10, 1/3; spreads 2, 10, 6.
    assert found.interval == pytest.approx((0.3, 0.5))
    assert found.spread_interval == pytest.approx((2, 10))


def test_lower_is_better_by_the_same_formula():
    # 0.3 of the support erased, 0.5 at random, 0.1 at best: halfway.
    found = score(np.full(4, 0.3), np.full(4, 0.5), np.full(4, 0.1), rng(), FEW)
    assert found.score == pytest.approx(0.5)
    assert found.separates("lower")
    assert not found.separates("higher")


def test_controls_that_coincide_have_no_power_and_no_score():
    same = rng().random(9)
    found = score(rng(1).random(9), same, same, rng(), FEW)
    assert np.isnan([found.score, *found.interval]).all()
    assert found.spread_interval == (0, 0)
    assert not found.separates("higher")
    assert not found.separates("lower")


def test_controls_that_chance_could_turn_around_have_no_power():
    # Two documents that disagree: resamples reach spreads of -1 and of 1.
    found = score(np.zeros(2), np.zeros(2), np.array([-1.0, 1.0]), rng(), FEW)
    assert found.spread_interval == (-1, 1)
    assert not found.separates("higher")
    assert not found.separates("lower")


def test_f1_of_means_by_hand():
    # Mean P = (2/3 + 0)/2 = 1/3, mean R = (1 + 0)/2 = 1/2: F1 = 2 * 1/6 / (5/6) = 2/5.
    # The mean of the two F1s, 4/5 and 0, would be the same here; with P = (1, 0), R = (1/2, 1):
    # mean P = 1/2, mean R = 3/4, F1 = 3/5, while the F1s 2/3 and 0 average 1/3.
    found = f1_of_means(np.array([2 / 3, 0.0]), np.array([1.0, 0.0]), rng(), FEW)
    assert found.mean == pytest.approx(2 / 5)
    found = f1_of_means(np.array([1.0, 0.0]), np.array([0.5, 1.0]), rng(), FEW)
    assert found.mean == pytest.approx(3 / 5)
    # Resamples: first twice 2/3, second twice 0, both 3/5.
    assert found.interval == pytest.approx((0, 2 / 3))


def test_f1_is_0_where_nothing_matches():
    nothing = np.zeros(3)
    assert f1_of_means(nothing, nothing, rng(), FEW).mean == 0


def test_a_score_of_f1_lies_between_the_f1s_of_its_controls():
    # F1s: value 3/5, floor 0, ceiling 1.
    one, none = np.ones(2), np.zeros(2)
    value = (np.array([1.0, 0.0]), np.array([0.5, 1.0]))
    found = score_f1(value, (none, none), (one, one), rng(), FEW)
    assert (found.value, found.floor, found.ceiling) == pytest.approx((0.6, 0, 1))
    assert found.score == pytest.approx(0.6)
    assert found.interval == pytest.approx((0, 2 / 3))


@pytest.mark.parametrize("documents", [0, 1])
def test_fewer_than_two_documents_have_no_interval(documents):
    values = np.full(documents, 0.5)
    found = estimate(values, rng(), FEW)
    assert np.isnan(found.interval).all()
    np.testing.assert_equal(found.mean, 0.5 if documents else np.nan)
    beside = score(values, 0.0, 1.0, rng(), FEW)
    assert np.isnan(beside.interval).all()
    assert not beside.separates("higher")
    assert np.isnan(beside.score) == (documents == 0)
    assert f1_of_means(values, values, rng(), FEW).documents == documents


def test_the_same_generator_gives_the_same_interval_in_chunks_of_any_size(monkeypatch):
    values = rng().random(50)
    at_once = estimate(values, rng(7), FEW)
    monkeypatch.setattr(bootstrap, "CELLS_AT_ONCE", 130)
    assert estimate(values, rng(7), FEW).interval == pytest.approx(at_once.interval)
    assert estimate(values, rng(8), FEW).interval != at_once.interval


def test_infinite_values_are_refused():
    with pytest.raises(DataError, match="1 document of 2 with infinite values"):
        estimate(np.array([1.0, np.inf, np.nan]), rng(), FEW)


@pytest.mark.parametrize("settings", [{"resamples": 0}, {"level": 0.0}, {"level": 1.0}])
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ConfigError):
        BootstrapSettings(**settings)


def test_a_share_is_scored_between_no_document_and_all():
    found = score_share(np.array([0.0, 1.0, 1.0, np.nan, 1.0, np.nan]))
    assert (found.value, found.floor, found.ceiling, found.score) == (0.75, 0.0, 1.0, 0.75)
    assert (found.documents, found.left_out) == (4, 2)
    assert found.interval == pytest.approx(wilson(3.0, 4))
    assert found.separates("higher")


def test_a_share_that_was_never_seen_still_has_a_width():
    low, high = score_share(np.ones(60)).interval
    assert high == 1
    assert low == pytest.approx(1 - stats.binomtest(0, 60).proportion_ci(method="wilson").high)
    assert low < 0.95


def test_a_share_of_no_document_has_no_interval():
    found = score_share(np.full(3, np.nan))
    assert np.isnan([found.value, found.score, *found.interval]).all()
    assert (found.documents, found.left_out) == (0, 3)
