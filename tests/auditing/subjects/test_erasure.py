import numpy as np

from heedful.auditing.subjects.erasure import predict_sets, tops_of_size
from tests.auditing.doubles import a_subject


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
