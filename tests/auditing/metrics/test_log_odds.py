"""Probabilities read in log-odds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, log_softmax, logit, softmax

from heedful.auditing.metrics.log_odds import SMALLEST, log_odds

LOGITS = st.floats(-30, 30)


def of_class(probabilities, target):
    return log_odds(np.array([probabilities]), np.array([target]))[0]


@given(st.floats(1e-9, 1 - 1e-9))
def test_of_two_classes_it_is_scipys_logit(probability):
    found = of_class([1 - probability, probability], 1)
    assert found == pytest.approx(logit(probability), abs=1e-6)


@given(arrays(float, (5, 4), elements=LOGITS))
def test_of_more_classes_the_others_are_one(logits):
    target = np.arange(5) % 4
    found = log_odds(softmax(logits, axis=1), target)
    for row, number in enumerate(target):
        own = log_softmax(logits[row])[number]
        others = np.logaddexp.reduce(np.delete(log_softmax(logits[row]), number))
        assert found[row] == pytest.approx(own - others, abs=1e-9)


@given(st.floats(-200, 200), st.floats(0.1, 3))
def test_multiplying_the_logits_of_two_classes_multiplies_it(difference, factor):
    once, more = (
        of_class([expit(-difference * times), expit(difference * times)], 1)
        for times in (1.0, factor)
    )
    assert once == pytest.approx(difference, abs=1e-9)
    assert more == pytest.approx(factor * once, abs=1e-9)


@pytest.mark.parametrize("rest", [1e-18, 1e-100, 1e-250])
def test_a_probability_that_is_1_to_the_last_digit_keeps_its_odds(rest):
    assert 1 - rest == 1
    assert of_class([1.0, rest], 0) == pytest.approx(-np.log(rest))
    assert of_class([1.0, rest], 1) == pytest.approx(np.log(rest))


def test_a_probability_of_0_has_the_odds_of_the_smallest_one():
    assert of_class([1.0, 0.0], 0) == pytest.approx(-np.log(SMALLEST))
    assert log_odds(np.array([[1.0, 0.0]]), np.array([1]), 1e-6)[0] == pytest.approx(np.log(1e-6))


def test_it_leaves_the_probabilities_as_they_are():
    probabilities = np.array([[0.25, 0.75]])
    log_odds(probabilities, np.array([1]))
    assert probabilities.tolist() == [[0.25, 0.75]]
