"""Scores of words in their texts beside their scores alone (Sun & Lu 2020)."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import QUIET, Figure, shape_scale, styled
from heedful.plots.words import kind_colours, kinds_of

if TYPE_CHECKING:
    from altair.typing import ChartType

WORDS_PER_KIND = 120  # the commonest ones


def local_against_global(words: pd.DataFrame) -> Figure:
    """Rows word, kind, occurrences, local_… and global_… scores -> a panel per score."""
    shown = (
        words.sort_values("occurrences", ascending=False, kind="stable")
        .groupby("kind", sort=False)
        .head(WORDS_PER_KIND)
    )
    panels = [
        _panel(shown, "attention_score", "attention score"),
        _panel(shown, "polarity", "polarity score"),
    ]
    return Figure(
        title="Words in their texts and alone",
        caption=(
            "Each dot is a word. Across: its score as a text of one word; up: the mean of its "
            "scores where it occurs. On the dashed line the two are equal, as they are for an "
            "encoder without context. Far from it, a word's score is made by its neighbours."
        ),
        chart=styled(alt.concat(*panels, columns=2)),
    )


def _panel(words: pd.DataFrame, name: str, title: str) -> "ChartType":
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
