"""An audit document by document: how far weights and predictions move, and agree.

A row per document -> violins and histograms.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.document_filter import Selection, Within
from heedful.plots.style import (
    GREY,
    INK,
    ORANGE,
    QUIET,
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

MAX_WEIGHT_EDGES = (0.0, 0.25, 0.5, 0.75, 1.0)  # Jain & Wallace's four bins
POINTS = 61  # along a violin
HALF_WIDTH = 0.105  # of a violin at its widest, on the axis of the largest weight
FEWEST_FOR_A_VIOLIN = 5  # documents; fewer are drawn as dots
LARGEST_JSD = float(np.log(2))
WHO = ("attention", "random weights")
SEEDS, PERMUTED = "another seed", "weights permuted"


def permutation_effect(documents: pd.DataFrame) -> Figure:
    """Columns max_weight, permuted_tvd, prediction -> violins (arXiv:1902.10186, figure 7)."""
    panels = [_violins(panel) for panel in by_prediction(documents)]
    return Figure(
        title="Shuffled attention, by how peaked it was",
        caption=(
            "Each shape holds the documents whose largest attention weight lies in that quarter. "
            "Horizontal: how far the prediction moved when the weights were shuffled among the "
            "words "
            "(0: not at all, 1: as far as it can; the median shuffle of each document). The line "
            "marks the middle half, the dot the median. If attention decided, the shapes would lie "
            "further right the higher they are."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def _violins(panel: Panel) -> "ChartType":
    quarters = [_quarter(panel, *ends) for ends in pairwise(MAX_WEIGHT_EDGES)]
    outlines = [
        one.row | {"moved": x, "low": one.centre - width, "high": one.centre + width}
        for one in quarters
        if len(one.moved) >= FEWEST_FOR_A_VIOLIN
        for x, width in _outline(one.moved)
    ]
    few = [
        {"moved": round(x, 4), "centre": one.centre, "behind": one.behind}
        for one in quarters
        if len(one.moved) < FEWEST_FOR_A_VIOLIN
        for x in one.moved.tolist()
    ]
    middles = [
        one.row
        | {"centre": one.centre, "documents": len(one.moved)}
        | dict(zip(("first", "median", "third"), _quartiles(one.moved), strict=True))
        for one in quarters
        if len(one.moved)
    ]
    x = alt.X("moved:Q", title="prediction moved by (TVD)", scale=alt.Scale(domain=[0, 1]))
    middle = alt.Chart(pd.DataFrame(middles)).encode(
        y=_weight("centre:Q"),
        tooltip=[
            alt.Tooltip("bin:N", title="largest weight"),
            alt.Tooltip("documents:Q", format=","),
            alt.Tooltip("median:Q", title="median move", format=".3f"),
        ],
    )
    layers = [
        middle.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("first:Q"), x2="third:Q"),
        middle.mark_circle(color=INK, size=36, opacity=1).encode(x=alt.X("median:Q")),
        middle.mark_text(align="right", dx=-2, dy=-12, fontSize=10, color=QUIET).encode(
            x=alt.datum(1), text=alt.Text("documents:Q", format=",")
        ),
    ]
    if few:
        dots = alt.Chart(pd.DataFrame(few)).mark_circle(color=ORANGE, size=28, opacity=0.8)
        layers.insert(0, dots.encode(x, y=_weight("centre:Q")))
    if outlines:
        area = alt.Chart(pd.DataFrame(outlines)).mark_area(color=ORANGE, opacity=0.45)
        layers.insert(0, area.encode(x, y=_weight("low:Q"), y2="high:Q", detail="bin:N"))
    return alt.layer(*layers).properties(title=panel.title, width=165, height=230)


@dataclass(frozen=True)
class _Quarter:
    """Documents whose largest weight lies in a quarter: how far shuffled weights moved each."""

    name: str
    centre: float
    moved: Float[ndarray, " documents"]
    behind: str

    @property
    def row(self) -> dict[str, Any]:
        return {"bin": self.name, "behind": self.behind}


def _quarter(panel: Panel, low: float, high: float) -> _Quarter:
    """Documents whose largest weight lies above `low` (the first: at it), up to `high`."""
    within = Within("max_weight", low, high, has_low=low == 0, has_high=True)
    is_in = within.holds(panel.documents["max_weight"].to_numpy(dtype=np.float64))
    has_moved = Within("permuted_tvd")
    selection = Selection(
        predictions=panel.predictions, where=(within, has_moved), sort=has_moved.column
    )
    return _Quarter(
        name=f"{low:g} to {high:g}",
        centre=(low + high) / 2,
        moved=panel.documents.loc[is_in, "permuted_tvd"].to_numpy(dtype=np.float64),
        behind=selection.query,
    )


def _quartiles(moved: Float[ndarray, " documents"]) -> list[float]:
    return np.quantile(moved, [0.25, 0.5, 0.75]).round(4).tolist()


def _weight(field: str) -> alt.Y:
    return alt.Y(
        field,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(
            values=list(MAX_WEIGHT_EDGES), format=".2~f", title="largest attention weight"
        ),
    )


def _outline(moved: Float[ndarray, " documents"]) -> list[tuple[float, float]]:
    """Half the width of a violin at points from 0 to 1: a histogram, smoothed."""
    documents, _ = np.histogram(np.clip(moved, 0, 1), bins=POINTS, range=(0, 1))
    steps = np.arange(-4, 5)
    kernel = np.exp(-0.5 * (steps / 1.4) ** 2)
    smooth = np.convolve(documents, kernel, mode="same")
    width = (HALF_WIDTH * smooth / smooth.max()).round(4)
    seen = np.flatnonzero(width > 0.001)
    places = np.linspace(0, 1, POINTS).round(4)
    first, last = max(seen[0] - 1, 0), min(seen[-1] + 1, POINTS - 1)
    return [(float(places[n]), float(width[n])) for n in range(first, last + 1)]


def adversarial_distance(documents: pd.DataFrame) -> Figure:
    """Column epsilon_max_jsd -> histogram up to ln 2 (arXiv:1902.10186, figure 8)."""
    values = documents["epsilon_max_jsd"].to_numpy(dtype=np.float64)
    bins = shares(documents, "epsilon_max_jsd", 0.0, LARGEST_JSD)
    bars = alt.Chart(bins).mark_bar(color=ORANGE, binSpacing=1)
    marks = pd.DataFrame(
        [
            {"at": round(float(np.nanmedian(values)), 4), "what": "median"},
            {"at": round(LARGEST_JSD, 4), "what": "ln 2"},
        ]
    )
    lines = alt.Chart(marks).encode(x="at:Q", tooltip=["what:N", "at:Q"])
    layers = alt.layer(
        bars.encode(
            bin_axis("distance between the two attentions (JSD, nats)", 0.0, 0.72),
            x2="end:Q",
            y=share_axis(),
            tooltip=bin_tooltip(),
        ),
        lines.mark_rule(color=INK, strokeDash=[4, 3], strokeWidth=1.5),
        lines.mark_text(color=INK, fontSize=10.5, baseline="bottom").encode(
            y=alt.value(-3), text="what:N"
        ),
    )
    return Figure(
        title="A different attention, the same prediction",
        caption=(
            "For each document, the most different attention found that leaves the prediction "
            "(nearly) where it was. 0: only the model's own attention leads there. Near ln 2 = "
            "0.69: attention on entirely different words would have led to the same prediction, so "
            "neither can be called the reason."
        ),
        chart=styled(layers.properties(width=380, height=210)),
    )


def agreement(documents: pd.DataFrame, measure: str) -> Figure:
    """Columns kendall_tau_<measure>, the same of random weights, prediction -> histograms."""
    column = f"kendall_tau_{measure}"
    panels = [_two_histograms(panel, column) for panel in by_prediction(documents)]
    return Figure(
        title=f"Agreement of attention with {measure}",
        caption=(
            f"Kendall's τ between each document's attention and the importance that {measure} "
            "gives its words. 1: the same order; 0: unrelated; −1: reversed. Bars are the model's "
            "attention, the grey line is random weights: where the two coincide, "
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
            "Attention weighs states, and a state may represent other words than its own. Entropy: "
            "how widely a state's influences are spread, on average over a document (0: one word "
            "alone; 1: all words alike). Next to it: the share of influence that comes from the "
            "state's own word (1: all of it). The higher the entropy and the lower the "
            "share, the less attention to a state is attention to its word."
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


def seed_distance(documents: pd.DataFrame) -> Figure:
    """Columns seed_jsd, permuted_jsd -> two histograms up to ln 2 (arXiv:1908.04626)."""
    columns = {SEEDS: ("seed_jsd", ORANGE), PERMUTED: ("permuted_jsd", GREY)}
    highest = float(np.nanmax(documents[["seed_jsd", "permuted_jsd"]].to_numpy()))
    top = min(LARGEST_JSD, max(highest, 0.05))
    panels = []
    for name, (column, colour) in columns.items():
        bars = alt.Chart(shares(documents, column, 0.0, top)).mark_bar(color=colour, binSpacing=1)
        panels.append(
            bars.encode(
                bin_axis("JSD from the model's weights (nats)", 0.0, top),
                x2="end:Q",
                y=share_axis(),
                tooltip=bin_tooltip(),
            ).properties(title=name, width=240, height=170)
        )
    return Figure(
        title="How far another seed's attention is",
        caption=(
            "For each document, the median distance between this model's weights and those of the "
            "same model trained with other seeds; next to it, the distance to the same weights in "
            "random order. The more similar the two distributions are, the more the attention "
            "depends on the seed."
        ),
        chart=styled(alt.hconcat(*panels)),
    )
