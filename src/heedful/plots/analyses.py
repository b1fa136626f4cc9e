"""What other analyses find in a finished run.

Rows -> agreement with importance by predicted class (Jain & Wallace 2019), accuracy without the top
words and from only them (Zhou et al. 2021), mutual information of word and state (Tutek & Šnajder
2020), sentence vectors in the plane (Zhou et al. 2021).
"""

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    GREY,
    INK,
    OTHER_LABELS,
    OTHERS,
    QUIET,
    SHAPES,
    Figure,
    bin_axis,
    bin_tooltip,
    by_prediction,
    measure_scale,
    row_axis,
    shape_scale,
    share_axis,
    shares,
    styled,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

TAU_COLUMN = "tau_"  # and the name of a measure
CLASS_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])  # so that colour is not the only sign
TAU_TITLE = "Kendall's τ with attention"
STATES = "states"
MOST_LABELS = len(SHAPES) - 1


def agreement_by_class(documents: pd.DataFrame) -> Figure:
    """Columns tau_<measure>, prediction -> a panel per measure, a histogram per class."""
    columns = [str(name) for name in documents if str(name).startswith(TAU_COLUMN)]
    measures = [name.removeprefix(TAU_COLUMN) for name in columns]
    return Figure(
        title="Agreement of attention with importance",
        caption=(
            "Kendall's τ between the attention weights of each document and the absolute "
            "importance of its words, by the class that is predicted; each outline is the share "
            "of that class's documents. 1: the same order; 0: unrelated; −1: reversed. Documents "
            "whose words are all tied are left out."
        ),
        chart=styled(
            alt.concat(*(_agreement_panel(documents, measure) for measure in measures), columns=2)
        ),
    )


def _agreement_panel(documents: pd.DataFrame, measure: str) -> "ChartType":
    """Histograms of all classes over each other, in the same bins."""
    by_class = {
        panel.title: shares(panel.documents, TAU_COLUMN + measure, -1.0, 1.0, bins=25)
        for panel in by_prediction(documents)
    }
    names = list(by_class)
    colours = alt.Scale(domain=names, range=list(OTHERS[: len(names)]))
    dashes = alt.Scale(domain=names, range=list(CLASS_DASHES[: len(names)]))
    legend = alt.Legend(title=None, symbolStrokeWidth=2)
    colour = alt.Color("predicted:N", scale=colours, legend=legend)
    bars = alt.Chart(pd.concat(rows.assign(predicted=name) for name, rows in by_class.items()))
    lines = alt.Chart(
        pd.concat(_outline(rows).assign(predicted=name) for name, rows in by_class.items())
    )
    return alt.layer(
        bars.mark_bar(binSpacing=0, fillOpacity=0.2).encode(
            bin_axis(TAU_TITLE, -1.0, 1.0),
            x2="end:Q",
            y=share_axis().stack(None),
            color=colour,
            tooltip=["predicted:N", *bin_tooltip()],
        ),
        lines.mark_line(interpolate="step-after", strokeWidth=2).encode(
            x=alt.X("start:Q", title=TAU_TITLE, scale=alt.Scale(domain=[-1, 1])),
            y=share_axis().stack(None),
            color=colour,
            strokeDash=alt.StrokeDash("predicted:N", scale=dashes, legend=legend),
        ),
    ).properties(title=measure, width=230, height=170)


def _outline(bins: pd.DataFrame) -> pd.DataFrame:
    """Where steps begin, and where the last one ends."""
    last = pd.DataFrame({"start": bins["end"].iloc[-1:], "share": bins["share"].iloc[-1:]})
    return pd.concat([bins[["start", "share"]], last])


def deletion(curve: pd.DataFrame) -> Figure:
    """Rows k, by, accuracy_drop, kept_gold, their intervals, judge_accuracy -> two panels."""
    lost = _deletion_panel(curve, "accuracy_drop", "accuracy lost", "top words deleted (k)")
    alone = _deletion_panel(curve, "kept_gold", "accuracy from them alone", "top words kept (k)")
    whole = pd.DataFrame({"whole": [round(float(curve["judge_accuracy"].iloc[0]), 4)]})
    rule = alt.Chart(whole).mark_rule(color=QUIET, strokeDash=[4, 3], strokeWidth=1.5)
    said = [alt.Tooltip("whole:Q", title="accuracy on whole texts", format=".1%")]
    return Figure(
        title="What the top words are worth",
        caption=(
            "Left: how much accuracy the judge loses when the k words ranked highest are deleted "
            "from every document, compared with k random ones (grey). Right: its accuracy from "
            "only those "
            "words; the dashed line is its accuracy on whole texts. Bands are 95% intervals over "
            "documents; the right scale need not start at 0. A ranking that finds the deciding "
            "words lies above random words in both."
        ),
        chart=styled(alt.concat(lost, alone + rule.encode(y="whole:Q", tooltip=said), columns=2)),
    )


