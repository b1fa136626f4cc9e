import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heedful.auditing.metrics.erasure import (
    accuracy_drop,
    comprehensiveness,
    fraction_to_flip,
    post_hoc_accuracy_gold,
    post_hoc_accuracy_own,
    probability_drop,
    sufficiency,
)

chances = st.floats(0, 1)
classes = st.integers(0, 2)


@pytest.mark.parametrize("fall", [comprehensiveness, sufficiency, probability_drop])
@given(probability=arrays(float, 4, elements=chances), steps=st.integers(1, 5))
def test_a_prediction_that_never_moves_falls_by_nothing(fall, probability, steps):
    unmoved = np.repeat(probability[:, None], steps, axis=1)
    np.testing.assert_allclose(fall(probability, unmoved), 0, atol=1e-12)


@given(
    label=arrays(int, 4, elements=classes),
    prediction=arrays(int, 4, elements=classes),
    changed=arrays(int, (4, 3), elements=classes),
)
def test_accuracy_drop_averages_to_the_difference_of_two_accuracies(label, prediction, changed):
    before = np.mean(prediction == label)
    after = np.mean(changed == label[:, None])
    assert accuracy_drop(label, prediction, changed).mean() == pytest.approx(before - after)


@given(prediction=arrays(int, 4, elements=classes), kept=arrays(int, (4, 3), elements=classes))
def test_gold_and_own_accuracy_are_one_when_every_prediction_is_right(prediction, kept):
    np.testing.assert_array_equal(
        post_hoc_accuracy_gold(prediction, kept), post_hoc_accuracy_own(prediction, kept)
    )


@given(is_flipped=arrays(bool, (4, 6)))
def test_fraction_to_flip_is_what_a_loop_finds(is_flipped):
    share_erased = np.cumsum(np.full((4, 6), 1 / 6), axis=1)
    expected = []
    for flips, shares in zip(is_flipped, share_erased, strict=True):
        expected.append(next((s for f, s in zip(flips, shares, strict=True) if f), 1.0))
    np.testing.assert_allclose(fraction_to_flip(is_flipped, share_erased), expected)


def test_the_eraser_falls_by_hand():
    # p(all) = 0.9. Without the top 1, 5, 10, 20, 50 %: 0.88 0.80 0.60 0.50 0.20
    #   falls 0.02 0.10 0.30 0.40 0.70, mean 1.52 / 5 = 0.304
    # With only them: 0.50 0.60 0.85 0.90 0.95
    #   falls 0.40 0.30 0.05 0.00 -0.05, mean 0.70 / 5 = 0.14
    probability = np.array([0.9])
    erased = np.array([[0.88, 0.80, 0.60, 0.50, 0.20]])
    kept = np.array([[0.50, 0.60, 0.85, 0.90, 0.95]])
    assert comprehensiveness(probability, erased) == pytest.approx(0.304)
    assert probability_drop(probability, erased) == pytest.approx(0.304)
    assert sufficiency(probability, kept) == pytest.approx(0.14)


def test_accuracies_by_hand():
    # Right at first, wrong at 2 of 3 steps: 1 - 1/3. Wrong at first, right at 1 step: 0 - 1/3.
    label, prediction = np.array([0, 1]), np.array([0, 0])
    changed = np.array([[0, 1, 1], [0, 0, 1]])
    assert accuracy_drop(label, prediction, changed) == pytest.approx([2 / 3, -1 / 3])
    # The second document keeps the model's own mistake at two steps and the gold label at one.
    assert post_hoc_accuracy_gold(label, changed) == pytest.approx([1 / 3, 1 / 3])
    assert post_hoc_accuracy_own(prediction, changed) == pytest.approx([1 / 3, 2 / 3])


def test_a_decision_that_never_flips_counts_as_one():
    share_erased = np.array([[0.25, 0.5, 0.75], [0.25, 0.5, 0.75]])
    is_flipped = np.array([[False, False, False], [False, True, False]])
    assert fraction_to_flip(is_flipped, share_erased).tolist() == [1.0, 0.5]
    no_steps = np.empty((2, 0))
    assert fraction_to_flip(no_steps.astype(bool), no_steps).tolist() == [1.0, 1.0]
