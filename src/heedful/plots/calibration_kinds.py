"""Kinds of models with a known answer: which tests they fool, and what the verdict says of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import GREY, LETTER_WIDTH, LINE, ORANGE, QUIET, Figure, row_axis, styled

if TYPE_CHECKING:
    from altair.typing import ChartType

WRONG, BETWEEN, RIGHT = "#b3480a", "#e4ded4", "#2a6a9e"  # of a cell, on white and on near black
ON_DARK, ON_PALE = "#ffffff", "#16191d"  # numbers in cells: no report swaps these
VERDICTS = {"may": "#3d9bd6", "not-safe": GREY, "may-not": ORANGE}
SAID = {
    "may": "may be shown",
    "not-safe": "not shown to be safe",
    "may-not": "may not be shown",
}
GAP = " "  # the empty row or column between honest kinds and those that lie
CELL = 43  # its width
APART = 0.07  # room between cells, of a cell


def who_is_fooled(cells: pd.DataFrame, kinds: Mapping[str, bool]) -> Figure:
    """Rows question, test, kind, right, models, defines -> tests by kinds of models.

    No row: the truth is not known, or the test was not asked. `models` 0 and `defines`: the test
    defines the truth there; without it: the test has no cut. `kinds`: whether each explains.
    """
    columns = _with_gap(cells, kinds)
    names = list(dict.fromkeys(cells["test"]))
    shown = cells.assign(
        share=(cells["right"] / cells["models"].where(cells["models"] > 0)).round(4),
        said=[
            _in_cell(*one)
            for one in zip(cells["right"], cells["models"], cells["defines"], strict=True)
        ],
    )
    questions = list(dict.fromkeys(cells["question"]))
    panels = [
        _fooled(str(question), shown[shown["question"] == question], columns, names, n == 0)
        for n, question in enumerate(questions)
    ]
    return Figure(
        title="Who is fooled by whom",
        caption=(
            "Of the models of each kind with a score, how many the test answers rightly: an alarm "
            "where the question fails, none where it holds. Left of the gap are the kinds whose "
            "attention explains, right of it those whose attention lies. Blue: right on all; "
            "orange: wrong on all. Empty: the truth is not known of that kind, or the test "
            "could not be asked of it. D: the test measures what these models were chosen by, so "
            "it would be scored on itself. Dash: the test has no score there, or was asked of too "
            "few models to have a cut."
        ),
        chart=styled(alt.vconcat(*panels, spacing=7)),
    )


def _fooled(
    question: str, rows: pd.DataFrame, columns: list[str], names: list[str], is_first: bool
) -> "ChartType":
    order = list(dict.fromkeys(rows["test"]))
    room = LETTER_WIDTH * max(map(len, names))
    y_axis = row_axis(names)
    y_axis.titleAngle, y_axis.titleAlign, y_axis.titleFontWeight = 0, "left", 600
    y_axis.titleX, y_axis.titleY, y_axis.titleBaseline = -room - 92, 11, "middle"
    y = alt.Y(
        "test:N", sort=order, title=question, axis=y_axis, scale=alt.Scale(paddingInner=APART)
    )
    x_axis = alt.Axis(
        orient="top", labelAngle=-40, title=None, ticks=False, domain=False, labels=is_first,
        labelPadding=6,
    )  # fmt: skip
    x_scale = alt.Scale(domain=columns, paddingInner=APART)
    x = alt.X("kind:N", sort=columns, scale=x_scale, axis=x_axis if is_first else None)
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 0.5, 1], range=[WRONG, BETWEEN, RIGHT], interpolate="rgb"),
        legend=None,
    )
    rows = rows[["test", "kind", "share", "said", "right", "models"]]
    scored, unscored = rows[rows["models"] > 0], rows[rows["models"] == 0]
    tooltip = [alt.Tooltip(name) for name in ("test:N", "kind:N", "right:Q", "models:Q")]
    is_strong = "datum.share > 0.92 || datum.share < 0.08"
    ink = alt.condition(is_strong, alt.value(ON_DARK), alt.value(ON_PALE))
    cells = alt.Chart(scored).encode(x, y, tooltip=tooltip)
    others = alt.Chart(unscored).encode(x, y)
    return alt.layer(
        cells.mark_rect(cornerRadius=2, strokeWidth=0).encode(color=colour),
        cells.mark_text(fontSize=10.5).encode(text="said:N", color=ink),
        others.mark_rect(cornerRadius=2, stroke=LINE, strokeWidth=1, fill=None, filled=False),
        others.mark_text(fontSize=10.5, color=QUIET).encode(text="said:N"),
    ).properties(width=CELL * len(columns), height=alt.Step(22))


def _in_cell(right: int, models: int, defines: bool) -> str:
    if models:
        return f"{right}/{models}"
    return "D" if defines else "–"


def verdicts(models: pd.DataFrame, kinds: Mapping[str, bool]) -> Figure:
    """Rows kind, verdict, models -> a bar per kind, cut by what the verdict says."""
    places = _with_gap(models, kinds)
    rows = models.assign(
        said=models["verdict"].map(SAID), place=models["verdict"].map(list(VERDICTS).index)
    )
    scale = alt.Scale(domain=places)
    y = alt.Y("kind:N", sort=places, scale=scale, title=None, axis=row_axis(places))
    most = int(models.groupby("kind")["models"].sum().max())
    x_axis = alt.Axis(grid=True, tickMinStep=1, format="d")
    x = alt.X(
        "models:Q", stack="zero", title="models", axis=x_axis, scale=alt.Scale(domain=[0, most])
    )
    colours = alt.Scale(domain=list(SAID.values()), range=list(VERDICTS.values()))
    tooltip = ["kind:N", "said:N", "models:Q"]
    base = alt.Chart(rows).encode(y=y, order="place:Q", tooltip=tooltip)
    chart = alt.layer(
        base.mark_bar(height=16).encode(
            x=x, color=alt.Color("said:N", scale=colours, title=None, sort=list(SAID.values()))
        ),
        base.mark_text(align="right", dx=-5, color=ON_PALE, fontSize=11).encode(
            x=alt.X("models:Q", stack="zero"), detail="said:N", text="models:Q"
        ),
    ).properties(width=400, height=alt.Step(21))
    return Figure(
        title="What the verdict says of models it was not fitted on",
        caption=(
            "Every model of the zoo, judged by tests and cuts that were chosen on the other half "
            "of the settings. Above the gap are the kinds whose attention explains: they should "
            "pass. Below it are those whose attention lies: a model of theirs that may be shown "
            "is the mistake that matters most."
        ),
        chart=styled(chart),
    )


def _with_gap(rows: pd.DataFrame, kinds: Mapping[str, bool]) -> list[str]:
    """The kinds of some rows, honest ones first, an empty place between them and the others."""
    there = set(rows["kind"])
    honest = [kind for kind, explains in kinds.items() if explains and kind in there]
    liars = [kind for kind, explains in kinds.items() if not explains and kind in there]
    return [*honest, *([GAP] if honest and liars else []), *liars]
