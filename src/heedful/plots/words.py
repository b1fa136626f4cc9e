"""Words by what a classifier gives them: scores, weights, dot products, sentiment.

Kinds of words (tied to a label, or neutral) and their scores are those of Sun & Lu (2020),
word-level sentiment is that of Zhou et al. (2021).
"""

from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from heedful.auditing.document_filter import Selection
from heedful.plots.style import (
    BLUE,
    GREY,
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

NEUTRAL = "neutral"
WORDS_PER_KIND = 120  # drawn as dots, the commonest ones
NAMED_PER_KIND = 2  # written beside their dots, the furthest out
SENTIMENT_FIGURES = ("precision", "recall", "f1")


def word_scatter(words: pd.DataFrame, title: str = "Which words attention prefers") -> Figure:
    """Rows word, kind, attention_score, polarity, occurrences -> a dot per word."""
    finite = words.dropna(subset=["attention_score", "polarity"])
    shown = (
        finite.sort_values("occurrences", ascending=False, kind="stable")
        .groupby("kind", sort=False)
        .head(WORDS_PER_KIND)[["word", "kind", "attention_score", "polarity", "occurrences"]]
        .round({"attention_score": 4, "polarity": 4})
    )
    shown["behind"] = [Selection(word=word).query for word in shown["word"]]
    kinds = kinds_of(words)
    base = alt.Chart(shown).encode(
        x=alt.X(
            "polarity:Q",
            title="polarity: which label its state speaks for",
            axis=alt.Axis(grid=True),
        ),
        y=alt.Y("attention_score:Q", title="attention score, before normalising"),
        color=alt.Color("kind:N", scale=kind_colours(kinds), title=None),
    )
    dots = base.mark_point(filled=True, size=34, opacity=0.7).encode(
        shape=alt.Shape("kind:N", scale=shape_scale(kinds), title=None),
        tooltip=[
            "word:N",
            "kind:N",
            alt.Tooltip("attention_score:Q", title="attention score", format=".3f"),
            alt.Tooltip("polarity:Q", format=".3f"),
            alt.Tooltip("occurrences:Q", format=","),
        ],
    )
    names = base.mark_text(dy=-8, fontSize=10, limit=90).encode(text="word:N", color=alt.value(INK))
    names.data = _furthest(shown)
    return Figure(
        title=title,
        caption=(
            "Each dot is a word. Horizontal: the label that its state supports; vertical: its "
            "attention score. Where attention discerns, words tied to a label (coloured) lie above "
            "neutral ones (grey), and the points form a V."
        ),
        chart=styled(alt.layer(dots, names).properties(width=380, height=260)),
    )


def _furthest(shown: pd.DataFrame) -> pd.DataFrame:
    """The words of each label furthest from no polarity."""
    polar = shown[shown["kind"] != NEUTRAL]
    order = polar["polarity"].abs().sort_values(ascending=False, kind="stable").index
    return polar.loc[order].groupby("kind", sort=False).head(NAMED_PER_KIND)


def word_weights(words: pd.DataFrame) -> Figure:
    """Rows kind, weight -> a box per kind of word."""
    kinds = kinds_of(words)
    boxes = []
    for kind in kinds:
        weights = words.loc[words["kind"] == kind, "weight"].to_numpy(dtype=np.float64)
        weights = weights[~np.isnan(weights)]
        if len(weights):
            at = np.quantile(weights, [0.05, 0.25, 0.5, 0.75, 0.95]).round(5).tolist()
            named = dict(zip(("low", "first", "median", "third", "high"), at, strict=True))
            boxes.append({"kind": kind, "words": len(weights)} | named)
    base = alt.Chart(pd.DataFrame(boxes)).encode(
        y=alt.Y(
            "kind:N", sort=None, title=None, axis=alt.Axis(grid=False, ticks=False, domain=False)
        ),
        color=alt.Color("kind:N", scale=kind_colours(kinds), legend=None),
        tooltip=[
            "kind:N",
            alt.Tooltip("words:Q", format=","),
            *[
                alt.Tooltip(f"{name}:Q", title=title, format=".4f")
                for name, title in (("first", "quartile"), ("median", "median"))
            ],
            alt.Tooltip("third:Q", title="third quartile", format=".4f"),
        ],
    )
    scale = alt.Scale(zero=True)
    x = alt.X("low:Q", title="mean attention weight of a word", scale=scale)
    layers = alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(x, x2="high:Q"),
        base.mark_bar(size=18, opacity=0.55).encode(x=alt.X("first:Q"), x2="third:Q"),
        base.mark_tick(thickness=2, size=18).encode(x="median:Q", color=alt.value(INK)),
    )
    return Figure(
        title="Mean weight by kind of word",
        caption=(
            "The mean attention weight of words tied to each label and of neutral words. A box "
            "holds the middle half of the words, the thin line 90% of them, the dark line is the "
            "median. Attention that discerns gives neutral words clearly less."
        ),
        chart=styled(layers.properties(width=330, height=alt.Step(38))),
    )


