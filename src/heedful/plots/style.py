"""What a figure is, the look that all figures share, and one figure for any table of means.

A row of a chart that stands for documents says which, as the query of a selection in `behind`.

Colours mean the same everywhere: orange is attention, grey is what is known to be worthless, blue
and the others are measured importance. They are Okabe and Ito's, told apart by every kind of
colour vision, and stand out from white and from near black.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from numbers import Number
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from heedful.auditing.document_filter import Selection, Within

if TYPE_CHECKING:
    from altair.typing import ChartType

ORANGE, BLUE, GREY = "#d97706", "#0072b2", "#7a828c"
OTHERS = (BLUE, "#009e73", "#c0679a", "#3d9bd6", "#8a6d00", "#6f5bb5")  # in order of use
SHAPES = ("circle", "triangle-up", "diamond", "square", "triangle-down", "cross", "triangle-left")
INK, QUIET, LINE = "#1f2933", "#57606a", "#d0d7de"  # a report swaps these three in the dark
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MOST_CLASSES = 4  # panels of a figure by predicted label; rarer labels share the last
OTHER_LABELS = "other labels"
LETTER_WIDTH = 6.6  # of a wide font, in pixels; a drawing made elsewhere may have used a narrow one
SEEDS_CAPTION = "Means over seeds; bars are 95% intervals of the mean (Student's t)."
PANELS_PER_ROW = 3  # panels beside each other


@dataclass(frozen=True)
class Figure:
    """A chart, its name, and how to read it."""

    title: str
    caption: str
    chart: "ChartType"


def styled(chart: "ChartType") -> "ChartType":
    """The chart in the common look, on whatever background it is put."""
    text: dict[str, Any] = {
        "labelColor": QUIET,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 11.5,
    }
    return chart.configure(
        background="transparent",
        font=FONT,
        aria=False,  # a figure is described by its caption, not mark by mark
        padding=4,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            **text,
            titleFontWeight="normal",
            gridColor=LINE,
            gridOpacity=0.6,
            domainColor=LINE,
            tickColor=LINE,
            tickSize=4,
            labelLimit=280,
            titlePadding=8,
            tickCount=6,
        ),
        axisX=alt.AxisConfig(grid=False, labelFlush=False),
        legend=alt.LegendConfig(
            **text, titleFontWeight="normal", orient="bottom", symbolSize=70, labelLimit=200
        ),
        title=alt.TitleConfig(
            color=INK, fontSize=12, fontWeight=600, anchor="start", offset=8, limit=220
        ),
        header=alt.HeaderConfig(labelColor=INK, labelFontSize=11.5, labelFontWeight=600),
        concat=alt.CompositionConfig(spacing=22),
    )


def row_axis(names: Iterable[str]) -> alt.Axis:
    """An axis of names, with room for them in whatever font the reader has."""
    room = LETTER_WIDTH * max(map(len, names), default=0)
    return alt.Axis(grid=False, ticks=False, domain=False, labelPadding=10, minExtent=room + 12)


def measure_scale(measures: list[str]) -> alt.Scale:
    """Colour for each measure of a legend: orange for attention, grey for random."""
    fixed = {"attention": ORANGE, "random": GREY}
    rest = [measure for measure in measures if measure not in fixed]
    colours = fixed | {measure: OTHERS[n % len(OTHERS)] for n, measure in enumerate(rest)}
    return alt.Scale(domain=measures, range=[colours[measure] for measure in measures])


def shape_scale(names: list[str]) -> alt.Scale:
    """A shape for each name of a legend, so that colour is not the only sign."""
    return alt.Scale(domain=names, range=[SHAPES[n % len(SHAPES)] for n in range(len(names))])


@dataclass(frozen=True)
class Panel:
    """The documents that are given one label, or one of the rare ones."""

    title: str
    documents: pd.DataFrame
    predictions: tuple[str, ...]


def by_prediction(documents: pd.DataFrame) -> Iterator[Panel]:
    """Documents by the label they are given, in order of the labels; rare ones together."""
    counts = documents["prediction"].value_counts()
    alone = counts.index if len(counts) <= MOST_CLASSES else counts.index[: MOST_CLASSES - 1]
    panel = documents["prediction"].where(documents["prediction"].isin(alone), OTHER_LABELS)
    for name in [*sorted(alone), *([OTHER_LABELS] if len(counts) > len(alone) else [])]:
        rows = documents[panel == name]
        title = f"predicted {name}" if name in alone else name
        yield Panel(title, rows, tuple(sorted(set(rows["prediction"]))))


def shares(
    documents: pd.DataFrame,
    column: str,
    low: float,
    high: float,
    bins: int = 40,
    predictions: tuple[str, ...] = (),
) -> pd.DataFrame:
    """A histogram of a column as rows: start, end, documents, share, and what stands `behind`.

    Values beyond an end count at that end.
    """
    values = documents[column].to_numpy(dtype=np.float64)
    kept = np.clip(values[~np.isnan(values)], low, high)
    counts, edges = np.histogram(kept, bins=bins, range=(low, high))
    share = counts / max(len(kept), 1)
    ends = pairwise([-np.inf, *edges[1:-1].tolist(), np.inf])
    bars = [Within(column, low, high) for low, high in ends]
    return pd.DataFrame(
        {
            "start": edges[:-1].round(6),
            "end": edges[1:].round(6),
            "documents": counts,
            "share": share.round(5),
            "behind": [
                Selection(predictions=predictions, where=(bar,), sort=column).query for bar in bars
            ],
        }
    )


def bin_axis(title: str, low: float, high: float) -> alt.X:
    """Where the bars of a histogram start; `x2="end:Q"` says where they end."""
    scale = alt.Scale(domain=[low, high], nice=False)
    return alt.X("start:Q", bin="binned", title=title, scale=scale, axis=alt.Axis(format="~g"))


def share_axis() -> alt.Y:
    """Heights of a histogram."""
    return alt.Y("share:Q", title="share of documents", axis=alt.Axis(format="%", tickCount=4))


def bin_tooltip() -> list[alt.Tooltip]:
    """What a bar of a histogram says of itself."""
    return [
        alt.Tooltip("start:Q", title="from", format=".3f"),
        alt.Tooltip("end:Q", title="to", format=".3f"),
        alt.Tooltip("documents:Q", format=","),
        alt.Tooltip("share:Q", format=".1%"),
    ]


def whole_numbers(values: "pd.Series[int]") -> alt.Axis:
    """An axis that is marked at whole numbers only, seven of them at most."""
    first, last = int(values.min()), int(values.max())
    steps = (digit * 10**power for power in range(9) for digit in (1, 2, 5))
    step = next(step for step in steps if (last - first) / step <= 6)
    return alt.Axis(format="d", values=list(range(first, last + 1, step)))


def picture(
    points: pd.DataFrame,
    title: str,
    over: str,
    unit: str,
    caption: str = SEEDS_CAPTION,
    log_below: float | None = None,
) -> Figure:
    """Rows over, mean, low, high, perhaps line and panel -> a panel for each value of `panel`.

    Numbers stand side by side, joined by lines; names stand below each other. With `log_below`,
    numbers are drawn by how far they lie below it, on a logarithmic axis.
    """
    points = points.assign(**{name: "" for name in ("line", "panel") if name not in points})
    has_numbers = all(isinstance(one, Number) for one in points["over"])
    draw = partial(_joined_means, is_log=log_below is not None) if has_numbers else _named_means
    rows = points.round(4)
    if log_below is not None:
        rows = rows.assign(over=(log_below - rows["over"]).round(6))
        over = f"{log_below:g} - {over}, logarithmic"
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
    return Figure(title, caption, styled(alt.concat(*drawn, columns=PANELS_PER_ROW)))


def _joined_means(
    rows: pd.DataFrame,
    over: str,
    unit: str,
    scale: alt.Scale,
    colour: alt.Color,
    shape: alt.Shape,
    *,
    is_log: bool = False,
) -> "ChartType":
    order = sorted(dict.fromkeys(rows["over"]))
    x = alt.X("over:O", title=over, sort=order, axis=alt.Axis(labelAngle=0))
    if is_log:  # the far end of what it lies below is on the left
        x = alt.X("over:Q", title=over, scale=alt.Scale(type="log", reverse=True))
    base = alt.Chart(rows).encode(x=x, color=colour)
    y = alt.Y("mean:Q", title=unit, scale=scale)
    return alt.layer(
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_rule(opacity=0.45).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=42, opacity=1).encode(
            y=y, shape=shape, tooltip=_mean_tooltip(rows)
        ),
    ).properties(width=220, height=190)


def _named_means(
    rows: pd.DataFrame, over: str, unit: str, scale: alt.Scale, colour: alt.Color, shape: alt.Shape
) -> "ChartType":
    order = list(dict.fromkeys(rows["over"]))
    lines = list(dict.fromkeys(rows["line"]))
    y = alt.Y("over:N", title=None, sort=order, axis=row_axis(order))
    base = alt.Chart(rows).encode(y=y, yOffset=alt.YOffset("line:N", sort=lines), color=colour)
    x = alt.X("mean:Q", title=unit, scale=scale, axis=alt.Axis(tickCount=5))
    return alt.layer(
        base.mark_rule(opacity=0.5).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(filled=True, size=48, opacity=1).encode(
            x=x, shape=shape, tooltip=_mean_tooltip(rows)
        ),
    ).properties(width=240, height=max(60, len(order) * (12 + 13 * len(lines))))


def _mean_tooltip(rows: pd.DataFrame) -> list[alt.Tooltip]:
    """What a point says of itself; only means over seeds say how many there are."""
    return [
        alt.Tooltip("panel:N"),
        alt.Tooltip("line:N"),
        alt.Tooltip("over:N", title="at"),
        alt.Tooltip("mean:Q"),
        alt.Tooltip("low:Q"),
        alt.Tooltip("high:Q"),
        *([alt.Tooltip("seeds:Q")] if "seeds" in rows else []),
    ]
