import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, log_loss

from heedful.training.evaluate import mean_f1, score


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
