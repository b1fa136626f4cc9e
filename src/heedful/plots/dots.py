"""Dot products of embeddings between kinds of words (Sun & Lu 2020)."""

import altair as alt
import pandas as pd

from heedful.plots.style import BLUE, INK, ORANGE, OTHERS, Figure, shape_scale, styled
from heedful.plots.training import whole_numbers
from heedful.plots.words import NEUTRAL


def dot_products(dots: pd.DataFrame) -> Figure:
    """Rows words, with, dot_product -> a cell per pair of kinds."""
    rows = dots.assign(
        shown=dots["dot_product"].map(lambda value: f"{value:+.2f}"),
        strength=(dots["dot_product"].abs() / (dots["dot_product"].abs().max() or 1.0)).round(4),
        sign=["above" if value >= 0 else "below" for value in dots["dot_product"]],
    ).round({"dot_product": 4, "share_positive": 4})
    kinds = list(dict.fromkeys(dots["words"]))
    base = alt.Chart(rows).encode(
        x=alt.X(
            "with:N",
            sort=kinds,
            title="with words of kind",
            axis=alt.Axis(labelAngle=0, grid=False),
        ),
        y=alt.Y("words:N", sort=kinds, title="words of kind", axis=alt.Axis(grid=False)),
    )
    cells = base.mark_rect(stroke=None).encode(
        color=alt.Color(
            "sign:N", scale=alt.Scale(domain=["above", "below"], range=[ORANGE, BLUE]), legend=None
        ),
        opacity=alt.Opacity(
            "strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.75]), legend=None
        ),
        tooltip=[
            "words:N",
            "with:N",
            alt.Tooltip("dot_product:Q", title="mean dot product", format=".3f"),
            alt.Tooltip("share_positive:Q", title="words above 0", format=".0%"),
        ],
    )
    texts = base.mark_text(fontSize=13, color=INK).encode(text="shown:N")
    side = 84
    size = {"width": side * len(kinds) + 40, "height": int(side * 0.62) * len(kinds)}
    return Figure(
        title="Which words point the same way",
        caption=(
            "Mean dot product of the embeddings of two different words, by kind. Orange is above "
            "0, blue below. Sun and Lu's theory expects words of one label to point the same way, "
            "words of different labels apart, and products with neutral words to be small."
        ),
        chart=styled(alt.layer(cells, texts).properties(**size)),
    )


def dot_product_curves(dots: pd.DataFrame) -> Figure:
    """Rows epoch, words, with, dot_product -> a line per pair of kinds."""
    rows = dots.assign(pair=dots["words"] + " · " + dots["with"]).dropna(subset=["dot_product"])
    rows = rows[["epoch", "pair", "dot_product"]].round({"dot_product": 5})
    is_neutral = (dots[["words", "with"]] == NEUTRAL).any(axis=1)
    order = dots.assign(is_neutral=is_neutral, is_mixed=dots["words"] != dots["with"])
    order = order.sort_values(["is_neutral", "is_mixed"], kind="stable")
    pairs = list(dict.fromkeys(order["words"] + " · " + order["with"]))
    colours = alt.Scale(domain=pairs, range=[OTHERS[n % len(OTHERS)] for n in range(len(pairs))])
    base = alt.Chart(rows).encode(
        x=alt.X("epoch:Q", title="epoch", axis=whole_numbers(dots["epoch"])),
        y=alt.Y("dot_product:Q", title="mean dot product"),
        color=alt.Color("pair:N", scale=colours, title=None, legend=alt.Legend(columns=2)),
        tooltip=["pair:N", "epoch:Q", alt.Tooltip("dot_product:Q", format=".3g")],
    )
    step = int(rows["epoch"].max() // 12) + 1 if len(rows) else 1
    marks = base.mark_point(filled=True, size=34, opacity=1).encode(
        shape=alt.Shape("pair:N", scale=shape_scale(pairs), title=None)
    )
    marks.data = rows[rows["epoch"] % step == 0]
    return Figure(
        title="Words of one label come to point the same way",
        caption=(
            "Mean dot product of the embeddings of two different words, by pair of kinds. Two "
            "words of one label should rise, two of different labels fall, and pairs with a "
            "neutral word stay near 0: terms C and F live on this."
        ),
        chart=styled(
            alt.layer(base.mark_line(strokeWidth=2), marks).properties(width=380, height=210)
        ),
    )
