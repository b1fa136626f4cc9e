import numpy as np

from heedful.auditing.subjects.erasure import erase_greedily, predict_sets, tops_of_size
from tests.auditing.doubles import a_subject


def test_greedy_erasure_sees_that_two_words_say_the_same():
    # Either of the twins alone holds the decision up, so leave-one-out gives both next to nothing
    # and calls `solo` most important.
    subject = a_subject({})

    def predict(texts):
        rows = []
        for text in texts:
            words = text.split()
            strength = 4.0 * ("twin" in words or "double" in words) + 0.5 * ("solo" in words) - 2
            rows.append([1 / (1 + np.exp(strength)), 1 / (1 + np.exp(-strength))])
        return np.array(rows)

    subject.predict = predict
    reading = subject.read(["solo twin filler double filler"])
    alone = subject.importance(reading, "leave-one-out")
    assert alone[0].argmax() == 0
    ranking = erase_greedily(subject, reading, np.array([0]), alone, words=4, candidates=10)
    top = set(np.argsort(-ranking[0])[:3].tolist())
    assert {1, 3} <= top
    without_top_two = predict(["filler filler solo"])[0, 1]
    assert without_top_two < 0.5


def test_words_that_were_not_deleted_keep_their_order_of_importance():
    subject = a_subject({"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5})
    reading = subject.read(["d c b a"])
    importance = subject.importance(reading, "leave-one-out")
    ranking = erase_greedily(subject, reading, np.array([0]), importance, words=1, candidates=2)
    assert np.argsort(-ranking[0]).tolist() == [3, 2, 1, 0]


def test_every_set_is_predicted_as_if_alone_and_repeats_only_once():
    subject = a_subject({"a": 1.0, "b": -2.0})
    reading = subject.read(["a b c", "b a"])
    asked = []
    plain = subject.predict
    subject.predict = lambda texts: asked.extend(texts) or plain(texts)
    tops = tops_of_size(reading, reading.weights, np.array([[1, 1], [1, 2]]))
    one, two = predict_sets(subject, reading, np.array([0, 1]), [tops, tops[:, ::-1]])
    np.testing.assert_allclose(one[0, 0], plain(["a"])[0])
    np.testing.assert_allclose(one[1, 1], plain(["b a"])[0])
    np.testing.assert_allclose(two, one[:, ::-1])
    assert sorted(asked) == ["a", "b", "b a"]
