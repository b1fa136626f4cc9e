"""Models with a known answer: what the judged tests score at a dose, and which tests have power.

A *dose* is a share that is known of a model: of documents with a false picture, of the decision
that bypasses attention. A model *fails* on a question or it *holds*; a test raises an alarm where
its score lies below its cut. Power is the share of the models that fail on which it does.
"""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.auditing.verdict import Verdict
from heedful.plots.style import (
    BLUE,
    INK,
    OTHERS,
    QUIET,
    Figure,
    row_axis,
    shape_scale,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

SAID: dict[Verdict, str] = {
    "may": "may be shown",
    "not-safe": "not shown to be safe",
    "may-not": "may not be shown",
}


def dose_curve(
    test: str, dose: str, tolerated: float, models: pd.DataFrame, cuts: pd.DataFrame
) -> Figure:
    """Rows architecture, model, dose, score; and architecture, value, low, high -> a dot per model.

    `dose` says what the dose is a share of.
    """
    names = list(dict.fromkeys([*cuts["architecture"], *models["architecture"]]))
    colours = alt.Scale(domain=names, range=list(OTHERS[: len(names)]))
    legend = alt.Legend(title=None, symbolOpacity=1, symbolFillColor="transparent")
    colour = alt.Color("architecture:N", scale=colours, legend=legend)
    shape = alt.Shape("architecture:N", scale=shape_scale(names), legend=legend)
    share = alt.Axis(format="~%", grid=True)
    x = alt.X("dose:Q", title=f"dose: share of {dose}", axis=share, scale=alt.Scale(nice=False))
    score = f"score of {test}"
    y = alt.Y("score:Q", title=score)
    shown = {name: alt.Tooltip(f"{name}:Q", format=".2f") for name in ("dose", "score", "value")}
    at_cut = alt.Chart(cuts.round(4)).encode(color=colour)
    line = alt.Chart(pd.DataFrame({"dose": [tolerated]}))
    chart = alt.layer(
        line.mark_rule(color=INK, strokeDash=[4, 3]).encode(x=x),
        at_cut.mark_rect(opacity=0.15, strokeWidth=0).encode(
            y=alt.Y("low:Q", title=score), y2="high:Q"
        ),
        at_cut.mark_rule(strokeWidth=1.5).encode(
            y=alt.Y("value:Q", title=score), tooltip=["architecture:N", shown["value"]]
        ),
        alt.Chart(models.round(4))
        .mark_point(size=42, strokeWidth=1.5, opacity=0.75)
        .encode(x, y, colour, shape, tooltip=["model:N", shown["dose"], shown["score"]]),
    ).properties(width=560, height=260)
    return Figure(
        title=f"{test[:1].upper()}{test[1:]}: score against the true dose",
        caption=(
            f"Each point is a model; the dose is the share of {dose}. The dashed line is the "
            f"tolerated dose, {tolerated:.0%}. The horizontal lines are the cuts, one for each "
            "kind of model, with their 95% intervals: a score below the cut means that the dose is "
            "too large. Where kinds of models agree, their points and lines cover each other."
        ),
        chart=styled(chart),
    )


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
            "over models, the cut chosen again each time; the vertical line is the share caught by "
            "a cut that was fitted on the other half of the settings. Full dots: tests that "
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
