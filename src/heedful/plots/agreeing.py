"""How attention ranks words beside measured importance, and what a state listens to."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    GREY,
    ORANGE,
    Figure,
    Panel,
    bin_axis,
    bin_tooltip,
    by_prediction,
    share_axis,
    shares,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

WHO = ("attention", "random weights")


def agreement(documents: pd.DataFrame, measure: str) -> Figure:
    """Columns kendall_tau_<measure>, the same of random weights, prediction -> histograms."""
    column = f"kendall_tau_{measure}"
    panels = [_two_histograms(panel, column) for panel in by_prediction(documents)]
    return Figure(
        title=f"Agreement of attention with {measure}",
        caption=(
            f"Kendall's τ between each document's attention and the importance that {measure} "
            "gives its words. 1: the same order; 0: unrelated; −1: reversed. Bars are the model's "
            "attention, the grey line is random weights: where the two lie on each other, "
            "attention orders words no better than chance."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def _two_histograms(panel: Panel, column: str) -> "ChartType":
    attention, chance = (
        shares(panel.documents, name, -1.0, 1.0, 25, panel.predictions).assign(who=who)
        for name, who in zip((column, f"{column}_random"), WHO, strict=True)
    )
    title = "Kendall's τ"
    where = alt.X("start:Q", title=title, scale=alt.Scale(domain=[-1, 1]))
    colour = alt.Color("who:N", scale=alt.Scale(domain=WHO, range=[ORANGE, GREY]), title=None)
    bars = alt.Chart(attention).mark_bar(binSpacing=1)
    steps = alt.Chart(chance).mark_line(interpolate="step-after", strokeWidth=2)
    return alt.layer(
        bars.encode(
            bin_axis(title, -1.0, 1.0),
            x2="end:Q",
            y=share_axis(),
            tooltip=bin_tooltip(),
            color=colour,
        ),
        steps.encode(where, y=share_axis(), tooltip=bin_tooltip(), color=colour),
    ).properties(title=panel.title, width=165, height=160)


def influence(documents: pd.DataFrame) -> Figure:
    """Columns influence_entropy (normalised: 0 to 1), own_influence -> two histograms."""
    panels = [
        _histogram(documents, "influence_entropy", "entropy of influence"),
        _histogram(documents, "own_influence", "share of its own word"),
    ]
    return Figure(
        title="What the state at a word listens to",
        caption=(
            "Attention weighs states, and a state may speak of other words than its own. Entropy: "
            "how widely a state's influences are spread, on average over a document (0: one word "
            "alone; 1: all words alike). Beside it, the share of influence that comes from the "
            "word the state stands at (1: all of it). The higher the entropy and the lower the "
            "share, the less a highlighted word is what was attended to."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def _histogram(documents: pd.DataFrame, column: str, title: str) -> alt.Chart:
    rows = shares(documents, column, 0.0, 1.0, bins=25)
    bars = alt.Chart(rows).mark_bar(color=ORANGE, binSpacing=1)
    encoded = bars.encode(
        bin_axis(title, 0.0, 1.0), x2="end:Q", y=share_axis(), tooltip=bin_tooltip()
    )
    return encoded.properties(width=165, height=160)
