"""Mutual information of word and state, beside its controls (Tutek & Šnajder 2020)."""

import altair as alt
import pandas as pd

from heedful.plots.style import BLUE, GREY, INK, Figure, row_axis, styled

STATES = "states"


def information(rows: pd.DataFrame) -> Figure:
    """Rows of, share_of_entropy, …_low, …_high -> a bar with its interval per kind of state."""
    shown = rows[["of", "share_of_entropy", "share_of_entropy_low", "share_of_entropy_high"]]
    shown = shown.round(5).assign(is_model=shown["of"] == STATES)
    base = alt.Chart(shown).encode(
        y=alt.Y("of:N", sort=None, title=None, axis=row_axis(rows["of"]))
    )
    share = alt.X(
        "share_of_entropy:Q",
        title="share of a word's entropy that its state tells",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", grid=True),
    )
    bars = base.mark_bar(size=15).encode(
        share,
        color=alt.Color(
            "is_model:N", scale=alt.Scale(domain=[True, False], range=[BLUE, GREY]), legend=None
        ),
        tooltip=[
            "of:N",
            alt.Tooltip("share_of_entropy:Q", title="share", format=".1%"),
            alt.Tooltip("share_of_entropy_low:Q", title="from", format=".1%"),
            alt.Tooltip("share_of_entropy_high:Q", title="to", format=".1%"),
        ],
    )
    spans = base.mark_rule(strokeWidth=2, color=INK).encode(
        x=alt.X("share_of_entropy_low:Q"), x2="share_of_entropy_high:Q"
    )
    return Figure(
        title="How much a state tells of its word",
        caption=(
            "Mutual information of word and cluster of its state, as a share of the words' "
            "entropy, with 95% intervals. Embeddings show what can be had after clustering, "
            "shuffled states what chance gives. A trained encoder below an untrained one has "
            "traded the word for something else."
        ),
        chart=styled(alt.layer(bars, spans).properties(width=330, height=alt.Step(30))),
    )
