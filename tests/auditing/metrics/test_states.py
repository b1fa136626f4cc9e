import numpy as np
import pytest

from heedful.auditing.metrics.states import conicity
from heedful.model.pattern import weight_pattern

ALL = np.ones((1, 2), dtype=bool)


def test_conicity_by_hand():
    # mean of (1, 0) and (0, 1) is (.5, .5); each is at 45 degrees to it
    states = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    assert conicity(states, ALL) == pytest.approx(np.sqrt(0.5))


def test_equal_states_have_conicity_one_and_padding_does_not_count():
    states = np.array([[[1.0, 2.0], [1.0, 2.0], [-9.0, 4.0]]])
    assert conicity(states, np.array([[True, True, False]])) == pytest.approx(1)


def test_states_that_cancel_have_no_direction_in_common():
    assert conicity(np.array([[[1.0, 0.0], [-1.0, 0.0]]]), ALL) == pytest.approx(0)


def test_padding_changes_no_pattern():
    weights = np.array([[0.5, 0.3, 0.2]])
    bare = weight_pattern(weights, np.ones((1, 3), dtype=bool))
    padded = weight_pattern(np.pad(weights, ((0, 0), (0, 9))), np.arange(12)[None] < 3)
    np.testing.assert_allclose(bare, padded)


def test_a_pattern_tells_weights_of_different_places_apart():
    is_token = np.ones((2, 4), dtype=bool)
    pattern = weight_pattern(np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]]), is_token)
    assert not np.allclose(pattern[0], pattern[1])
