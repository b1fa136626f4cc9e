"""Answers remembered in a table of a fixed size."""

import numpy as np

from heedful.auditing.subjects.huggingface.answer_cache import RememberedAnswers


def length_and_one(asked: list[list[str]]):
    def answer(texts: list[str]) -> list[np.ndarray]:
        asked.append(texts)
        return [np.array([float(len(text)), 1.0]) for text in texts]

    return answer


def test_texts_are_asked_once_and_answered_in_order():
    asked: list[list[str]] = []
    remembered = RememberedAnswers(classes=2)
    texts = ["aa", "b", "aa", "\ud800cc", ""]
    found = remembered(texts, length_and_one(asked))
    np.testing.assert_array_equal(found[:, 0], [2, 1, 2, 3, 0])
    assert sorted(asked[0]) == sorted({*texts})
    again = remembered(["", "b", "new"], length_and_one(asked))
    np.testing.assert_array_equal(again[:, 0], [0, 1, 3])
    assert asked[1] == ["new"]
    assert remembered([], length_and_one(asked)).shape == (0, 2)


def test_what_is_forgotten_is_answered_again_and_the_table_does_not_grow():
    asked: list[list[str]] = []
    remembered = RememberedAnswers(classes=2, most_bytes=10 * 24)
    texts = ["a" * size for size in range(200)]
    for _ in range(2):
        found = remembered(texts, length_and_one(asked))
        np.testing.assert_array_equal(found[:, 0], np.arange(200))
    assert remembered._rows.shape == (10, 2)
    assert 190 <= len(asked[1]) <= 200
