"""Scores of known doses -> the score at which a dose becomes intolerable."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing.operating_points import read_curve
from heedful.calibration import dose_curve
from heedful.calibration.dose_curve import Dosed, dose_cut, fitted

DOSES = (0.0, 0.1, 0.3, 0.6, 1.0)
shares = st.floats(0, 1).map(lambda value: round(value, 3))


def line(a=1.0, b=-1.0, clusters=4):
    return [Dosed(d, a + b * d, f"kind {n}") for n in range(clusters) for d in DOSES]


@pytest.fixture(autouse=True)
def few_resamples():
    with patch.object(dose_curve, "RESAMPLES", 60):
        yield


@pytest.mark.parametrize(("a", "b"), [(1.0, -1.0), (0.9, -0.5), (1.1, -1.3)])
def test_the_cut_of_a_straight_line_is_the_line(a, b):
    cut = dose_cut(line(a, b), 0.15)
    assert cut.value == pytest.approx(a + b * 0.15)
    assert (cut.low, cut.high) == pytest.approx((cut.value, cut.value))  # every draw is the line
    assert cut.models == 20
    assert cut.at(0.45) == pytest.approx(a + b * 0.45)


@given(rows=st.lists(st.tuples(shares, st.floats(-1, 2)), min_size=1, max_size=30))
def test_the_curve_never_rises_and_has_one_point_per_dose(rows):
    curve = fitted([Dosed(dose, score, "") for dose, score in rows])
    assert [dose for dose, _ in curve] == sorted({dose for dose, _ in rows})
    assert all(before[1] >= after[1] - 1e-12 for before, after in pairwise(curve))


@given(dose=st.floats(0, 1), slope=st.floats(-3, -0.1))
def test_reading_a_curve_inverts_reading_it_backwards(dose, slope):
    curve = tuple((d, 1 + slope * d) for d in DOSES)
    backwards = tuple(sorted((score, d) for d, score in curve))
    assert read_curve(backwards, read_curve(curve, dose)) == pytest.approx(dose, abs=1e-9)


def test_a_score_out_of_order_is_pooled_with_its_neighbour():
    # 0.5 then 0.7 rises: both become 0.6
    curve = fitted([Dosed(0.0, 1.0, ""), Dosed(0.2, 0.5, ""), Dosed(0.4, 0.7, "")])
    assert np.array(curve) == pytest.approx(np.array([(0.0, 1.0), (0.2, 0.6), (0.4, 0.6)]))


def test_there_is_no_cut_where_doses_are_few_or_lie_on_one_side():
    assert dose_cut([one for one in line() if one.dose > 0.05], 0.05) is None
    assert dose_cut([one for one in line() if one.dose < 0.5], 0.5) is None
    assert dose_cut([one for one in line() if one.dose in (0.0, 0.3, 1.0)], 0.15) is None


def test_the_interval_is_over_clusters_not_over_models():
    rng = np.random.default_rng(1)
    shifts = rng.normal(0, 0.05, 6)

    def models(copies):
        return [
            Dosed(d, 1 - d + shift, f"kind {n}")
            for n, shift in enumerate(shifts)
            for d in DOSES
            for _ in range(copies)
        ]

    once, often = dose_cut(models(1), 0.15), dose_cut(models(10), 0.15)
    assert once.low < once.value < once.high
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
