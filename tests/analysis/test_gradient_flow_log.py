import numpy as np
import pytest

from heedful.analysis.gradient_flow.log import FlowLog, word_columns
from heedful.analysis.gradient_flow.of_model import flow_of
from heedful.training.fit import Epoch, Watcher
from tests.analysis.models import a_model, some_documents

KINDS = {"negative": np.array([3, 4]), "positive": np.array([5]), "neutral": np.array([6, 7, 8])}


class Counting(Watcher):
    def __init__(self) -> None:
        self.ended = 0

    def end_epoch(self, epoch, model) -> None:
        self.ended += 1


def test_reading_before_the_first_epoch_is_passed_on():
    class Hearing(Watcher):
        told = ()

        def begin_reading(self, documents):
            self.told += (documents,)

        def end_reading(self):
            self.told += ("read",)

    other = Hearing()
    log = FlowLog(some_documents(2), KINDS, other)
    log.begin_reading(5)
    log.end_reading()
    assert other.told == (5, "read")


def test_a_log_has_the_means_of_every_kind_after_every_epoch():
    model = a_model("embedding", "dot:scale=3.0", 2).eval()
    batches, other = some_documents(2), Counting()
    log = FlowLog(batches, KINDS, other)
    log.look(model)
    epoch = Epoch(0, 1, 0.5, None, True, 0.1)
    log.end_epoch(epoch, model)
    assert other.ended == 1
    assert [row["epoch"] for row in log.words] == [0, 0, 0, 1, 1, 1]
    assert [row["epoch"] for row in log.epochs] == [0, 1]
    assert len(log.dots) == 2 * 6
    flow = flow_of(model, batches)
    by_kind = {row["kind"]: row for row in log.words[3:]}
    for name in "ABC":
        expected = flow.terms.polarity[name][KINDS["neutral"], 0].mean()
        assert by_kind["neutral"][name] == pytest.approx(float(expected))
    assert by_kind["positive"]["F"] == pytest.approx(float(flow.terms.attention["F"][5]))
    assert log.epochs[1]["query_times_output"] == pytest.approx(float(flow.query_times_output[0]))
    assert log.epochs[1]["train_loss"] == 0.5


def test_with_many_labels_a_word_is_read_on_the_label_it_leans_to():
    model = a_model("embedding", "dot:scale=3.0", 3).eval()
    flow = flow_of(model, some_documents(3))
    kinds = {"a": np.array([3]), "b": np.array([4]), "c": np.array([5]), "neutral": np.array([6])}
    columns, s = word_columns(flow, kinds), flow.polarity.numpy()
    own = [s[3, 0], s[4, 1], s[5, 2]]
    others = [s[3, 1:].mean(), s[4, [0, 2]].mean(), s[5, :2].mean()]
    np.testing.assert_allclose(columns["polarity"][3:6], np.subtract(own, others))
    margins = [s[6, k] - np.delete(s[6], k).mean() for k in range(3)]
    assert columns["polarity"][6] == pytest.approx(max(margins))
    chosen, b = int(np.argmax(margins)), flow.terms.polarity["B"].numpy()[6]
    assert columns["B"][6] == pytest.approx(b[chosen] - np.delete(b, chosen).mean())
