import math

import pandas as pd

from heedful.plots.papers import beside_published


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
