import json

import numpy as np
import pandas as pd
import vl_convert

from heedful import plots
from heedful.plots.audit_scores import _front
from heedful.plots.style import GREY, ORANGE


def test_attention_is_orange_and_chance_is_grey(tables):
    chart = json.dumps(plots.deletion_curves(tables["curves"]).chart.to_dict())
    scale = json.loads(
        chart[chart.index('"scale": {"domain": ["attention"') + 9 :].split("}")[0] + "}"
    )
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["attention"] == ORANGE
    assert colours["random"] == GREY
    assert len(set(colours.values())) == len(colours)


def test_a_curve_without_numbers_is_left_out(tables):
    """`kept_gold` is None throughout: one panel instead of two."""
    chart = plots.keep_curves(tables["curves"]).chart.to_dict()
    assert len(chart["concat"]) == 1
    assert len(plots.deletion_curves(tables["curves"]).chart.to_dict()["concat"]) == 2


def test_the_front_holds_the_models_that_no_other_beats():
    points = pd.DataFrame({"score": [0.1, 0.5, 0.4, 0.9], "accuracy": [0.9, 0.8, 0.7, 0.6]})
    assert _front(points)["score"].tolist() == [0.1, 0.5, 0.9]


def test_scores_far_beyond_the_controls_keep_their_number(scores):
    wild = scores.assign(score=40.0, low=-50.0, high=60.0)
    chart = plots.scores_forest(wild).chart.to_dict()
    row = next(row for rows in chart["datasets"].values() for row in rows if "score_at" in row)
    assert row["score_at"] == 2.0
    assert row["score"] == 40.0


def test_a_score_that_is_no_number_is_drawn_nowhere(scores):
    missing = scores.assign(score=np.nan, low=np.nan, high=np.nan)
    assert vl_convert.vegalite_to_svg(plots.scores_forest(missing).chart.to_dict())
