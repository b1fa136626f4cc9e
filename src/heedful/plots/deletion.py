"""Accuracy without the top words, and from only them (Zhou et al. 2021)."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import QUIET, Figure, measure_scale, shape_scale, styled

if TYPE_CHECKING:
    from altair.typing import ChartType


def deletion(curve: pd.DataFrame) -> Figure:
    """Rows k, by, accuracy_drop, kept_gold, their intervals, judge_accuracy -> two panels."""
    lost = _panel(curve, "accuracy_drop", "accuracy lost", "top words deleted (k)")
    alone = _panel(curve, "kept_gold", "accuracy from them alone", "top words kept (k)")
    whole = pd.DataFrame({"whole": [round(float(curve["judge_accuracy"].iloc[0]), 4)]})
    rule = alt.Chart(whole).mark_rule(color=QUIET, strokeDash=[4, 3], strokeWidth=1.5)
    said = [alt.Tooltip("whole:Q", title="accuracy on whole texts", format=".1%")]
    return Figure(
        title="What the top words are worth",
        caption=(
            "Left: how much accuracy the judge loses when the k words ranked highest are deleted "
            "from every document, beside k random ones (grey). Right: its accuracy from only those "
            "words; the dashed line is its accuracy on whole texts. Bands are 95% intervals over "
            "documents; the right scale need not start at 0. A ranking that finds what decides "
            "lies above random words in both."
        ),
        chart=styled(alt.concat(lost, alone + rule.encode(y="whole:Q", tooltip=said), columns=2)),
    )


def _panel(curve: pd.DataFrame, name: str, title: str, words: str) -> "ChartType":
    """A line with its band for the ranking and for random words."""
    ends = [f"{name}_low", f"{name}_high"]
    rows = curve[["k", "by", name, *ends]].round(4)
    rankings = list(dict.fromkeys(rows["by"]))
    legend = alt.Legend(title=None, symbolOpacity=1)  # else as pale as the bands
    colour = alt.Color("by:N", scale=measure_scale(rankings), legend=legend)
    base = alt.Chart(rows).encode(
        x=alt.X("k:Q", title=words, axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y(
            f"{name}:Q",
            title=title,
            scale=alt.Scale(zero=name == "accuracy_drop"),
            axis=alt.Axis(format="~%", tickCount=5),
        ),
        color=colour,
    )
    said = [
        alt.Tooltip("by:N", title="words chosen by"),
        "k:Q",
        alt.Tooltip(f"{name}:Q", title=title, format=".1%"),
        alt.Tooltip(f"{ends[0]}:Q", title="from", format=".1%"),
        alt.Tooltip(f"{ends[1]}:Q", title="to", format=".1%"),
    ]
    bands = alt.Chart(rows.dropna()).mark_area(opacity=0.2)
    points = base.mark_point(filled=True, size=42, opacity=1).encode(
        shape=alt.Shape("by:N", scale=shape_scale(rankings), legend=legend), tooltip=said
    )
    return alt.layer(
        bands.encode(x="k:Q", y=f"{ends[0]}:Q", y2=f"{ends[1]}:Q", color=colour),
        base.mark_line(strokeWidth=2),
        points,
    ).properties(width=260, height=190)
