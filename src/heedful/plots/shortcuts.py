"""The default-token experiment: what passes through the attention pattern (Bai et al. 2021)."""

import altair as alt
import pandas as pd

from heedful.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    OTHERS,
    QUIET,
    Figure,
    row_axis,
    styled,
)

MOST_SEEDS = 4  # drawn; tokens of different seeds have nothing to do with each other
MOST_LABELS = len(OTHERS)


def arm_accuracies(rows: pd.DataFrame) -> Figure:
    """Rows arm, seed, accuracy, low, high, majority_accuracy -> a line per arm, a dot per seed.

    Rows without a seed are of all seeds together, with an interval. The arm `ordinary` is the
    classifier that may read the text.
    """
    is_whole = rows["seed"].isna()
    arms, seeds = rows[is_whole].drop(columns="seed"), rows[~is_whole].astype({"seed": "int64"})
    majority = float(rows["majority_accuracy"].iloc[0])
    names = list(arms["arm"])
    colours = {"ordinary": GREY, "learned": ORANGE}
    scale = alt.Scale(domain=names, range=[colours.get(name, BLUE) for name in names])
    x_scale = alt.Scale(zero=False, nice=True, padding=12)
    x = alt.X("low:Q", title="test accuracy", scale=x_scale, axis=alt.Axis(format="~%", grid=True))
    y = alt.Y("arm:N", sort=names, title=None, axis=row_axis(names))
    colour = alt.Color("arm:N", scale=scale, legend=None)
    numbers = [alt.Tooltip(f"{name}:Q", format=".1%") for name in ("accuracy", "low", "high")]
    base = alt.Chart(arms.round(4)).encode(y=y, color=colour, tooltip=["arm:N", *numbers])
    dots = alt.Chart(seeds[["arm", "seed", "accuracy"]].round(4)).encode(
        x="accuracy:Q", y=y, color=colour, tooltip=["arm:N", "seed:N", numbers[0]]
    )
    line = alt.Chart(pd.DataFrame({"at": [round(majority, 4)], "says": ["commonest label"]}))
    chart = alt.layer(
        line.mark_rule(color=QUIET, strokeWidth=1.5, strokeDash=[5, 4]).encode(x="at:Q"),
        line.mark_text(color=QUIET, align="left", dx=5, dy=-8, fontSize=11).encode(
            x="at:Q", y=alt.value(0), text="says:N"
        ),
        base.mark_rule(strokeWidth=2.5).encode(x, x2="high:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(x="accuracy:Q"),
        dots.mark_point(filled=False, size=40, opacity=0.9, strokeWidth=1.4, yOffset=11),
    ).properties(width=430, height=alt.Step(36))
    return Figure(
        title="What passes through the pattern alone",
        caption=(
            "Share of test documents that each way of training gets right. Only ordinary may see "
            "the text; all others see nothing but their own attention over tokens that are the "
            "same for every text, so whatever lies off the dashed line was written into the "
            "weights (left of it, the label is read the wrong way round). Lines are 95% intervals "
            "over documents and seeds; open dots are single seeds."
        ),
        chart=styled(chart),
    )


def mask_by_label(masks: pd.DataFrame) -> Figure:
    """Rows arm, seed, label, token, mean_weight -> bars per token, a panel per arm and seed."""
    seeds = list(dict.fromkeys(masks["seed"]))[:MOST_SEEDS]
    labels = list(dict.fromkeys(masks["label"]))[:MOST_LABELS]
    names = list(dict.fromkeys(masks["arm"]))
    rows = masks[masks["seed"].isin(seeds) & masks["label"].isin(labels)].dropna(
        subset=["mean_weight"]
    )
    rows = rows[["arm", "seed", "label", "token", "mean_weight"]].round({"mean_weight": 4})
    colours = alt.Scale(domain=labels, range=list(OTHERS[: len(labels)]))

    def bars(arm: str, seed: int) -> alt.Chart:
        is_first = seed == seeds[0]
        share = alt.Axis(
            format="~%",
            values=[0, 0.5, 1],
            labelOpacity=float(is_first),  # room for labels everywhere keeps panels in line
            ticks=is_first,
            titleAngle=0,
            titleAlign="right",
        )
        weight = alt.Y(
            "mean_weight:Q",
            title=arm if is_first else None,
            scale=alt.Scale(domain=[0, 1]),
            axis=share,
        )
        drawn = alt.Chart(rows[(rows["arm"] == arm) & (rows["seed"] == seed)]).mark_bar()
        title = alt.TitleParams(
            f"seed {seed}" if arm == names[0] else "", anchor="middle", frame="group"
        )
        return drawn.encode(
            x=alt.X("token:O", title=None, axis=alt.Axis(labelAngle=0, ticks=False)),
            xOffset=alt.XOffset("label:N", sort=labels),
            y=weight,
            color=alt.Color("label:N", scale=colours, sort=labels, title=None),
            tooltip=[
                *("arm:N", "seed:N", "label:N", "token:O"),
                alt.Tooltip("mean_weight:Q", title="mean weight", format=".1%"),
            ],
        ).properties(width=max(110, 26 * rows["token"].nunique()), height=62, title=title)

    chart = alt.vconcat(
        *(alt.hconcat(*(bars(arm, seed) for seed in seeds), spacing=0) for arm in names),
        spacing=14,
        padding={"left": 24, "top": 4, "right": 4, "bottom": 4},  # names may be wider elsewhere
    )
    return Figure(
        title="Where documents of each label look",
        caption=(
            "Mean weight of each default token over the test documents of a label. Where the bars "
            "of a token differ between labels, its weight reveals the label. Tokens mean nothing "
            "by themselves, so their roles differ from seed to seed."
        ),
        chart=styled(chart),
    )
