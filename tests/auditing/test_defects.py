"""What makes a picture false however far its top words move the decision."""

import numpy as np
import pytest

from heedful.auditing.defects import find_defects
from heedful.auditing.word_effects import word_effects
from tests.auditing.doubles import a_subject, by_words

POINTS = {"great": 2.0, "good": 1.0, "fine": 0.5, "bad": -1.0, "awful": -2.0}


def defects(text, weights, predict=None):
    """The defects of one picture, from the weights of its words."""
    subject = a_subject(POINTS, lambda word: weights.get(word, 0.01), predict)
    reading = subject.read([text])
    return find_defects(subject, reading, reading.weights, word_effects(subject, reading))


def leads_with_minor_words(text, weights, predict=None):
    return bool(defects(text, weights, predict).leads_with_minor_words[0])


def of_phrases(texts):
    """`very good` decides, either of its words alone says nothing; `fine` adds a little."""
    points = {"phrase": 3.0, "fine": 0.5}
    return by_words(points)([text.replace("very good", "phrase", 1) for text in texts])


def behind_but(texts):
    """What stands behind `but` decides, or everything where there is none."""
    return by_words(POINTS)([text.rpartition("but")[2] for text in texts])


@pytest.mark.parametrize(("weight", "leads"), [(4.0, True), (2.0, False), (0.5, False)])
def test_a_word_that_does_nothing_may_not_have_most_of_the_weight_above_all_others(weight, leads):
    weights = {"one": weight, "great": 1.5, "good": 1.0}
    assert leads_with_minor_words("one two great three good four five six", weights) is leads


def test_words_that_do_nothing_are_no_defect_below_one_that_decides():
    weights = {"great": 1.0, "one": 0.9, "two": 0.9, "three": 0.9}
    assert not leads_with_minor_words("one two great three four five six seven", weights)


def test_a_word_that_matters_less_than_half_as_much_is_as_minor_as_one_that_does_nothing():
    """`fine` says a quarter of what `great` says, `good` half of it."""
    text = "one great two three four five six"
    assert leads_with_minor_words(f"fine {text}", {"fine": 5.0, "great": 1.0})
    assert not leads_with_minor_words(f"good {text}", {"good": 5.0, "great": 1.0})


def test_words_for_both_sides_are_not_minor():
    weights = {"bad": 3.0, "great": 1.0}
    assert not leads_with_minor_words("one bad great two three four five six", weights)


def test_words_that_do_nothing_one_by_one_may_decide_together():
    """Without one of two equal phrases nothing is lost, and a single word of them says nothing."""
    text = "one very good two three very good four fine five"
    phrases = {"very": 1.0, "good": 1.0, "fine": 0.5}
    assert not leads_with_minor_words(text, phrases, of_phrases)
    assert leads_with_minor_words(text, {"one": 9.0, **phrases}, of_phrases)


def test_a_picture_of_even_weights_does_not_lead_with_anything():
    words = ["one", "two", "great", "three", "good", "four", "five", "six"]
    assert not leads_with_minor_words(" ".join(words), dict.fromkeys(words, 1.0))


@pytest.mark.parametrize("gain", [0.2, 1.0, 5.0])
def test_how_sure_a_model_is_changes_no_defect(gain):
    predict = by_words({word: gain * points for word, points in POINTS.items()})
    found = defects("one two great three bad four", {"one": 5.0, "great": 1.0}, predict)
    assert found.leads_with_minor_words.tolist() == [True]
    assert found.misses_words.tolist() == [False]


def test_a_picture_of_only_the_word_that_silences_others_misses_words():
    """Without `but` far more is lost than without `good`, which it lets decide."""
    found = defects("awful bad but good one two three four", {"but": 1.0}, behind_but)
    assert found.misses_words.tolist() == [True]


def of_flag(texts):
    """Each `good` says as much as `sure`."""
    points = {"sure": 1.0, "good": 1.0, "fine": 0.7}
    return by_words(points)(texts)


def test_words_that_matter_half_as_much_may_not_be_hidden_if_together_they_decide_more():
    """Three `fine` lose 2.1 of 3.1, `good` loses 1: the three decide, and are not shown."""
    text = "one fine two fine three good four fine five"
    assert defects(text, {"good": 1.0}, of_flag).misses_words.tolist() == [True]
    assert defects(text, {"good": 1.0, "fine": 0.5}, of_flag).misses_words.tolist() == [False]
    # One `fine` beside `good` loses less than the word that is shown.
    assert defects("one good two fine three", {"good": 1.0}, of_flag).misses_words.tolist() == [
        False
    ]


def test_any_defect_counts():
    found = defects("one two great three good four five six", {"one": 9.0, "great": 1.0})
    assert not found.misses_words.any()
    np.testing.assert_array_equal(found.any, [True])