def weight_boxes(rows: pd.DataFrame) -> Figure:
    """Rows kind, low, first, median, third, high, and rows kind, weight of outliers -> boxes."""
    kinds = kinds_of(rows)
    shown = rows.round(5)
    colour = alt.Color("kind:N", scale=kind_colours(kinds), legend=None)
    y = alt.Y(
        "kind:N", sort=kinds, title=None, axis=alt.Axis(grid=False, ticks=False, domain=False)
    )
    boxes = alt.Chart(shown[shown["median"].notna()]).encode(y=y, color=colour)
    numbers = ("min", "first", "median", "third", "max", "outliers", "occurrences")
    layers = [
        boxes.mark_rule(strokeWidth=1.5).encode(
            x=alt.X("low:Q", title="attention weight of an occurrence"), x2="high:Q"
        ),
        boxes.mark_bar(size=18, opacity=0.55).encode(
            x="first:Q", x2="third:Q", tooltip=["kind:N", *(f"{name}:Q" for name in numbers)]
        ),
        boxes.mark_tick(thickness=2, size=18).encode(x="median:Q", color=alt.value(INK)),
        *(boxes.mark_tick(thickness=1.2, size=10).encode(x=f"{end}:Q") for end in ("min", "max")),
    ]
    if "weight" in shown and shown["weight"].notna().any():
        beyond = alt.Chart(shown[shown["weight"].notna()]).encode(y=y, color=colour)
        layers.append(beyond.mark_point(size=14, opacity=0.5).encode(x="weight:Q"))
    return Figure(
        title="Weights in unseen texts by kind of word",
        caption=(
            "A box holds the middle half of all occurrences, the dark line is the median. The thin "
            "line reaches to the last ones within 1.5 times the box; circles are outliers (at most "
            "200 of a kind are drawn), short strokes the smallest and the largest weight."
        ),
        chart=styled(alt.layer(*layers).properties(width=330, height=alt.Step(38))),
    )


def kinds_of(words: pd.DataFrame) -> list[str]:
    """The labels in order, then neutral."""
    kinds = sorted(set(words["kind"]) - {NEUTRAL})
    return [*kinds, *([NEUTRAL] if NEUTRAL in set(words["kind"]) else [])]


def kind_colours(kinds: list[str]) -> alt.Scale:
    """Grey for neutral words, a colour for each label."""
    colours = [GREY if kind == NEUTRAL else OTHERS[n % len(OTHERS)] for n, kind in enumerate(kinds)]
    return alt.Scale(domain=kinds, range=colours)


