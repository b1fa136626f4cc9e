"""Tests of models with a known answer: which of them can be relied on.

A model *fails* on a question or it *holds*; a test raises an alarm where its score lies below its
cut. Power is the share of the models that fail on which it does.
"""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    INK,
    LINE,
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
