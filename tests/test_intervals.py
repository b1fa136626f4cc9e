import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from heedful.intervals import wilson


@given(count=st.integers(0, 60), more=st.integers(0, 60), level=st.sampled_from([0.8, 0.95]))
def test_the_interval_of_a_share_is_scipys(count, more, level):
    if of := count + more:
        known = binomtest(count, of).proportion_ci(level, method="wilson")
        assert wilson(count, of, level) == pytest.approx((known.low, known.high), abs=1e-9)


def test_nothing_counted_says_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@given(of=st.integers(1, 1000))
def test_none_and_all_are_inside_their_intervals_to_the_bit(of):
    assert wilson(0, of)[0] == 0
    assert wilson(of, of)[1] == 1
