"""Means over seeds with their intervals, for every value of some columns: one figure for all."""

from numbers import Number
from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import BLUE, OTHERS, Figure, row_axis, shape_scale, styled

if TYPE_CHECKING:
    from altair.typing import ChartType

CAPTION = "Means over seeds; bars are 95% intervals of the mean (Student's t)."
COLUMNS = 3  # panels beside each other


def picture(points: pd.DataFrame, title: str, over: str, unit: str) -> Figure:
    """Rows over, line, panel, mean, low, high -> a panel for each value of `panel`.

    Numbers stand side by side, joined by lines; names stand below each other.
    """
    draw = _lines if all(isinstance(one, Number) for one in points["over"]) else _names
    rows = points.round(4)
    names = list(dict.fromkeys(rows["line"]))
    colours = [BLUE] if names == [""] else [OTHERS[n % len(OTHERS)] for n in range(len(names))]
    legend = None if names == [""] else alt.Legend(title=None, symbolOpacity=1)
    colour = alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend)
    shape = alt.Shape("line:N", scale=shape_scale(names), legend=legend)
    ends = rows[["mean", "low", "high"]]
    low, high = float(ends.min().min()), float(ends.max().max())
    room = 0.05 * (high - low or 1.0)
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False)
    panels = list(dict.fromkeys(rows["panel"]))
    drawn = [
        draw(rows[rows["panel"] == panel], over, unit, scale, colour, shape).properties(
            **({"title": panel} if panel else {})
        )
        for panel in panels
    ]
    return Figure(title, CAPTION, styled(alt.concat(*drawn, columns=COLUMNS)))


def _lines(
    rows: pd.DataFrame, over: str, unit: str, scale: alt.Scale, colour: alt.Color, shape: alt.Shape
) -> "ChartType":
    order = sorted(dict.fromkeys(rows["over"]))
    x = alt.X("over:O", title=over, sort=order, axis=alt.Axis(labelAngle=0))
    base = alt.Chart(rows).encode(x=x, color=colour)
    y = alt.Y("mean:Q", title=unit, scale=scale)
    return alt.layer(
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=42, opacity=1).encode(y=y, shape=shape, tooltip=_said()),
    ).properties(width=220, height=190)


def _names(
    rows: pd.DataFrame, over: str, unit: str, scale: alt.Scale, colour: alt.Color, shape: alt.Shape
) -> "ChartType":
    order = list(dict.fromkeys(rows["over"]))
    lines = list(dict.fromkeys(rows["line"]))
    y = alt.Y("over:N", title=None, sort=order, axis=row_axis(order))
    base = alt.Chart(rows).encode(y=y, yOffset=alt.YOffset("line:N", sort=lines), color=colour)
    x = alt.X("mean:Q", title=unit, scale=scale, axis=alt.Axis(tickCount=5))
    return alt.layer(
        base.mark_rule(opacity=0.5).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(filled=True, size=48, opacity=1).encode(x=x, shape=shape, tooltip=_said()),
    ).properties(width=240, height=max(60, len(order) * (12 + 13 * len(lines))))


def _said() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("panel:N"),
        alt.Tooltip("line:N"),
        alt.Tooltip("over:N", title="at"),
        alt.Tooltip("mean:Q"),
        alt.Tooltip("low:Q"),
        alt.Tooltip("high:Q"),
        alt.Tooltip("seeds:Q"),
    ]
