"""V · W by label ratio (Sun & Lu 2020)."""

import altair as alt
import pandas as pd

from heedful.plots.style import BLUE, QUIET, Figure, row_axis, styled


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
            "Each dot is a training from another initialisation, the stroke their mean. Above 0 "
            "attention favours words of the positive label, below 0 those of the negative one. "
            "Sun and Lu report that it is small only where the labels are balanced."
        ),
        chart=styled(chart),
    )