def local_against_global(words: pd.DataFrame) -> Figure:
    """Rows word, kind, occurrences, local_… and global_… scores -> a panel per score."""
    shown = (
        words.sort_values("occurrences", ascending=False, kind="stable")
        .groupby("kind", sort=False)
        .head(WORDS_PER_KIND)
    )
    panels = [
        _local_panel(shown, "attention_score", "attention score"),
        _local_panel(shown, "polarity", "polarity score"),
    ]
    return Figure(
        title="Words in their texts and alone",
        caption=(
            "Each dot is a word. Horizontal: its score as a text of one word; vertical: the mean "
            "of its scores where it occurs. On the dashed line the two are equal, as they are for "
            "an "
            "encoder without context. Far from it, a word's score is determined by its neighbours."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def _local_panel(words: pd.DataFrame, name: str, title: str) -> "ChartType":
    alone, inside = f"global_{name}", f"local_{name}"
    rows = words[["word", "kind", alone, inside]].dropna().round({alone: 4, inside: 4})
    kinds = kinds_of(words)
    low = float(rows[[alone, inside]].min().min()) if len(rows) else 0.0
    high = float(rows[[alone, inside]].max().max()) if len(rows) else 1.0
    line = alt.Chart(pd.DataFrame({"at": [low, high]})).mark_line(
        color=QUIET, strokeDash=[4, 4], strokeWidth=1
    )
    dots = (
        alt.Chart(rows)
        .mark_point(filled=True, size=30, opacity=0.65)
        .encode(
            x=alt.X(f"{alone}:Q", title=f"{title}, alone", axis=alt.Axis(grid=True)),
            y=alt.Y(f"{inside}:Q", title=f"{title}, in texts"),
            color=alt.Color("kind:N", scale=kind_colours(kinds), title=None),
            shape=alt.Shape("kind:N", scale=shape_scale(kinds), title=None),
            tooltip=[
                "word:N",
                "kind:N",
                alt.Tooltip(f"{inside}:Q", title="in texts", format=".3f"),
                alt.Tooltip(f"{alone}:Q", title="alone", format=".3f"),
            ],
        )
    )
    return alt.layer(line.encode(x="at:Q", y="at:Q"), dots).properties(width=290, height=240)


def dot_products(dots: pd.DataFrame) -> Figure:
    """Rows words, with, dot_product -> a cell per pair of kinds."""
    rows = dots.assign(
        shown=dots["dot_product"].map(lambda value: f"{value:+.2f}"),
        strength=(dots["dot_product"].abs() / (dots["dot_product"].abs().max() or 1.0)).round(4),
        sign=["above" if value >= 0 else "below" for value in dots["dot_product"]],
    ).round({"dot_product": 4, "share_positive": 4})
    kinds = list(dict.fromkeys(dots["words"]))
    base = alt.Chart(rows).encode(
        x=alt.X(
            "with:N",
            sort=kinds,
            title="with words of kind",
            axis=alt.Axis(labelAngle=0, grid=False),
        ),
        y=alt.Y("words:N", sort=kinds, title="words of kind", axis=alt.Axis(grid=False)),
    )
    cells = base.mark_rect(stroke=None).encode(
        color=alt.Color(
            "sign:N", scale=alt.Scale(domain=["above", "below"], range=[ORANGE, BLUE]), legend=None
        ),
        opacity=alt.Opacity(
            "strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.75]), legend=None
        ),
        tooltip=[
            "words:N",
            "with:N",
            alt.Tooltip("dot_product:Q", title="mean dot product", format=".3f"),
            alt.Tooltip("share_positive:Q", title="words above 0", format=".0%"),
        ],
    )
    texts = base.mark_text(fontSize=13, color=INK).encode(text="shown:N")
    side = 84
    size = {"width": side * len(kinds) + 40, "height": int(side * 0.62) * len(kinds)}
    return Figure(
        title="Which words point the same way",
        caption=(
            "Mean dot product of the embeddings of two different words, by kind. Orange is above "
            "0, blue below. Sun and Lu's theory expects words of one label to point the same way, "
            "words of different labels apart, and products with neutral words to be small."
        ),
        chart=styled(alt.layer(cells, texts).properties(**size)),
    )


def word_sentiment(figures: pd.DataFrame) -> Figure:
    """Rows documents_are, k, average, precision, recall, f1, their intervals and random_… ->
    a panel per figure, a row per polarity and k, of the micro averages."""
    micro = figures[figures["average"] == "micro"]
    micro = micro.assign(row=micro["documents_are"] + ", k = " + micro["k"].astype(str)).round(4)
    panels = [
        _sentiment_panel(micro, name, has_names=name == "precision") for name in SENTIMENT_FIGURES
    ]
    return Figure(
        title="Do the top words carry the sentiment?",
        caption=(
            "The k words attended to most, taken as the words that carry the document's sentiment: "
            "precision, recall and F1 against what people marked, over all words of positive or "
            "negative documents, with 95% intervals (orange). Grey lines are the scores of random "
            "rankings on the same documents."
        ),
        chart=styled(alt.concat(*panels, columns=3, spacing=18)),
    )


def _sentiment_panel(rows: pd.DataFrame, name: str, has_names: bool) -> "ChartType":
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
