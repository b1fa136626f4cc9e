import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import f1_score, log_loss

from heedful.training.evaluate import mean_f1, score, wilson


@given(hits=st.integers(0, 50), misses=st.integers(0, 50))
def test_the_interval_is_scipys_wilson_interval(hits, misses):
    if hits + misses:
        expected = binomtest(hits, hits + misses).proportion_ci(method="wilson")
        assert wilson(hits, hits + misses) == pytest.approx((expected.low, expected.high), abs=1e-6)
    else:
        assert wilson(0, 0) == (0.0, 1.0)


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 4))
def test_scores_equal_scikit_learns(seed, classes):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, 40)
    probabilities = rng.dirichlet(np.ones(classes), 40).astype(np.float32)
    ours = score(probabilities, labels)
    predictions = probabilities.argmax(axis=1)
    assert ours.accuracy == pytest.approx((predictions == labels).mean())
    exact = probabilities.astype(np.float64)
    normalised = exact / exact.sum(axis=1, keepdims=True)
    expected = log_loss(labels, normalised, labels=range(classes))
    assert ours.loss == pytest.approx(expected, rel=1e-4)
    assert mean_f1(predictions, labels, classes) == pytest.approx(
        f1_score(labels, predictions, average="macro")
    )
