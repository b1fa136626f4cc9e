"""Scores of words and the terms that move them, epoch by epoch (Sun & Lu 2020)."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import BLUE, Figure, shape_scale, styled
from heedful.plots.words import kind_colours, kinds_of

if TYPE_CHECKING:
    from altair.typing import ChartType

TERMS = {
    "A": "A · V·W and contrast",
    "A_map": "A, through the map",
    "B": "B · |W|² and drive",
    "B_map": "B, through the map",
    "C": "C · words alike",
    "D": "D · V·W and drive",
    "D_map": "D, through the map",
    "E": "E · |V|² and contrast",
    "E_map": "E, through the map",
    "F": "F · words alike",
}
NUMBERS = {
    "query_times_output": "V · W",
    "output_squared": "|W|²",
    "average_beta": "average β",
    "dev_accuracy": "dev accuracy",
}
MOST_DOTS = 20  # drawn on a curve, so that shapes tell kinds apart and lines stay lines


def flow_terms(words: pd.DataFrame) -> Figure:
    """Rows epoch, kind, A, B, C, D, E, F, … -> a panel per term, a line per kind of word."""
    panels = [
        _curve(words, name, title, width=215, height=120)
        for name, title in TERMS.items()
        if name in words
    ]
    return Figure(
        title="What moves the scores",
        caption=(
            "Mean rate of change by term, per kind of word: A + B + C is the change of polarity "
            "scores under gradient flow, D + E + F that of attention scores. B pulls polar words "
            "apart by label. E and F, above zero for words of either label, make attention find "
            "them; D follows the sign of V · W and favours one label. Each panel has its own scale."
        ),
        chart=styled(alt.concat(*panels, columns=3)),
    )


def flow_scores(words: pd.DataFrame) -> Figure:
    """Rows epoch, kind, polarity, attention_score -> two panels, a line per kind of word."""
    panels = [
        _curve(words, "polarity", "polarity score", width=300, height=170),
        _curve(words, "attention_score", "attention score", width=300, height=170),
    ]
    return Figure(
        title="Scores of words by epoch",
        caption=(
            "Means over the words of each kind. In a good training polarity scores of the labels "
            "part, attention scores of both labels' words rise together, and neutral words (grey) "
            "stay behind. A gap between the labels' attention scores goes with a V · W far from 0."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def flow_numbers(epochs: pd.DataFrame) -> Figure:
    """Rows epoch, query_times_output, output_squared, … -> a panel per number."""
    panels = []
    for name, title in NUMBERS.items():
        rows = epochs[["epoch", name]].dropna().round(5) if name in epochs else pd.DataFrame()
        if len(rows):
            line = alt.Chart(rows, title=title).encode(
                x=alt.X("epoch:Q", title="epoch", axis=whole_numbers(epochs["epoch"])),
                y=alt.Y(f"{name}:Q", title=None, scale=alt.Scale(zero=name != "dev_accuracy")),
                tooltip=["epoch:Q", alt.Tooltip(f"{name}:Q", title=title, format=".4g")],
            )
            drawn = line.mark_line(color=BLUE, strokeWidth=2)
            panels.append(drawn.properties(width=150, height=110))
    return Figure(
        title="The numbers behind the terms",
        caption=(
            "V · W decides which label's words term D favours: 0 favours none. |W|² drives term B. "
            "Average β is what is left to learn, the mean probability that the model does not give "
            "the right label. All as the embeddings see them."
        ),
        chart=styled(alt.concat(*panels, columns=4)),
    )


def _curve(words: pd.DataFrame, name: str, title: str, width: int, height: int) -> "ChartType":
    kinds = kinds_of(words)
    rows = words[["epoch", "kind", name]].dropna()
    rows = rows.assign(**{name: rows[name].map(lambda value: float(f"{value:.5g}"))})
    step = max(1, int(rows["epoch"].max() // MOST_DOTS) + 1) if len(rows) else 1
    base = alt.Chart(rows, title=title).encode(
        x=alt.X("epoch:Q", title="epoch", axis=whole_numbers(words["epoch"])),
        y=alt.Y(f"{name}:Q", title=None, axis=alt.Axis(tickCount=4)),
        color=alt.Color("kind:N", scale=kind_colours(kinds), title=None),
        tooltip=["kind:N", "epoch:Q", alt.Tooltip(f"{name}:Q", title=title, format=".3g")],
    )
    dots = base.mark_point(filled=True, size=26, opacity=1).encode(
        shape=alt.Shape("kind:N", scale=shape_scale(kinds), title=None)
    )
    dots.data = rows[rows["epoch"] % step == 0]
    return alt.layer(base.mark_line(strokeWidth=1.8), dots).properties(width=width, height=height)


def whole_numbers(values: "pd.Series[int]") -> alt.Axis:
    """An axis that is marked at whole numbers only, seven of them at most."""
    first, last = int(values.min()), int(values.max())
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if (last - first) / step <= 6)
    return alt.Axis(format="d", values=list(range(first, last + 1, step)))
