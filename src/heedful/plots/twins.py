"""Figures of a deep audit: adversaries trained anew, and other seeds."""

import altair as alt
import numpy as np
import pandas as pd

from heedful.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    Figure,
    bin_axis,
    bin_tooltip,
    shape_scale,
    share_axis,
    shares,
    styled,
)

LARGEST_JSD = float(np.log(2))
SEEDS, PERMUTED = "another seed", "weights permuted"


def tvd_jsd_frontier(adversaries: pd.DataFrame) -> Figure:
    """Rows model, adversary_weight, jsd, tvd, is_on_frontier -> a line per model (T&S, W&P)."""
    models = list(dict.fromkeys(adversaries["model"]))
    origin = pd.DataFrame({"model": models, "jsd": 0.0, "tvd": 0.0, "is_on_frontier": True})
    rows = pd.concat([origin, adversaries.round({"jsd": 4, "tvd": 4})], ignore_index=True)
    rows = rows.sort_values(["model", "jsd"], kind="stable")
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=models, range=[ORANGE, BLUE][: len(models)]),
        legend=alt.Legend(title=None),
    )
    x = alt.X(
        "jsd:Q",
        title="mean JSD of the weights from the model's own",
        scale=alt.Scale(domain=[0, 0.72], nice=False),
    )
    base = alt.Chart(rows).encode(
        x, y=alt.Y("tvd:Q", title="mean TVD of the predictions"), color=colour
    )
    tooltip = ["model:N", "adversary_weight:Q", "jsd:Q", "tvd:Q"]
    line = base.transform_filter("datum.is_on_frontier")
    chart = alt.layer(
        line.mark_line(strokeWidth=2),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            shape=alt.Shape("model:N", scale=shape_scale(models), legend=alt.Legend(title=None)),
            tooltip=tooltip,
        ),
    ).properties(width=380, height=230)
    return Figure(
        title="What an adversary pays for looking elsewhere",
        caption=(
            "Each point is a model trained to give the same answers with other weights; the "
            "harder it was pushed away, the farther right. The line joins those that no other "
            "beats. One close to the bottom means that "
            "quite other attentions come with the same answers. Beside it, a model that sees one "
            "word at a time, whose attention is hard to replace."
        ),
        chart=styled(chart),
    )


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
            "same model trained with other seeds; beside it, the distance to the same weights "
            "dealt out at random. The more alike the two pictures, the more the attention is an "
            "accident of the seed."
        ),
        chart=styled(alt.hconcat(*panels)),
    )
