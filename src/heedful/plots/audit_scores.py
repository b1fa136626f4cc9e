"""All scores of an audit, or of several, between their controls."""

from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from heedful.plots.style import (
    BLUE,
    INK,
    ORANGE,
    OTHERS,
    QUIET,
    Figure,
    row_axis,
    shape_scale,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

MOST_NAMED = 4  # models of a panel that carry their names
LOWEST, HIGHEST = -1.0, 2.0  # scores beyond are drawn at these ends; the tooltip has the number


def scores_forest(scores: pd.DataFrame) -> Figure:
    """Rows run, question, test, score, low, high, cut, judgement -> a line per test and run."""
    runs = list(dict.fromkeys(scores["run"]))
    rows = scores.assign(row=scores["question"] + " · " + scores["test"])
    for name in ("score", "low", "high"):
        rows[f"{name}_at"] = rows[name].clip(LOWEST, HIGHEST).round(4)
        rows[name] = rows[name].round(3)
    drawn = rows[["score_at", "low_at", "high_at"]].to_numpy(dtype=np.float64)
    reach = [float(np.nanmin(np.append(drawn, -0.1))), float(np.nanmax(np.append(drawn, 1.1)))]
    legend = alt.Legend(title=None) if len(runs) > 1 else None
    colours = alt.Scale(domain=runs, range=[OTHERS[n % len(OTHERS)] for n in range(len(runs))])
    y = alt.Y("row:N", sort=None, title=None, axis=row_axis(rows["row"]))
    within = alt.YOffset("run:N", sort=runs)
    base = alt.Chart(rows).encode(
        y=y,
        yOffset=within,
        color=alt.Color("run:N", scale=colours, legend=legend),
        tooltip=["run:N", "question:N", "test:N", "score:Q", "low:Q", "high:Q", "judgement:N"],
    )
    x = alt.X(
        "low_at:Q",
        title="score: 0 worthless, 1 the best known",
        scale=alt.Scale(domain=reach, nice=False),
        axis=alt.Axis(grid=True),
    )
    controls = alt.Chart(pd.DataFrame({"at": [0, 1]})).mark_rule(color=QUIET, strokeWidth=1)
    cuts = alt.Chart(rows.dropna(subset=["cut"])).encode(y=y, yOffset=within)
    shape = alt.Shape("run:N", scale=shape_scale(runs), legend=legend)
    chart = alt.layer(
        controls.encode(x="at:Q"),
        base.mark_rule(strokeWidth=2).encode(x, x2="high_at:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(x="score_at:Q", shape=shape),
        cuts.mark_tick(color=INK, thickness=2, size=14, orient="vertical").encode(
            x="cut:Q", tooltip=["test:N", "cut:Q"]
        ),
    ).properties(width=380, height=alt.Step(22 + 5 * (len(runs) - 1), **{"for": "position"}))
    return Figure(
        title="All scores between their controls",
        caption=(
            "Every test, read between two controls on the same documents: at 0 it is as an "
            "explanation known to be worthless, at 1 as the best available one. Lines are 95% "
            "intervals; the short upright stroke is the cut of a judged test: supported if the "
            "whole line lies right of it, contradicted if the whole line lies left of it."
        ),
        chart=styled(chart),
    )


def pareto(points: pd.DataFrame) -> Figure:
    """Rows run, question, test, accuracy, score, low, high -> a panel per question."""
    runs = list(dict.fromkeys(points["run"]))
    panels = [
        _accuracy_against(str(question), rows, runs)
        for question, rows in points.dropna(subset=["accuracy", "score"]).groupby(
            "question", sort=False
        )
    ]
    return Figure(
        title="Accuracy against each answer",
        caption=(
            "Each mark is a model: across, its score on a question (with 95% interval); up, its "
            "accuracy on the same documents. Up and right is better. The dashed line joins the "
            "models that no other beats on both; a model below it can be replaced at no cost."
        ),
        chart=styled(alt.concat(*panels, columns=4)),
    )


def _accuracy_against(question: str, points: pd.DataFrame, runs: list[str]) -> "ChartType":
    """One panel. A few models carry their names; many are told apart by colour and shape."""
    rows = points.round({"score": 4, "low": 4, "high": 4, "accuracy": 4})
    title = alt.TitleParams(question, subtitle=str(rows["test"].iloc[0]), subtitleColor=QUIET)
    y_scale = alt.Scale(zero=False, padding=14)
    y = alt.Y("accuracy:Q", axis=alt.Axis(format="~%", tickCount=4), scale=y_scale)
    x = alt.X("low:Q", title="score", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4))
    base = alt.Chart(rows).encode(y=y)
    tooltip = [
        alt.Tooltip("run:N"),
        alt.Tooltip("accuracy:Q", format=".1%"),
        *[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("score", "low", "high")],
    ]
    front = alt.Chart(_front(rows)).mark_line(color=ORANGE, strokeDash=[4, 3], strokeWidth=1.5)
    layers = [
        front.encode(x="score:Q", y=y),
        base.mark_rule(color=QUIET, strokeWidth=1.5, opacity=0.6).encode(x, x2="high:Q"),
    ]
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(x="score:Q", tooltip=tooltip)
    if len(runs) <= MOST_NAMED:
        names = base.mark_text(dy=-10, fontSize=10, color=INK, limit=110)
        layers += [marks.encode(color=alt.value(BLUE)), names.encode(x="score:Q", text="run:N")]
    else:
        colours = alt.Scale(domain=runs, range=[OTHERS[n % len(OTHERS)] for n in range(len(runs))])
        legend = alt.Legend(title=None, columns=4)
        layers.append(
            marks.encode(
                color=alt.Color("run:N", scale=colours, legend=legend),
                shape=alt.Shape("run:N", scale=shape_scale(runs), legend=legend),
            )
        )
    return alt.layer(*layers).properties(title=title, width=165, height=150)


def _front(rows: pd.DataFrame) -> pd.DataFrame:
    """The models that no other beats on both score and accuracy, from low score to high."""
    best_first = rows.sort_values(["score", "accuracy"], ascending=False, kind="stable")
    is_best = best_first["accuracy"] > best_first["accuracy"].cummax().shift(fill_value=-1.0)
    return best_first.loc[is_best, ["score", "accuracy"]].iloc[::-1]
