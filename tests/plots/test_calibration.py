"""Figures of a calibration."""

import math
import re
from typing import Any

import pandas as pd
import pytest
import vl_convert

from heedful.plots import Figure
from heedful.plots.calibration import GAP, ranking, roc_curves, verdicts, who_is_fooled

NAN = math.nan
KINDS = {"liar": False, "honest": True, "sharp": True, "flat": False}


def a_test(question, test, power, *, is_judged=True, why=""):
    numbers = {"power": power, "low": power - 0.1, "high": min(power + 0.1, 1), "elsewhere": power}
    named = {"question": question, "test": test, "paper": "A 2019"}
    return {**named, **numbers, "is_judged": is_judged, "why": why}


RANKING = pd.DataFrame(
    [
        a_test("decisive", "best", 0.9),
        a_test("decisive", "second", 0.4, is_judged=False),
        a_test("plausible", "unranked", NAN, is_judged=False, why="defines the truth of 55"),
    ]
)
CURVES = pd.DataFrame(
    {
        "question": ["decisive"] * 3 + ["telling"] * 2,
        "test": ["a", "a", "a", "b", "b"],
        "false_alarms": [0.0, 0.0, 1.0, 0.0, 1.0],
        "power": [0.0, 0.8, 1.0, 0.0, 1.0],
    }
)
CELLS = pd.DataFrame(
    [
        ("decisive", "permutation", "liar", 0, 4, False),
        ("decisive", "permutation", "honest", 5, 5, False),
        ("plausible", "auprc", "honest", 0, 0, True),
        ("plausible", "auprc", "sharp", 2, 3, False),
        ("stable", "jsd", "sharp", 0, 0, False),
    ],
    columns=["question", "test", "kind", "right", "models", "defines"],
)
VERDICTS = pd.DataFrame(
    [("liar", "may-not", 3), ("liar", "not-safe", 1), ("honest", "may", 5)],
    columns=["kind", "verdict", "models"],
)


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    return {
        "ranking": ranking(RANKING),
        "roc": roc_curves(CURVES),
        "fooled": who_is_fooled(CELLS, KINDS),
        "verdicts": verdicts(VERDICTS, KINDS),
    }


def drawn(figure: Figure) -> str:
    return vl_convert.vegalite_to_svg(figure.chart.to_dict(), show_warnings=True)


def texts(figure: Figure) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn(figure))


def inside(chart: Any, kind: str) -> list[dict[str, Any]]:
    """Every layer of a chart with that mark."""
    parts = [part for name in ("vconcat", "concat", "layer") for part in chart.get(name, ())]
    own = [chart] if isinstance(chart.get("mark"), dict) and chart["mark"]["type"] == kind else []
    return own + [one for part in parts for one in inside(part, kind)]


def rows_of(figure: Figure, kind: str) -> list[dict[str, Any]]:
    """The rows behind all marks of a kind."""
    chart = figure.chart.to_dict()
    named = [layer.get("data", chart.get("data"))["name"] for layer in inside(chart, kind)]
    return [row for name in named for row in chart["datasets"][name]]


def test_every_figure_is_drawn_without_a_warning_and_says_how_to_read_it(figures, capfd):
    for name, figure in figures.items():
        svg = drawn(figure)
        assert svg.count("mark-") > 3, name
        assert "null" not in svg, name
        assert "NaN" not in svg, name
        assert len(figure.caption) > 100, name
        assert figure.caption.endswith("."), name
    assert "WARN" not in "".join(capfd.readouterr())


def test_a_test_without_a_place_in_the_ranking_has_no_dot_but_says_why(figures):
    assert {row["test"] for row in rows_of(figures["ranking"], "point")} == {"best", "second"}
    assert "defines the truth of 55" in texts(figures["ranking"])


def test_tests_stand_in_the_order_of_the_rows():
    backwards = ranking(RANKING.iloc[[1, 0, 2]])
    for figure, first in ((ranking(RANKING), "best"), (backwards, "second")):
        names = [text for text in texts(figure) if text in ("best", "second")]
        assert names[0] == first


def test_only_a_judged_test_has_a_full_dot(figures):
    dots = re.findall(r'<path[^>]*stroke="#0072b2"[^>]*>', drawn(figures["ranking"]))
    assert ["fill" in dot for dot in dots] == [True, False]


def test_every_question_has_its_curves_and_the_5_percent_line(figures):
    assert [row["false_alarms"] for row in rows_of(figures["roc"], "rule")] == [0.05, 0.05]
    assert {"decisive", "telling", "a", "b"} <= set(texts(figures["roc"]))


def test_a_cell_that_defines_the_truth_carries_a_letter_and_no_number(figures):
    said = {(r["test"], r["kind"]): r["said"] for r in rows_of(figures["fooled"], "text")}
    assert said == {
        ("permutation", "liar"): "0/4",
        ("permutation", "honest"): "5/5",
        ("auprc", "honest"): "D",
        ("auprc", "sharp"): "2/3",
        ("jsd", "sharp"): "–",
    }
    coloured = inside(figures["fooled"].chart.to_dict(), "rect")
    shares = [layer for layer in coloured if "color" in layer["encoding"]]
    names = {layer["data"]["name"] for layer in shares}
    data = figures["fooled"].chart.to_dict()["datasets"]
    assert sorted(row["share"] for name in names for row in data[name]) == [0.0, 0.6667, 1.0]


def test_honest_kinds_come_first_and_kinds_without_rows_not_at_all(figures):
    for name, axis in (("fooled", "x"), ("verdicts", "y")):
        layer = inside(figures[name].chart.to_dict(), "text")[0]
        kinds = layer["encoding"][axis]["scale"]["domain"]
        assert kinds == (
            ["honest", "sharp", GAP, "liar"] if axis == "x" else ["honest", GAP, "liar"]
        )


def test_every_verdict_is_counted_where_it_was_given(figures):
    counted = {
        (row["kind"], row["said"]): row["models"] for row in rows_of(figures["verdicts"], "bar")
    }
    assert counted == {
        ("liar", "may not be shown"): 3,
        ("liar", "not shown to be safe"): 1,
        ("honest", "may be shown"): 5,
    }
