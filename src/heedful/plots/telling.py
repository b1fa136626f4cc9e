"""What the prediction loses without the top words, what it keeps with them alone, and by whom."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.auditing.document_filter import Selection, Within
from heedful.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    QUIET,
    Figure,
    measure_scale,
    row_axis,
    shape_scale,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType


def deletion_curves(curves: pd.DataFrame) -> Figure:
    """Rows measure, k, probability_drop, accuracy_drop -> a line per measure."""
    return Figure(
        title="Without the top words",
        caption=(
            "The k words that each measure calls most important are deleted and the rest is "
            "predicted again. The higher the line, the more those words mattered. Attention "
            "(orange) is telling if it runs well above random words (grey) and near the best."
        ),
        chart=_curves(
            curves,
            {"probability_drop": "fall in probability", "accuracy_drop": "fall in accuracy"},
            "top words deleted (k)",
            "comprehensiveness",
        ),
    )


def keep_curves(curves: pd.DataFrame) -> Figure:
    """Rows measure, k, kept_own, kept_gold -> a line per measure."""
    return Figure(
        title="With the top words alone",
        caption=(
            "Only the k words that each measure calls most important are kept. Shown is how "
            "often the model still decides as it did on the whole text and, where labels are "
            "known, how often that is right. A measure that finds the reason keeps the decision "
            "with few words."
        ),
        chart=_curves(
            curves,
            {"kept_own": "decides as before", "kept_gold": "decides right"},
            "top words kept (k)",
            "sufficiency",
        ),
    )


def _curves(curves: pd.DataFrame, panels: dict[str, str], title: str, metric: str) -> "ChartType":
    """A panel for each column that holds any number; documents stand behind by the metric."""
    measures = list(dict.fromkeys(curves["measure"]))
    measures.sort(key=lambda measure: {"attention": 0, "random": 2}.get(measure, 1))
    colour = alt.Color("measure:N", scale=measure_scale(measures), title=None)
    shape = alt.Shape("measure:N", scale=shape_scale(measures), title=None)
    by_panel = {
        name: curves[["measure", "k"]]
        .assign(share=curves[column].astype(float), behind=_behind(metric, curves["measure"]))
        .dropna()
        for column, name in panels.items()
    }
    by_panel = {name: rows.round(4) for name, rows in by_panel.items() if len(rows)}
    drawn = []
    for name, rows in by_panel.items():
        base = alt.Chart(rows).encode(
            x=alt.X("k:Q", title=title, axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("share:Q", title=name, axis=alt.Axis(format="~%", tickCount=5)),
            color=colour,
        )
        tooltip = ["measure:N", "k:Q", alt.Tooltip("share:Q", title=name, format=".1%")]
        points = base.mark_point(filled=True, size=42, opacity=1)
        both = alt.layer(base.mark_line(strokeWidth=2), points.encode(shape=shape, tooltip=tooltip))
        drawn.append(both.properties(width=380 if len(by_panel) == 1 else 165, height=190))
    return styled(alt.concat(*drawn, columns=2))


def measures_ranking(measures: pd.DataFrame) -> Figure:
    """Rows measure, comprehensiveness, low, high, best first -> dots with intervals."""
    rows = measures[["measure", "comprehensiveness", "low", "high"]].round(4).copy()
    rows["behind"] = _behind("comprehensiveness", rows["measure"])
    colours = {"attention": ORANGE, "random": GREY}
    rows["colour"] = rows["measure"].map(lambda measure: colours.get(measure, BLUE))
    base = alt.Chart(rows).encode(
        y=alt.Y("measure:N", sort=None, title=None, axis=row_axis(rows["measure"])),
        color=alt.Color("colour:N", scale=None),
        tooltip=[
            "measure:N",
            alt.Tooltip("comprehensiveness:Q", format=".3f"),
            alt.Tooltip("low:Q", title="interval from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"),
        ],
    )
    x = alt.X(
        "low:Q",
        title="comprehensiveness (higher is better)",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(grid=True),
    )
    nothing = alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(color=QUIET).encode(x="zero:Q")
    dots = base.mark_point(filled=True, size=75, opacity=1).encode(x="comprehensiveness:Q")
    chart = alt.layer(nothing, base.mark_rule(strokeWidth=2.5).encode(x, x2="high:Q"), dots)
    return Figure(
        title="What each measure is worth",
        caption=(
            "How far the probability of the predicted label falls, on average, when the words that "
            "a measure puts first are erased; best first, with 95% intervals. Attention is orange. "
            "A measure whose interval lies clear to the right of attention's is the better thing "
            "to show."
        ),
        chart=styled(chart.properties(width=300, height=alt.Step(24))),
    )


def _behind(metric: str, measures: pd.Series) -> list[str]:
    """All documents that a measure was tried on, those first that it moved most."""
    columns = [f"{metric}_{measure}" for measure in measures]
    return [Selection(where=(Within(column),), sort=column).query for column in columns]