def _deletion_panel(curve: pd.DataFrame, name: str, title: str, words: str) -> "ChartType":
    """A line with its band for the ranking and for random words."""
    ends = [f"{name}_low", f"{name}_high"]
    rows = curve[["k", "by", name, *ends]].round(4)
    rankings = list(dict.fromkeys(rows["by"]))
    legend = alt.Legend(title=None, symbolOpacity=1)  # else as pale as the bands
    colour = alt.Color("by:N", scale=measure_scale(rankings), legend=legend)
    base = alt.Chart(rows).encode(
        x=alt.X("k:Q", title=words, axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y(
            f"{name}:Q",
            title=title,
            scale=alt.Scale(zero=name == "accuracy_drop"),
            axis=alt.Axis(format="~%", tickCount=5),
        ),
        color=colour,
    )
    said = [
        alt.Tooltip("by:N", title="words chosen by"),
        "k:Q",
        alt.Tooltip(f"{name}:Q", title=title, format=".1%"),
        alt.Tooltip(f"{ends[0]}:Q", title="from", format=".1%"),
        alt.Tooltip(f"{ends[1]}:Q", title="to", format=".1%"),
    ]
    bands = alt.Chart(rows.dropna()).mark_area(opacity=0.2)
    points = base.mark_point(filled=True, size=42, opacity=1).encode(
        shape=alt.Shape("by:N", scale=shape_scale(rankings), legend=legend), tooltip=said
    )
    return alt.layer(
        bands.encode(x="k:Q", y=f"{ends[0]}:Q", y2=f"{ends[1]}:Q", color=colour),
        base.mark_line(strokeWidth=2),
        points,
    ).properties(width=260, height=190)


def information(rows: pd.DataFrame) -> Figure:
    """Rows of, share_of_entropy, …_low, …_high -> a bar with its interval per kind of state."""
    shown = rows[["of", "share_of_entropy", "share_of_entropy_low", "share_of_entropy_high"]]
    shown = shown.round(5).assign(is_model=shown["of"] == STATES)
    base = alt.Chart(shown).encode(
        y=alt.Y("of:N", sort=None, title=None, axis=row_axis(rows["of"]))
    )
    share = alt.X(
        "share_of_entropy:Q",
        title="share of a word's entropy that its state reveals",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", grid=True),
    )
    bars = base.mark_bar(size=15).encode(
        share,
        color=alt.Color(
            "is_model:N", scale=alt.Scale(domain=[True, False], range=[BLUE, GREY]), legend=None
        ),
        tooltip=[
            "of:N",
            alt.Tooltip("share_of_entropy:Q", title="share", format=".1%"),
            alt.Tooltip("share_of_entropy_low:Q", title="from", format=".1%"),
            alt.Tooltip("share_of_entropy_high:Q", title="to", format=".1%"),
        ],
    )
    spans = base.mark_rule(strokeWidth=2, color=INK).encode(
        x=alt.X("share_of_entropy_low:Q"), x2="share_of_entropy_high:Q"
    )
    return Figure(
        title="How much a state reveals about its word",
        caption=(
            "Mutual information of word and cluster of its state, as a share of the words' "
            "entropy, with 95% intervals. Embeddings show the most that is possible after "
            "clustering, shuffled states what chance gives. A trained encoder below an untrained "
            "one has lost information about the word."
        ),
        chart=styled(alt.layer(bars, spans).properties(width=330, height=alt.Step(30))),
    )


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
            "Each mark is a test document: the vector that attention makes of it, reduced to two "
            "dimensions. Colour and shape are its true label; pale marks are predicted "
            "wrongly. The plane keeps only part of the distances: read the silhouette for how far "
            "apart the labels are."
        ),
        chart=styled(chart.properties(width=380, height=330)),
    )
