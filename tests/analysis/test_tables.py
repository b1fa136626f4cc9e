import numpy as np

from heedful.analysis.tables import in_words, lines, number


def test_a_mean_and_its_interval_share_a_cell():
    rows = [
        {"kind": "polar", "mean_score": 1.23456, "mean_score_low": -1.0, "mean_score_high": 2.0},
        {
            "kind": "x",
            "mean_score": float("nan"),
            "mean_score_low": np.nan,
            "mean_score_high": np.nan,
        },
    ]
    shown = in_words(rows)
    assert shown.header == ("kind", "mean score")
    assert shown.rows == (("polar", "1.235 [-1.000, 2.000]"), ("x", "– [–, –]"))
    assert lines(shown) == [
        "kind              mean score",
        "polar  1.235 [-1.000, 2.000]",
        "x                   – [–, –]",
    ]


def test_numbers_keep_the_digits_that_count():
    told = [
        number(v) for v in (0.0, 1234, 0.00012, 12.345, 456.78, -0.5, 98765.0, "word", None, True)
    ]
    assert told == [
        "0.000", "1,234", "1.20e-04", "12.35", "456.8", "-0.500", "9.88e+04", "word", "–", "yes"
    ]  # fmt: skip
