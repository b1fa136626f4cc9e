"""Figures of a calibration."""

import math
import re
from typing import Any

import pandas as pd
import pytest
import vl_convert

from heedful.plots import Figure
from heedful.plots.calibration import dose_curve, ranking

NAN = math.nan


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
MODELS = pd.DataFrame(
    [("module", f"model {dose}", dose, 1 - dose) for dose in (0.0, 0.2, 1.0)]
    + [("classifier", "other", 0.4, 0.5)],
    columns=["architecture", "model", "dose", "score"],
)
CUTS = pd.DataFrame(
    [("classifier", 0.82, 0.8, 0.84), ("module", 0.85, 0.8, 0.9)],
    columns=["architecture", "value", "low", "high"],
)


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    doses = dose_curve("true pictures", "documents with a false picture", 0.15, MODELS, CUTS)
    return {"ranking": ranking(RANKING), "doses": doses}


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


def test_a_dose_curve_shows_every_model_the_tolerated_dose_and_every_cut(figures):
    assert [row["dose"] for row in rows_of(figures["doses"], "point")] == [0.0, 0.2, 1.0, 0.4]
    rules = rows_of(figures["doses"], "rule")
    assert [row["dose"] for row in rules if "dose" in row] == [0.15]
    assert [row["value"] for row in rules if "value" in row] == [0.82, 0.85]
    bands = rows_of(figures["doses"], "rect")
    assert [(row["low"], row["high"]) for row in bands] == [(0.8, 0.84), (0.8, 0.9)]
    assert "tolerated dose, 15%" in figures["doses"].caption


def test_kinds_of_models_differ_in_colour_and_in_shape(figures):
    (layer,) = inside(figures["doses"].chart.to_dict(), "point")
    for channel in ("color", "shape"):
        scale = layer["encoding"][channel]["scale"]
        assert scale["domain"] == ["classifier", "module"]
        assert len(set(scale["range"])) == 2
