"""Top attended words as sentiment words (Zhou et al. 2021)."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import GREY, ORANGE, Figure, row_axis, styled

if TYPE_CHECKING:
    from altair.typing import ChartType

FIGURES = ("precision", "recall", "f1")


def word_sentiment(figures: pd.DataFrame) -> Figure:
    """Rows documents_are, k, average, precision, recall, f1, their intervals and random_… ->
    a panel per figure, a row per polarity and k, of the micro averages."""
    micro = figures[figures["average"] == "micro"]
    micro = micro.assign(row=micro["documents_are"] + ", k = " + micro["k"].astype(str)).round(4)
    panels = [_panel(micro, name, has_names=name == "precision") for name in FIGURES]
    return Figure(
        title="Do the top words carry the sentiment?",
        caption=(
            "The k words attended to most, taken as the words that carry the document's sentiment: "
            "precision, recall and F1 against what people marked, over all words of positive or "
            "negative documents, with 95% intervals (orange). Grey strokes are what random ranking "
            "gets on the same documents."
        ),
        chart=styled(alt.concat(*panels, columns=3, spacing=18)),
    )


def _panel(rows: pd.DataFrame, name: str, has_names: bool) -> "ChartType":
    title = "F1" if name == "f1" else name
    axis = row_axis(rows["row"]) if has_names else None
    base = alt.Chart(rows, title=title).encode(y=alt.Y("row:N", sort=None, title=None, axis=axis))
    x = alt.X(
        f"{name}_low:Q",
        title=None,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", grid=True, tickCount=3),
    )
    said = [
        alt.Tooltip("row:N", title="documents"),
        alt.Tooltip(f"{name}:Q", title=title, format=".1%"),
        alt.Tooltip(f"{name}_low:Q", title="from", format=".1%"),
        alt.Tooltip(f"{name}_high:Q", title="to", format=".1%"),
        alt.Tooltip(f"random_{name}:Q", title="random ranking", format=".1%"),
    ]
    layers = alt.layer(
        base.mark_tick(color=GREY, thickness=3, size=16).encode(x=f"random_{name}:Q", tooltip=said),
        base.mark_rule(color=ORANGE, strokeWidth=2).encode(x, x2=f"{name}_high:Q"),
        base.mark_point(color=ORANGE, filled=True, size=60, opacity=1).encode(
            x=f"{name}:Q", tooltip=said
        ),
    )
    return layers.properties(width=165, height=alt.Step(32))
