"""Answers remembered in a table of a fixed size."""

import numpy as np

from heedful.auditing.subjects.huggingface.answer_cache import RememberedAnswers, RememberedScores
from heedful.auditing.subjects.huggingface.loading import of_pair
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.readouts import readouts
from tests.readouts.tiny import tiny_model, tiny_tokenizer


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


def test_scores_are_remembered_together_and_the_oldest_are_forgotten():
    remembered = RememberedScores(most_bytes=8 * 5)
    remembered.note(["a", "b"], [np.array([1.0, 2.0]), np.array([3.0])])
    np.testing.assert_array_equal(remembered.recall(["b", "a"])[1], [1.0, 2.0])
    assert remembered.recall(["a", "c"]) is None
    remembered.note(["c"], [np.array([4.0, 5.0, 6.0])])
    assert remembered.recall(["a"]) is None
    np.testing.assert_array_equal(remembered.recall(["b", "c"])[1], [4.0, 5.0, 6.0])


def test_readouts_share_measures_that_do_not_look_at_them():
    model, tokenizer = tiny_model("Bert"), tiny_tokenizer()
    loaded = of_pair(model, tokenizer)
    texts = ["a good old film .", "unhappily bad", "new"]
    first, second = (
        subject_of(loaded.model, readouts.make(name), loaded.classes)
        for name in ("last-cls", "rollout")
    )
    alone = subject_of(of_pair(model, tokenizer).model, readouts.make("rollout"), loaded.classes)
    asked = []
    for measure in ("decomposition", "alti", "attention-x-gradient", "attention"):
        first.importance(first.read(texts), measure)
        reading = second.read(texts[::-1])
        passes = count_passes(model, lambda: asked.append(second.importance(reading, measure)))  # noqa: B023
        assert (passes == 0) == (measure != "attention-x-gradient"), measure
        expected = alone.importance(alone.read(texts[::-1]), measure)
        np.testing.assert_allclose(asked[-1], expected, atol=1e-5)


def count_passes(model, work) -> int:
    counted = []
    handle = model.register_forward_hook(lambda *told: counted.append(1))
    work()
    handle.remove()
    return len(counted)
