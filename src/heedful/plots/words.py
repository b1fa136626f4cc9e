"""Words tied to a label beside neutral words (Sun & Lu 2020)."""

import altair as alt
import numpy as np
import pandas as pd

from heedful.auditing.document_filter import Selection
from heedful.plots.style import GREY, INK, OTHERS, Figure, shape_scale, styled

NEUTRAL = "neutral"
WORDS_PER_KIND = 120  # drawn as dots, the commonest ones
NAMED_PER_KIND = 2  # written beside their dots, the furthest out


def word_scatter(words: pd.DataFrame) -> Figure:
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
        title="Which words attention prefers",
        caption=(
            "Each dot is a word. Across: which label its state speaks for; up: the attention score "
            "it gets. Where attention discerns, words tied to a label (coloured) stand above "
            "neutral ones (grey) and the cloud opens like a V."
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


def kinds_of(words: pd.DataFrame) -> list[str]:
    """The labels in order, then neutral."""
    kinds = sorted(set(words["kind"]) - {NEUTRAL})
    return [*kinds, *([NEUTRAL] if NEUTRAL in set(words["kind"]) else [])]


def kind_colours(kinds: list[str]) -> alt.Scale:
    """Grey for neutral words, a colour for each label."""
    colours = [GREY if kind == NEUTRAL else OTHERS[n % len(OTHERS)] for n, kind in enumerate(kinds)]
    return alt.Scale(domain=kinds, range=colours)
