import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing.bootstrap import BootstrapSettings
from heedful.auditing.frontier import LARGEST_JSD, area, area_interval, frontier, tvd_terms

points = st.lists(
    st.tuples(st.floats(0, 0.69), st.floats(0, 1)), min_size=1, max_size=6, unique_by=lambda p: p[0]
)


@given(points)
def test_along_a_frontier_both_rise_and_nothing_beats_it(found):
    jsd, tvd = map(np.array, zip(*found, strict=True))
    kept = frontier(jsd, tvd)
    assert (np.diff(jsd[kept]) > 0).all()
    assert (np.diff(tvd[kept]) > 0).all()
    for far, paid in found:
        better = (jsd[kept] >= far) & (tvd[kept] <= paid)
        assert better.any()


def constant(values, documents=5):
    return np.repeat(np.array(values, dtype=float)[:, None], documents, axis=1)


def test_a_point_between_two_adversaries_is_on_the_line_between_them():
    jsd, tvd = constant([0.2, 0.6]), constant([0.1, 0.5])
    np.testing.assert_allclose(tvd_terms(jsd, tvd, 0.4), 0.3)
    np.testing.assert_allclose(tvd_terms(jsd, tvd, 0.1), 0.05)  # on the way from the origin
    np.testing.assert_allclose(tvd_terms(jsd, tvd, 0.2), 0.1)
    assert tvd_terms(jsd, tvd, 0.65) is None


def test_attention_that_is_the_same_everywhere_stays_at_the_origin():
    assert area(np.zeros(3), np.zeros(3)) == 0
    np.testing.assert_allclose(tvd_terms(constant([0.0]), constant([0.0]), 0.0), 0.0)


def test_terms_are_the_influence_of_each_document():
    """Leaving a document out moves the interpolated TVD as its term says, to first order."""
    draws = np.random.default_rng(0)
    documents = 4000
    jsd = np.clip(
        np.array([0.2, 0.55])[:, None] + 0.05 * draws.normal(size=(2, documents)), 0, 0.69
    )
    tvd = np.clip(np.array([0.1, 0.4])[:, None] + 0.05 * draws.normal(size=(2, documents)), 0, 1)
    terms = tvd_terms(jsd, tvd, 0.4)
    whole = terms.mean()
    for place in (0, 17, 99):
        kept = np.delete(np.arange(documents), place)
        without = tvd_terms(jsd[:, kept], tvd[:, kept], 0.4).mean()
        expected = whole + (whole - terms[place]) / (documents - 1)
        assert without - whole == pytest.approx(expected - whole, rel=0.02)


def test_a_document_that_was_not_asked_is_left_out():
    jsd, tvd = constant([0.5]), constant([0.2])
    jsd[0, 2] = np.nan
    terms = tvd_terms(jsd, tvd, 0.25)
    assert np.isnan(terms[2])
    np.testing.assert_allclose(np.delete(terms, 2), 0.1)


def test_the_area_of_a_straight_line_is_that_of_its_triangle():
    assert area(np.array([LARGEST_JSD]), np.array([1.0])) == pytest.approx(LARGEST_JSD / 2)
    value, low, high, documents = area_interval(
        constant([0.3, LARGEST_JSD]), constant([0.1, 1.0]), np.random.default_rng(0),
        BootstrapSettings(resamples=50),
    )  # fmt: skip
    assert (value, documents) == (pytest.approx(low), 5)
    assert value == pytest.approx(high)
