import numpy as np
import pytest

from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.variants import KnownVariants
from heedful.estimator import Classifier


def test_every_variant_is_predicted_once_and_found_again():
    asked = []

    def predict(rows):
        asked.append(rows.tolist())
        return np.stack([document[rows], is_kept[rows].sum(axis=1)], axis=1).astype(np.float64)

    known = KnownVariants()
    document = np.array([1, 0, 1, 1])
    is_kept = np.array([[True, False], [True, False], [True, True], [True, False]])
    found = known(document, is_kept, predict)
    np.testing.assert_array_equal(found, [[1, 1], [0, 1], [1, 2], [1, 1]])
    document, is_kept = document[::-1], np.array([[False, False], [True, True], *is_kept[:2]])
    found = known(document, is_kept, predict)
    np.testing.assert_array_equal(found, [[1, 0], [1, 2], [0, 1], [1, 1]])
    assert asked == [[0, 1, 2], [0]]


def test_what_was_predicted_in_another_way_is_not_asked_for():
    known, document, is_kept = KnownVariants(), np.array([0, 1]), np.array([[True], [False]])
    known.add(document, is_kept, np.array([[0.25], [0.5]]))
    found = known(document[::-1], is_kept[::-1], lambda rows: np.full((len(rows), 1), np.nan))
    np.testing.assert_array_equal(found, [[0.5], [0.25]])


def test_no_variants_have_no_probabilities():
    nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=bool)
    assert KnownVariants()(*nothing, lambda rows: np.zeros((len(rows), 2))).shape == (0, 2)


@pytest.fixture(scope="module")
def trained(planted):
    classifier = Classifier(
        encoder="bilstm:hidden_size=4", embedding_size=8, recipe="standard:epochs=1"
    )
    return classifier.fit(planted.train.texts, planted.train.labels).trained_


def test_answers_that_are_remembered_are_those_of_a_fresh_reading(trained, planted):
    subject, texts = ClassifierSubject(trained), planted.test.texts[:6]
    reading = subject.read(texts)
    document, is_kept = reading.without_one
    subject.without_each(reading)
    first = subject.predict_kept(reading, document, is_kept)
    again = subject.predict_kept(reading, document[::-1], is_kept[::-1])
    np.testing.assert_array_equal(again, first[::-1])
    fresh = subject.predict_kept(subject.read(texts), document, is_kept)
    np.testing.assert_allclose(first, fresh, atol=1e-6)


def test_a_variant_that_also_keeps_padding_is_the_same(trained, planted):
    subject = ClassifierSubject(trained)
    reading = subject.read(sorted(planted.test.texts[:6], key=len))
    everyone = np.arange(6)
    padded = subject.predict_kept(reading, everyone, np.ones_like(reading.is_token))
    np.testing.assert_allclose(padded, reading.probabilities, atol=1e-6)


def test_texts_are_predicted_as_they_are_read(trained, planted):
    subject, texts = ClassifierSubject(trained), planted.test.texts[:300]
    np.testing.assert_allclose(
        subject.predict_texts(texts), subject.read(texts).probabilities, atol=1e-6
    )
    assert subject.predict_texts([]).shape == (0, len(subject.classes))
