import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.training.propensity import (
    cross_fitted_propensity,
    effective_sample_size,
    neutral_weights,
)


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(
    labels=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    seed=st.integers(0, 2**16),
)
def test_every_label_keeps_its_share(labels, seed):
    labels = np.array(labels)
    propensity = np.random.default_rng(seed).uniform(0, 1, len(labels))
    weights = neutral_weights(propensity, labels)
    shares = np.bincount(labels, weights=weights, minlength=4) / weights.sum()
    np.testing.assert_allclose(shares, np.bincount(labels, minlength=4) / len(labels), atol=1e-6)
    assert weights.mean() == pytest.approx(1)
    assert (weights > 0).all()


def test_patterns_that_tell_nothing_leave_all_documents_alike():
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 2, 2000)
    propensity = cross_fitted_propensity(draws.normal(size=(2000, 4)), labels, 5, rng())
    weights = neutral_weights(propensity, labels)
    assert effective_sample_size(weights) > 0.95 * len(labels)


def test_under_the_weights_a_telling_pattern_tells_nothing_any_more():
    """P(label | bit) is 0.8 or 0.2; weighed, it is the share of the label again."""
    draws = np.random.default_rng(1)
    bit = draws.integers(0, 2, 4000)
    labels = np.where(draws.uniform(size=4000) < 0.8, bit, 1 - bit)
    propensity = cross_fitted_propensity(bit[:, None].astype(float), labels, 5, rng())
    np.testing.assert_allclose(propensity, np.where(labels == bit, 0.8, 0.2), atol=0.05)
    weights = neutral_weights(propensity, labels)
    for side in (0, 1):
        share = weights[(bit == side) & (labels == 1)].sum() / weights[bit == side].sum()
        assert share == pytest.approx(labels.mean(), abs=0.02)
    assert effective_sample_size(weights) < 0.9 * len(labels)


def test_one_document_or_one_pattern_is_no_failure():
    assert cross_fitted_propensity(np.ones((1, 3)), np.array([0]), 5, rng()) == [1.0]
    same = cross_fitted_propensity(np.ones((40, 3)), np.arange(40) % 2, 5, rng())
    np.testing.assert_allclose(same, 0.5, atol=0.1)
