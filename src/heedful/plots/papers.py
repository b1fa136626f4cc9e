"""Published numbers beside ours, and claims with their intervals."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    GREY,
    INK,
    LINE,
    ORANGE,
    OTHERS,
    QUIET,
    Figure,
    shape_scale,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

COLOURS = {"replicates": BLUE, "does not replicate": ORANGE, "cannot be compared": QUIET}
VERDICT_COLOURS = {
    "holds": BLUE,
    "does not hold": ORANGE,
    "too small to matter": OTHERS[1],
    "open": GREY,
}
ROW, PLOT_WIDTH, LABEL_WIDTH = 14, 330, 500  # pixels
LABEL_SPACE = 620  # a browser may draw wider letters than those that were measured


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
            "Each point is a published number; on the dashed line, ours is the same. Vertical "
            "lines are 95% intervals of our mean over seeds (Student's t)."
        ),
        chart=styled(chart),
    )


def forest(tests: pd.DataFrame) -> Figure:
    """Rows claim, test, kind, mean, low, high, verdict, smallest, bound -> an interval per test.

    A panel per kind of measure; `smallest` and `bound` may be missing.
    """
    panels = [
        _forest_panel(tests[tests["kind"] == kind], kind) for kind in dict.fromkeys(tests["kind"])
    ]
    return Figure(
        title="The claims that matter most",
        caption=(
            "One line per test: mean over seeds and 95% interval (Student's t). The grey band is "
            "the smallest effect that matters; a vertical line is the bound that a claim states. "
            "Points without a line are ranges of several means, which have no interval."
        ),
        chart=styled(alt.vconcat(*panels, spacing=14)),
    )


def _forest_panel(tests: pd.DataFrame, kind: str) -> "ChartType":
    rows, order = [], []
    for number, (claim, some) in enumerate(tests.groupby("claim", sort=False)):
        order.append(f"{number:02d}|{claim}")  # a line that only names the claim
        for row in some.to_dict("records"):
            order.append(f"{number:02d}|{row['test'] or 'all'} ")
            rows.append({**row, "row": order[-1]})
    shown = pd.DataFrame(rows).round(5)
    axis = alt.Axis(
        grid=False, ticks=False, domain=False, labelExpr="split(datum.label, '|')[1]",
        labelLimit=LABEL_WIDTH, labelPadding=8, minExtent=LABEL_SPACE, maxExtent=LABEL_SPACE,
    )  # fmt: skip
    names = list(VERDICT_COLOURS)
    colours = alt.Scale(domain=names, range=list(VERDICT_COLOURS.values()))
    x = alt.Scale(zero=True, nice=True)
    y = alt.Y("row:N", title=None, sort=order, scale=alt.Scale(domain=order), axis=axis)
    base = alt.Chart(shown).encode(y=y)
    colour = alt.Color("verdict:N", title=None, scale=colours)
    band = base.transform_filter("isValid(datum.smallest)").transform_calculate(
        least="-datum.smallest"
    )
    tooltip = [f"{name}:{kind}" for name, kind in zip(
        ("claim", "test", "mean", "low", "high", "verdict"), "NNQQQN", strict=True
    )]  # fmt: skip
    return alt.layer(
        band.mark_bar(color=LINE, opacity=0.7, height=ROW).encode(
            x=alt.X("least:Q", title=kind, scale=x), x2="smallest:Q"
        ),
        alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=QUIET).encode(x="at:Q"),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.6)
        .encode(x=alt.X("low:Q", scale=x), x2="high:Q", color=colour),
        base.transform_filter("isValid(datum.bound)")
        .mark_tick(color=INK, thickness=1.5, size=ROW - 3)
        .encode(x=alt.X("bound:Q", scale=x)),
        base.mark_point(filled=True, size=46, opacity=1).encode(
            x=alt.X("mean:Q", scale=x),
            color=colour,
            shape=alt.Shape("verdict:N", title=None, scale=shape_scale(names)),
            tooltip=tooltip,
        ),
    ).properties(width=PLOT_WIDTH, height=ROW * len(order))
