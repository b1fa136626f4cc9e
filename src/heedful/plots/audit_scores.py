"""An audit as a whole: its scores, measures of importance beside each other, adversaries.

Rows per test, measure or model -> figures.
"""

from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from heedful.auditing.document_filter import Selection, Within
from heedful.plots.style import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    OTHERS,
    QUIET,
    Figure,
    measure_scale,
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
            "intervals; the short vertical line is the cut of a judged test: supported if the "
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
            "Each mark is a model. Horizontal: its score on a question (with 95% interval); "
            "vertical: its accuracy on the same documents. Up and right is better. The dashed line "
            "joins the models that no other model beats on both; a model below it can be replaced "
            "at no cost."
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


def deletion_curves(curves: pd.DataFrame) -> Figure:
    """Rows measure, k, probability_drop, accuracy_drop -> a line per measure."""
    return Figure(
        title="Without the top words",
        caption=(
            "The k words that each measure calls most important are deleted and the rest is "
            "predicted again. The higher the line, the more those words mattered. Attention "
            "(orange) is telling if it runs well above random words (grey) and near the best."
        ),
        chart=_curves(
            curves,
            {"probability_drop": "fall in probability", "accuracy_drop": "fall in accuracy"},
            "top words deleted (k)",
            "comprehensiveness",
        ),
    )


def keep_curves(curves: pd.DataFrame) -> Figure:
    """Rows measure, k, kept_own, kept_gold -> a line per measure."""
    return Figure(
        title="With the top words alone",
        caption=(
            "Only the k words that each measure calls most important are kept. The lines show how "
            "often the model still decides as it did on the whole text and, where labels are "
            "known, how often that is right. A measure that finds the reason keeps the decision "
            "with few words."
        ),
        chart=_curves(
            curves,
            {"kept_own": "decides as before", "kept_gold": "decides right"},
            "top words kept (k)",
            "sufficiency",
        ),
    )


def _curves(curves: pd.DataFrame, panels: dict[str, str], title: str, metric: str) -> "ChartType":
    """A panel for each column that holds any number; documents stand behind by the metric."""
    measures = list(dict.fromkeys(curves["measure"]))
    measures.sort(key=lambda measure: {"attention": 0, "random": 2}.get(measure, 1))
    colour = alt.Color("measure:N", scale=measure_scale(measures), title=None)
    shape = alt.Shape("measure:N", scale=shape_scale(measures), title=None)
    by_panel = {
        name: curves[["measure", "k"]]
        .assign(share=curves[column].astype(float), behind=_behind(metric, curves["measure"]))
        .dropna()
        for column, name in panels.items()
    }
    by_panel = {name: rows.round(4) for name, rows in by_panel.items() if len(rows)}
    drawn = []
    for name, rows in by_panel.items():
        base = alt.Chart(rows).encode(
            x=alt.X("k:Q", title=title, axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("share:Q", title=name, axis=alt.Axis(format="~%", tickCount=5)),
            color=colour,
        )
        tooltip = ["measure:N", "k:Q", alt.Tooltip("share:Q", title=name, format=".1%")]
        points = base.mark_point(filled=True, size=42, opacity=1)
        both = alt.layer(base.mark_line(strokeWidth=2), points.encode(shape=shape, tooltip=tooltip))
        drawn.append(both.properties(width=380 if len(by_panel) == 1 else 165, height=190))
    return styled(alt.concat(*drawn, columns=2))


def measures_ranking(measures: pd.DataFrame) -> Figure:
    """Rows measure, comprehensiveness, low, high, best first -> dots with intervals."""
    rows = measures[["measure", "comprehensiveness", "low", "high"]].round(4).copy()
    rows["behind"] = _behind("comprehensiveness", rows["measure"])
    colours = {"attention": ORANGE, "random": GREY}
    rows["colour"] = rows["measure"].map(lambda measure: colours.get(measure, BLUE))
    base = alt.Chart(rows).encode(
        y=alt.Y("measure:N", sort=None, title=None, axis=row_axis(rows["measure"])),
        color=alt.Color("colour:N", scale=None),
        tooltip=[
            "measure:N",
            alt.Tooltip("comprehensiveness:Q", format=".3f"),
            alt.Tooltip("low:Q", title="interval from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
        ],
    )
    x = alt.X(
        "low:Q",
        title="comprehensiveness (higher is better)",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(grid=True),
    )
    nothing = alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(color=QUIET).encode(x="zero:Q")
    dots = base.mark_point(filled=True, size=75, opacity=1).encode(x="comprehensiveness:Q")
    chart = alt.layer(nothing, base.mark_rule(strokeWidth=2.5).encode(x, x2="high:Q"), dots)
    return Figure(
        title="What each measure is worth",
        caption=(
            "How far the probability of the predicted label falls, on average, when the words that "
            "a measure puts first are erased; best first, with 95% intervals. Attention is orange. "
            "A measure whose interval lies clearly to the right of attention's is the better "
            "choice to show."
        ),
        chart=styled(chart.properties(width=300, height=alt.Step(24))),
    )


def _behind(metric: str, measures: pd.Series) -> list[str]:
    """All documents that a measure was tried on, those first that it moved most."""
    columns = [f"{metric}_{measure}" for measure in measures]
    return [Selection(where=(Within(column),), sort=column).query for column in columns]


def tvd_jsd_frontier(adversaries: pd.DataFrame) -> Figure:
    """Rows model, adversary_weight, jsd, tvd, is_on_frontier -> a line per model (T&S, W&P)."""
    models = list(dict.fromkeys(adversaries["model"]))
    origin = pd.DataFrame({"model": models, "jsd": 0.0, "tvd": 0.0, "is_on_frontier": True})
    rows = pd.concat([origin, adversaries.round({"jsd": 4, "tvd": 4})], ignore_index=True)
    rows = rows.sort_values(["model", "jsd"], kind="stable")
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=models, range=[ORANGE, BLUE][: len(models)]),
        legend=alt.Legend(title=None),
    )
    x = alt.X(
        "jsd:Q",
        title="mean JSD of the weights from the model's own",
        scale=alt.Scale(domain=[0, 0.72], nice=False),
    )
    base = alt.Chart(rows).encode(
        x, y=alt.Y("tvd:Q", title="mean TVD of the predictions"), color=colour
    )
    tooltip = ["model:N", "adversary_weight:Q", "jsd:Q", "tvd:Q"]
    line = base.transform_filter("datum.is_on_frontier")
    chart = alt.layer(
        line.mark_line(strokeWidth=2),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            shape=alt.Shape("model:N", scale=shape_scale(models), legend=alt.Legend(title=None)),
            tooltip=tooltip,
        ),
    ).properties(width=380, height=230)
    return Figure(
        title="What an adversary pays for looking elsewhere",
        caption=(
            "Each point is a model trained to give the same answers with other weights; the "
            "harder it was pushed away, the farther right. The line joins the models that no other "
            "model beats. A line close to the bottom means that very different attention gives the "
            "same answers. For comparison: a model that sees one word at a time, whose attention "
            "is hard to replace."
        ),
        chart=styled(chart),
    )
