"""Models with a known answer: which tests can be relied on, and which models fool them.

A model *fails* on a question or it *holds*; a test raises an alarm where its score lies below its
cut. Power is the share of the models that fail on which it does.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    GREY,
    INK,
    LETTER_WIDTH,
    LINE,
    ORANGE,
    OTHERS,
    QUIET,
    Figure,
    row_axis,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

FALSE_ALARMS = 0.05  # that the cuts allow, as a share of the models that hold
DASHES = ([1, 0], [5, 3], [2, 2])  # of lines that share a colour
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


def ranking(tests: pd.DataFrame) -> Figure:
    """Rows question, test, paper, power, low, high, elsewhere, is_judged, why -> a dot per test.

    Questions and tests stand in the order of the rows; a test with a `why` says that instead.
    """
    rows = tests.assign(state=tests["is_judged"].map({True: "judged", False: "only reported"}))
    names = list(rows["test"])
    questions = list(dict.fromkeys(rows["question"]))
    panels = [
        _ranked(str(question), rows[rows["question"] == question], names, question == questions[-1])
        for question in questions
    ]
    return Figure(
        title="Tests by their power, question by question",
        caption=(
            "Share of the models that fail on a question which the test catches, at the cut that "
            "raises false alarms on at most 5% of the models that hold. Lines are 95% intervals "
            "over models, the cut chosen anew each time; the upright stroke is the share caught "
            "by a cut that was fitted on the other half of the settings. Full dots: tests that "
            "the verdict judges by; rings: tests that are only reported. A test that measures "
            "what models were chosen by, or that was asked of too few, has no dot."
        ),
        chart=styled(alt.vconcat(*panels, spacing=10)),
    )


def _ranked(question: str, rows: pd.DataFrame, names: list[str], is_last: bool) -> "ChartType":
    """One question; only the last has numbers on its axis."""
    order = list(rows["test"])
    y = alt.Y("test:N", sort=order, title=None, axis=row_axis(names))
    x_axis = alt.Axis(
        format="~%", values=[0, 0.25, 0.5, 0.75, 1], grid=True, labels=is_last, ticks=is_last,
        domain=is_last, title="power at 5% false alarms" if is_last else None,
    )  # fmt: skip
    scale = alt.Scale(domain=[0, 1], nice=False)
    colour = alt.Color(
        "state:N",
        scale=alt.Scale(domain=["judged", "only reported"], range=[BLUE, BLUE]),
        legend=None,
    )
    numbers = [alt.Tooltip(f"{name}:Q", format=".0%") for name in ("power", "low", "high")]
    held_out = alt.Tooltip("elsewhere:Q", title="on the other half", format=".0%")
    said = rows[rows["why"] != ""][["test", "why"]]
    dots = rows[rows["why"] == ""].drop(columns="why").round(4)
    base = alt.Chart(dots).encode(
        y=y, color=colour, tooltip=["test:N", *numbers, held_out, "state:N"]
    )
    at = alt.X("power:Q", scale=scale)
    fill = alt.condition("datum.is_judged", alt.value(BLUE), alt.value("transparent"))
    papers = alt.Chart(rows[["test", "paper"]]).mark_text(align="left", color=QUIET, fontSize=10.5)
    return alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.55).encode(
            x=alt.X("low:Q", scale=scale, axis=x_axis), x2="high:Q"
        ),
        base.mark_tick(color=INK, thickness=1.5, size=13, orient="vertical").encode(
            x=alt.X("elsewhere:Q", scale=scale), color=alt.value(INK)
        ),
        base.mark_point(size=62, strokeWidth=2, opacity=1).encode(x=at, fill=fill),
        alt.Chart(said)
        .mark_text(align="left", dx=4, color=QUIET, fontStyle="italic", fontSize=11)
        .encode(y=y, x=alt.value(0), text="why:N"),
        papers.encode(y=y, x=alt.value(392), text="paper:N"),
    ).properties(width=380, height=alt.Step(20), title=question)


def roc_curves(points: pd.DataFrame) -> Figure:
    """Rows question, test, false_alarms, power -> a panel per question, a line per test."""
    panels = [
        _roc(str(question), rows.drop(columns="question").round(4))
        for question, rows in points.groupby("question", sort=False)
    ]
    return Figure(
        title="Power against false alarms",
        caption=(
            "Every cut that a test could have: across, the share of models that hold on which it "
            "raises an alarm; up, the share of models that fail on which it does. A test that "
            "tells them apart runs along the left and upper edge, one that guesses along the grey "
            "diagonal, and one below it is fooled. The dashed upright line is at 5% false alarms. "
            "Where lines end early, the rest of the models has no score. Tests that do the same "
            "lie on top of each other."
        ),
        chart=styled(
            alt.concat(*panels, columns=3).resolve_scale(
                color="independent", strokeDash="independent"
            )
        ),
    )


def _roc(question: str, rows: pd.DataFrame) -> "ChartType":
    tests = list(dict.fromkeys(rows["test"]))
    colours = [OTHERS[n % len(OTHERS)] for n in range(len(tests))]
    dashes = [DASHES[n // len(OTHERS) % len(DASHES)] for n in range(len(tests))]
    legend = alt.Legend(title=None, columns=1, labelLimit=250, symbolType="stroke")
    share = alt.Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1])
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("false_alarms:Q", title="false alarms", axis=share, scale=scale)
    y = alt.Y("power:Q", title="power", axis=share, scale=scale)
    chance = alt.Chart(pd.DataFrame({"false_alarms": [0, 1], "power": [0, 1]}))
    line = alt.Chart(pd.DataFrame({"false_alarms": [FALSE_ALARMS]}))
    curves = alt.Chart(rows.assign(step=range(len(rows)))).mark_line(strokeWidth=2, clip=False)
    return alt.layer(
        chance.mark_line(color=LINE, strokeWidth=1.5).encode(x, y),
        line.mark_rule(color=QUIET, strokeDash=[4, 3]).encode(x=x),
        curves.encode(
            x=x,
            y=y,
            order="step:Q",
            color=alt.Color("test:N", scale=alt.Scale(domain=tests, range=colours), legend=legend),
            strokeDash=alt.StrokeDash(
                "test:N", scale=alt.Scale(domain=tests, range=dashes), legend=legend
            ),
            tooltip=[
                "test:N",
                *(alt.Tooltip(f"{n}:Q", format=".0%") for n in ("false_alarms", "power")),
            ],
        ),
    ).properties(width=232, height=190, title=question)


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
