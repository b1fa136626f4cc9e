"""Words replaced instead of deleted."""

import numpy as np
import pytest

from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.subjects.replacing import Replacing, replaced
from tests.auditing.doubles import a_subject


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([True, True, True], "one,  two three!"),
        ([False, True, False], "?,  two ?!"),
        ([False, False, False], "?,  ? ?!"),
    ],
)
def test_what_is_between_words_stays(kept, expected):
    offsets = np.array([[0, 3], [6, 9], [10, 15]])
    assert replaced("one,  two three!", offsets, np.array(kept), "?") == expected


@pytest.mark.parametrize(
    ("kept", "replacement", "expected"),
    [
        ([True, False, True, True], "unknown", "great unknown semi-dark"),
        ([True, True, True, False], "unknown", "great!semi-unknown"),
        ([False, False, False, False], "unknown", "unknown unknown unknown-unknown"),
        ([True, True, True, True], "unknown", "great!semi-dark"),
        ([True, False, False, True], "[MASK]", "great[MASK][MASK]-dark"),
    ],
)
def test_a_replacement_does_not_run_into_the_words_around_it(kept, replacement, expected):
    offsets = np.array([[0, 5], [5, 6], [6, 10], [11, 15]])
    assert replaced("great!semi-dark", offsets, np.array(kept), replacement) == expected


class Replaceable(PlainSubject):
    replacement = "unknown"


def test_a_replacement_that_says_nothing_judges_a_bag_of_words_as_deletion_does():
    plain = a_subject({"good": 1.0, "bad": -2.0})
    subject = Replaceable(plain.predict, plain.attend, plain.classes)
    reading = subject.read(["good bad one", "good one two three"])
    document = np.array([0, 0, 1, 1])
    is_kept = (np.random.default_rng(0).random((4, 4)) < 0.5) & reading.is_token[document]
    np.testing.assert_allclose(
        Replacing(subject, subject.replacement).predict_kept(reading, document, is_kept),
        subject.predict_kept(reading, document, is_kept),
    )
