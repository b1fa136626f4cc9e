import math

import pandas as pd
import vl_convert

from heedful.plots.papers import beside_published, forest


def domain(*intervals):
    rows = [
        {"cell": "a", "published": 80.0, "ours": 81.0, "low": low, "high": high}
        | {"verdict": "replicates"}
        for low, high in intervals
    ]
    chart = beside_published(pd.DataFrame(rows), "%").chart.to_dict()
    return chart["layer"][0]["encoding"]["y"]["scale"]["domain"]


def test_no_interval_is_cut_off():
    low, high = domain((70.0, 92.0), (79.0, 83.0))
    assert low < 70
    assert high > 92


def test_a_single_seed_has_no_interval_and_is_drawn_all_the_same():
    low, high = domain((math.nan, math.nan))
    assert low < 80
    assert high > 81


def test_a_forest_has_a_panel_per_kind_and_a_line_per_test():
    rows = [
        {"claim": claim, "test": test, "kind": kind, "mean": 1.0, "low": low, "high": high}
        | {"verdict": "holds", "smallest": math.nan, "bound": bound}
        for claim, test, kind, low, high, bound in (
            ("A beats B", "x", "accuracy (points)", 0.5, 1.5, math.nan),
            ("A beats B", "y", "accuracy (points)", 0.5, 1.5, math.nan),
            ("flat", "", "tau", math.nan, math.nan, 3.0),
        )
    ]
    chart = forest(pd.DataFrame(rows)).chart.to_dict(validate=False)
    assert len(chart["vconcat"]) == 2
    svg = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    for name in ("A beats B", "flat", "all", "accuracy (points)"):
        assert name in svg
    assert "NaN" not in svg
