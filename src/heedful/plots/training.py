"""A training as it went: scores and gradient terms by epoch, phases, initialisations.

Gradient flow, dot products and label imbalance are those of Sun & Lu (2020), the iterations of
learner and compressor those of Zhou et al. (2021).
"""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    ORANGE,
    OTHERS,
    QUIET,
    Figure,
    row_axis,
    shape_scale,
    styled,
    whole_numbers,
)
from heedful.plots.words import NEUTRAL, kind_colours, kinds_of

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
ROLE_COLOURS = alt.Scale(domain=["learner", "compressor"], range=[BLUE, ORANGE])
ROLE_SHAPES = alt.Scale(domain=["learner", "compressor"], range=["circle", "triangle-up"])


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
            "Means over the words of each kind. In a good training run the polarity scores of the "
            "labels separate, the attention scores of both labels' words rise together, and "
            "neutral words (grey) stay behind. A gap between the labels' attention scores goes "
            "with a V · W far from 0."
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


def dot_product_curves(dots: pd.DataFrame) -> Figure:
    """Rows epoch, words, with, dot_product -> a line per pair of kinds."""
    rows = dots.assign(pair=dots["words"] + " · " + dots["with"]).dropna(subset=["dot_product"])
    rows = rows[["epoch", "pair", "dot_product"]].round({"dot_product": 5})
    is_neutral = (dots[["words", "with"]] == NEUTRAL).any(axis=1)
    order = dots.assign(is_neutral=is_neutral, is_mixed=dots["words"] != dots["with"])
    order = order.sort_values(["is_neutral", "is_mixed"], kind="stable")
    pairs = list(dict.fromkeys(order["words"] + " · " + order["with"]))
    colours = alt.Scale(domain=pairs, range=[OTHERS[n % len(OTHERS)] for n in range(len(pairs))])
    base = alt.Chart(rows).encode(
        x=alt.X("epoch:Q", title="epoch", axis=whole_numbers(dots["epoch"])),
        y=alt.Y("dot_product:Q", title="mean dot product"),
        color=alt.Color("pair:N", scale=colours, title=None, legend=alt.Legend(columns=2)),
        tooltip=["pair:N", "epoch:Q", alt.Tooltip("dot_product:Q", format=".3g")],
    )
    step = int(rows["epoch"].max() // 12) + 1 if len(rows) else 1
    marks = base.mark_point(filled=True, size=34, opacity=1).encode(
        shape=alt.Shape("pair:N", scale=shape_scale(pairs), title=None)
    )
    marks.data = rows[rows["epoch"] % step == 0]
    return Figure(
        title="Words of one label come to point the same way",
        caption=(
            "Mean dot product of the embeddings of two different words, by pair of kinds. Two "
            "words of one label should rise, two of different labels fall, and pairs with a "
            "neutral word stay near 0: terms C and F depend on this."
        ),
        chart=styled(
            alt.layer(base.mark_line(strokeWidth=2), marks).properties(width=380, height=210)
        ),
    )


def iterations(ends: pd.DataFrame) -> Figure:
    """Rows iteration, role, dev_accuracy, attention_entropy -> a panel per number that is there."""
    panels = [
        _iterations_panel(ends, name, title, form)
        for name, title, form in (
            ("dev_accuracy", "dev accuracy", "%"),
            ("attention_entropy", "normalised entropy of attention", "~g"),
        )
        if name in ends and ends[name].notna().any()
    ]
    return Figure(
        title="Learner and compressor in turn",
        caption=(
            "Dev accuracy at the end of each phase, by the head that the phase trains, and the "
            "mean entropy of the attention weights over training documents: 1 is uniform, 0 all on "
            "one word. Zhou and others report that accuracy rises over the first iterations and "
            "then settles."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def _iterations_panel(ends: pd.DataFrame, name: str, title: str, form: str) -> "ChartType":
    rows = ends[["iteration", "role", name]].dropna().round({name: 5})
    base = alt.Chart(rows, title=title).encode(
        x=alt.X("iteration:Q", title="iteration", axis=whole_numbers(rows["iteration"])),
        y=alt.Y(f"{name}:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(format=form)),
        color=alt.Color("role:N", scale=ROLE_COLOURS, title=None),
        tooltip=["role:N", "iteration:Q", alt.Tooltip(f"{name}:Q", title=title, format=".4f")],
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        shape=alt.Shape("role:N", scale=ROLE_SHAPES, title=None)
    )
    return alt.layer(base.mark_line(strokeWidth=2), dots).properties(width=300, height=180)


def label_imbalance(trainings: pd.DataFrame) -> Figure:
    """Rows ratio, seed, query_times_output -> a dot per training, a stroke at each mean."""
    rows = trainings[["ratio", "seed", "query_times_output"]].round({"query_times_output": 4})
    means = rows.groupby("ratio", sort=False, as_index=False)["query_times_output"].mean().round(4)
    y = alt.Y(
        "ratio:N",
        sort=None,
        title="negative : positive documents",
        axis=row_axis(rows["ratio"].astype(str)),
    )
    x = alt.X("query_times_output:Q", title="V · W after training", axis=alt.Axis(grid=True))
    zero = alt.Chart(pd.DataFrame({"at": [0]})).mark_rule(color=QUIET, strokeWidth=1)
    dots = alt.Chart(rows).mark_point(filled=True, size=60, opacity=0.75, color=BLUE)
    strokes = alt.Chart(means).mark_tick(thickness=3, size=24, color=BLUE)
    said = alt.Tooltip("query_times_output:Q", title="V · W", format=".3f")
    chart = alt.layer(
        zero.encode(x="at:Q"),
        dots.encode(x, y, tooltip=["ratio:N", "seed:N", said]),
        strokes.encode(x, y, tooltip=["ratio:N", alt.Tooltip(said.shorthand, title="mean V · W")]),
    ).properties(width=360, height=alt.Step(36))
    return Figure(
        title="V · W when labels are not equally common",
        caption=(
            "Each dot is a training run with a different initialisation; the line is their mean. "
            "Above 0 "
            "attention favours words of the positive label, below 0 those of the negative one. "
            "Sun and Lu report that it is small only where the labels are balanced."
        ),
        chart=styled(chart),
    )
