"""How attention agrees with measures of importance, by predicted class (Jain & Wallace 2019)."""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    OTHERS,
    Figure,
    bin_axis,
    bin_tooltip,
    by_prediction,
    share_axis,
    shares,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

COLUMN = "tau_"  # and the name of a measure
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])  # so that colour is not the only sign
TITLE = "Kendall's τ with attention"


def agreement_by_class(documents: pd.DataFrame) -> Figure:
    """Columns tau_<measure>, prediction -> a panel per measure, a histogram per class."""
    columns = [str(name) for name in documents if str(name).startswith(COLUMN)]
    measures = [name.removeprefix(COLUMN) for name in columns]
    return Figure(
        title="Agreement of attention with importance",
        caption=(
            "Kendall's τ between the attention weights of each document and the absolute "
            "importance of its words, by the class that is predicted; each outline is the share "
            "of that class's documents. 1: the same order; 0: unrelated; −1: reversed. Documents "
            "whose words are all tied are left out."
        ),
        chart=styled(alt.concat(*(_panel(documents, measure) for measure in measures), columns=2)),
    )


def _panel(documents: pd.DataFrame, measure: str) -> "ChartType":
    """Histograms of all classes over each other, in the same bins."""
    by_class = {
        panel.title: shares(panel.documents, COLUMN + measure, -1.0, 1.0, bins=25)
        for panel in by_prediction(documents)
    }
    names = list(by_class)
    colours = alt.Scale(domain=names, range=list(OTHERS[: len(names)]))
    dashes = alt.Scale(domain=names, range=list(DASHES[: len(names)]))
    legend = alt.Legend(title=None, symbolStrokeWidth=2)
    colour = alt.Color("predicted:N", scale=colours, legend=legend)
    bars = alt.Chart(pd.concat(rows.assign(predicted=name) for name, rows in by_class.items()))
    lines = alt.Chart(
        pd.concat(_outline(rows).assign(predicted=name) for name, rows in by_class.items())
    )
    return alt.layer(
        bars.mark_bar(binSpacing=0, fillOpacity=0.2).encode(
            bin_axis(TITLE, -1.0, 1.0),
            x2="end:Q",
            y=share_axis().stack(None),
            color=colour,
            tooltip=["predicted:N", *bin_tooltip()],
        ),
        lines.mark_line(interpolate="step-after", strokeWidth=2).encode(
            x=alt.X("start:Q", title=TITLE, scale=alt.Scale(domain=[-1, 1])),
            y=share_axis().stack(None),
            color=colour,
            strokeDash=alt.StrokeDash("predicted:N", scale=dashes, legend=legend),
        ),
    ).properties(title=measure, width=230, height=170)


def _outline(bins: pd.DataFrame) -> pd.DataFrame:
    """Where steps begin, and where the last one ends."""
    last = pd.DataFrame({"start": bins["end"].iloc[-1:], "share": bins["share"].iloc[-1:]})
    return pd.concat([bins[["start", "share"]], last])
