"""Sentence vectors in the plane, by label (Zhou et al. 2021)."""

import altair as alt
import pandas as pd

from heedful.plots.style import OTHERS, SHAPES, Figure, shape_scale, styled

MOST_LABELS = len(SHAPES) - 1
OTHER_LABELS = "other labels"


def sentence_vectors(places: pd.DataFrame) -> Figure:
    """Rows x, y, label, prediction -> a mark per document; pale where the prediction is wrong."""
    common = list(places["label"].value_counts().index[:MOST_LABELS])
    labels = sorted(map(str, common))
    label = places["label"].where(places["label"].isin(common), OTHER_LABELS)
    if (label == OTHER_LABELS).any():
        labels.append(OTHER_LABELS)
    rows = places.assign(
        label=label,
        prediction=places["prediction"],
        strength=[0.85 if right else 0.25 for right in places["label"] == places["prediction"]],
    )[["x", "y", "label", "prediction", "strength"]].round({"x": 4, "y": 4})
    colours = alt.Scale(domain=labels, range=[OTHERS[n % len(OTHERS)] for n in range(len(labels))])
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    chart = (
        alt.Chart(rows)
        .mark_point(size=30, strokeWidth=1.2)
        .encode(
            x=alt.X("x:Q", axis=bare, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", axis=bare, scale=alt.Scale(zero=False)),
            color=alt.Color("label:N", scale=colours, title=None),
            fill=alt.Fill("label:N", scale=colours, title=None),
            shape=alt.Shape("label:N", scale=shape_scale(labels), title=None),
            fillOpacity=alt.FillOpacity("strength:Q", scale=None, legend=None),
            tooltip=["label:N", "prediction:N"],
        )
    )
    return Figure(
        title="Documents as the classifier sees them",
        caption=(
            "Each mark is a test document: the vector that attention makes of it, brought down to "
            "two dimensions. Colour and shape are its true label; pale marks are predicted "
            "wrongly. The plane keeps only part of the distances: read the silhouette for how far "
            "apart the labels are."
        ),
        chart=styled(chart.properties(width=380, height=330)),
    )
