"""Published numbers beside ours."""

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    ORANGE,
    QUIET,
    Figure,
    styled,
)

COLOURS = {"replicates": BLUE, "does not": ORANGE, "cannot be compared": QUIET}


def beside_published(numbers: pd.DataFrame, unit: str) -> Figure:
    """Rows cell, published, ours, low, high, verdict -> a point per number."""
    shown = numbers[["published", "ours", "low", "high"]]  # no interval is cut off
    low, high = float(shown.min().min()), float(shown.max().max())
    room = 0.04 * (high - low or 1.0)
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    colour = alt.Color(
        "verdict:N",
        title=None,
        scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
    )
    ends = pd.DataFrame({"at": [low - room, high + room]})
    points = alt.Chart(numbers.round(4)).encode(
        x=alt.X("published:Q", title=f"published, {unit}", scale=scale),
        color=colour,
        tooltip=["cell:N", "published:Q", "ours:Q", "low:Q", "high:Q", "verdict:N"],
    )
    y = alt.Y("ours:Q", title=f"ours, {unit}", scale=scale)
    chart = alt.layer(
        alt.Chart(ends)
        .mark_line(color=QUIET, strokeDash=[5, 4])
        .encode(x=alt.X("at:Q", scale=scale), y=alt.Y("at:Q", scale=scale)),
        points.mark_rule(opacity=0.35).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        points.mark_point(filled=True, size=55, opacity=0.85).encode(y=y),
    ).properties(width=420, height=360)
    return Figure(
        title="Published numbers beside ours",
        caption=(
            "A point per published number: where it stands on the dashed line, ours is the same. "
            "Upright lines are 95% intervals of our mean over seeds (Student's t)."
        ),
        chart=styled(chart),
    )
