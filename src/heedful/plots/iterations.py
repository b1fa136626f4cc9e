"""Learner and compressor in turn, iteration by iteration (Zhou et al. 2021)."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import BLUE, ORANGE, Figure, styled
from heedful.plots.training import whole_numbers

if TYPE_CHECKING:
    from altair.typing import ChartType

ROLES = alt.Scale(domain=["learner", "compressor"], range=[BLUE, ORANGE])
SHAPES = alt.Scale(domain=["learner", "compressor"], range=["circle", "triangle-up"])


def iterations(ends: pd.DataFrame) -> Figure:
    """Rows iteration, role, dev_accuracy, attention_entropy -> a panel per number that is there."""
    panels = [
        _panel(ends, name, title, form)
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


def _panel(ends: pd.DataFrame, name: str, title: str, form: str) -> "ChartType":
    rows = ends[["iteration", "role", name]].dropna().round({name: 5})
    base = alt.Chart(rows, title=title).encode(
        x=alt.X("iteration:Q", title="iteration", axis=whole_numbers(rows["iteration"])),
        y=alt.Y(f"{name}:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(format=form)),
        color=alt.Color("role:N", scale=ROLES, title=None),
        tooltip=["role:N", "iteration:Q", alt.Tooltip(f"{name}:Q", title=title, format=".4f")],
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        shape=alt.Shape("role:N", scale=SHAPES, title=None)
    )
    return alt.layer(base.mark_line(strokeWidth=2), dots).properties(width=300, height=180)
