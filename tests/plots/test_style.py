from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest

from heedful.auditing.document_filter import Within
from heedful.plots.style import by_prediction, picture, shares, whole_numbers


def test_a_histogram_counts_every_document_once():
    documents = pd.DataFrame({"moved": [0.0, 0.1, 0.99, 1.0, 7.0, np.nan]})
    counted = shares(documents, "moved", 0.0, 1.0, bins=10)
    assert counted["documents"].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 3]
    assert counted["share"].sum() == pytest.approx(1.0)
    bars = [Within.parse(parse_qs(query)["where"][0]) for query in counted["behind"]]
    behind = [int(bar.holds(documents["moved"].to_numpy()).sum()) for bar in bars]
    assert behind == counted["documents"].tolist()


def test_rare_labels_share_a_panel():
    frame = pd.DataFrame({"prediction": [*"aaaabbbbccccdde"], "moved": np.arange(15)})
    panels = {panel.title: panel for panel in by_prediction(frame)}
    counts = {title: len(panel.documents) for title, panel in panels.items()}
    assert counts == {"predicted a": 4, "predicted b": 4, "predicted c": 4, "other labels": 3}
    assert panels["predicted a"].predictions == ("a",)
    assert panels["other labels"].predictions == ("d", "e")


def test_few_labels_have_a_panel_each():
    frame = pd.DataFrame({"prediction": [*"dbca"]})
    titles = [panel.title for panel in by_prediction(frame)]
    assert titles == [f"predicted {name}" for name in "abcd"]


@pytest.mark.parametrize(
    ("last", "marks"),
    [(3, [0, 1, 2, 3]), (24, [0, 5, 10, 15, 20]), (40, [0, 10, 20, 30, 40])],
)
def test_epochs_are_marked_at_whole_numbers(last, marks):
    assert whole_numbers(pd.Series(range(last + 1))).to_dict()["values"] == marks


def test_numbers_may_be_drawn_by_how_far_they_lie_below_a_limit():
    rows = [{"over": x, "mean": 0.5, "low": 0.4, "high": 0.6, "seeds": 3} for x in (-9.0, 0.0, 0.9)]
    chart = picture(pd.DataFrame(rows), "T", "sparsity", "tau", log_below=1.0).chart.to_dict()
    drawn = next(iter(chart["datasets"].values()))
    assert [row["over"] for row in drawn] == [10.0, 1.0, 0.1]
    (panel,) = chart["concat"]
    assert panel["layer"][0]["encoding"]["x"]["scale"] == {"type": "log", "reverse": True}
    assert panel["layer"][0]["encoding"]["x"]["title"] == "1 - sparsity, logarithmic"
