import math
from dataclasses import replace

import pytest

from heedful.errors import ConfigError
from heedful.papers.claims import test_claims
from heedful.papers.comparing import compare, points_of
from heedful.papers.expected import Claim, Number, Picture, Published
from heedful.papers.rows import Mean

ACCURACY = Number("test.accuracy", times=100.0)


def rows(**by_scale):
    """Runs of two seeds each: name of the variant -> accuracies."""
    return [
        {"variant": name, "seed": seed, "test.accuracy": value}
        for name, values in by_scale.items()
        for seed, value in enumerate(values, start=1)
    ]


def published(value, tolerance=2.0, why_not="", variant="DP"):
    return Published({"variant": variant}, ACCURACY, float(value), tolerance, "S", why_not)


def test_a_mean_over_seeds_has_students_interval():
    # sd of 1, 2, 3 is 1; t(0.975, 2) = 4.303; 4.303 / sqrt(3) = 2.484
    mean = Mean.of([1.0, 2.0, 3.0])
    assert (mean.mean, mean.seeds) == (2.0, 3)
    assert mean.high - mean.mean == pytest.approx(2.484, abs=1e-3)
    assert mean.mean - mean.low == pytest.approx(2.484, abs=1e-3)
    assert math.isnan(Mean.of([1.0]).low)


@pytest.mark.parametrize(
    ("value", "verdict"), [(81.0, "replicates"), (83.0, "replicates"), (83.1, "does not replicate")]
)
def test_a_number_replicates_within_its_tolerance(value, verdict):
    (found,) = compare({"": rows(DP=[0.80, 0.82])}, [published(value)])
    assert found.ours.mean == pytest.approx(81.0)
    assert found.verdict == verdict


def test_what_was_not_run_or_has_a_reason_is_not_compared():
    table = [*rows(DP=[0.8]), {"variant": "AD", "seed": 1, "state": "not run"}]
    table.append({"variant": "DP-L", "seed": 1, "state": "failed", "error": "no memory"})
    numbers = [published(80, variant=name) for name in ("AD", "DP-L", "nobody asked")]
    missing, failed, other = compare(
        {"": table}, [*numbers, published(80, why_not="another split")]
    )
    assert (missing.verdict, missing.why) == ("cannot be compared", "it was not run here")
    assert failed.why == "it failed: no memory"
    assert (other.verdict, other.why) == ("cannot be compared", "another split")
    assert other.ours.mean == 80  # shown all the same


def higher(by):
    return Claim("A beats B", ACCURACY, higher={"variant": "A"}, lower={"variant": "B"}, by=by)


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([0.90, 0.91, 0.92], [0.70, 0.71, 0.72], "holds"),
        ([0.70, 0.71, 0.72], [0.70, 0.71, 0.72], "does not hold"),
        ([0.90, 0.75, 0.99], [0.80, 0.80, 0.80], "open"),  # seeds disagree
    ],
)
def test_a_difference_is_paired_by_seed(a, b, verdict):
    (found,) = test_claims({"": rows(A=a, B=b)}, [higher(by=5.0)])
    assert found.verdict == verdict
    if verdict == "open":
        assert "do not settle it" in found.why


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([0.80, 0.82, 0.81], [0.81, 0.83, 0.82], "holds"),  # a point apart, each seed
        ([0.80, 0.82, 0.81], [0.90, 0.92, 0.91], "does not hold"),
        ([0.80, 0.84, 0.82], [0.82, 0.82, 0.82], "open"),  # seeds disagree
        ([0.80], [0.80], "open"),
    ],
)
def test_two_cells_are_close_if_the_interval_of_their_difference_is(a, b, verdict):
    claim = Claim("flat", ACCURACY, cells={"variant": ["A", "B"]}, spread=3.0)
    (found,) = test_claims({"": rows(A=a, B=b)}, [claim])
    assert found.verdict == verdict


def test_of_more_cells_the_range_of_the_means_counts():
    claim = Claim("flat", ACCURACY, cells={"variant": ["A", "B", "C"]}, spread=3.0)
    (near,) = test_claims({"": rows(A=[0.80, 0.82], B=[0.83, 0.83], C=[0.82, 0.82])}, [claim])
    assert (round(near.found.mean, 6), near.verdict) == (2.0, "holds")
    assert math.isnan(near.found.low)  # no interval is made up
    (part,) = test_claims({"": rows(A=[0.80, 0.8], B=[0.8, 0.8])}, [claim])
    assert (part.verdict, part.why) == ("open", "it was not run here")


@pytest.mark.parametrize(
    ("values", "at_least", "at_most"),
    [
        ([0.50, 0.51, 0.52], "holds", "does not hold"),
        ([0.10, 0.11, 0.12], "does not hold", "holds"),
        ([0.35, 0.41, 0.50], "open", "open"),
    ],
)
def test_of_a_number_itself_the_whole_interval_has_to_comply(values, at_least, at_most):
    by, most = (
        Claim("level", Number("test.accuracy"), at={"variant": "A"}, **amount)
        for amount in ({"by": 0.4}, {"most": 0.4})
    )
    found = test_claims({"": rows(A=values)}, [by, most])
    assert [one.verdict for one in found] == [at_least, at_most]


def test_a_loss_may_be_bounded_and_a_gain_is_no_loss():
    claim = Claim(
        "costs little", ACCURACY, higher={"variant": "A"}, lower={"variant": "B"}, most=1.5
    )
    gained = rows(A=[0.70, 0.71, 0.72], B=[0.80, 0.81, 0.82])
    assert test_claims({"": gained}, [claim])[0].verdict == "holds"
    lost = rows(A=[0.80, 0.81, 0.82], B=[0.70, 0.71, 0.72])
    assert test_claims({"": lost}, [claim])[0].verdict == "does not hold"


def test_a_claim_whose_cells_failed_is_listed_with_the_reason():
    runs = [
        {"data": "x", "variant": "A", "seed": 1, "state": "done", "error": ""},
        {"data": "x", "variant": "B", "seed": 1, "state": "failed", "error": "no memory"},
        {"data": "y", "variant": "A", "seed": 1, "state": "failed", "error": "analysis: bad"},
    ]
    table = [{"data": "x", "variant": "A", "seed": 1, "tau": 0.5}]
    claim = Claim(
        "A over B", Number("tau", of="t"), {"variant": "A"}, {"variant": "B"}, each=("data",)
    )
    x, y = test_claims({"": runs, "t": table}, [claim])
    assert (x.where, x.why) == ({"data": "x"}, "it failed: no memory")
    assert (y.where, y.why) == ({"data": "y"}, "it failed: analysis: bad")


def test_only_the_cells_that_count_are_tested():
    claim = Claim("level", ACCURACY, at={}, by=1.0, where={"variant": ["A"]}, each=("variant",))
    (found,) = test_claims({"": rows(A=[0.5, 0.5], B=[0.5, 0.5])}, [claim])
    assert found.where == {"variant": "A"}


def test_a_claim_about_cells_that_nobody_asked_for_is_left_out():
    claim = replace(higher(0.0), where={"data": "imdb"})
    here = [{"data": "sst", **row} for row in rows(A=[0.8, 0.8], B=[0.7, 0.7])]
    assert test_claims({"": here}, [claim]) == []
    failed = {"data": "imdb", "variant": "A", "seed": 1, "state": "failed", "error": "no memory"}
    (tested,) = test_claims({"": [*here, failed]}, [claim])
    assert tested.why == "it failed: no memory"


def test_a_claim_has_one_form():
    with pytest.raises(ConfigError, match="either higher and lower, or at, or cells"):
        Claim("which?", ACCURACY, higher={}, at={})
    with pytest.raises(ConfigError, match="either higher and lower, or at, or cells"):
        Claim("which?", ACCURACY, higher={})


def test_a_claim_is_tested_for_each_value_that_occurs():
    table = [
        {**row, "data": data} for data in ("x", "y") for row in rows(A=[0.9, 0.8], B=[0.7, 0.6])
    ]
    claim = Claim("A beats B", ACCURACY, {"variant": "A"}, {"variant": "B"}, by=5.0, each=("data",))
    assert [found.where for found in test_claims({"": table}, [claim])] == [
        {"data": "x"},
        {"data": "y"},
    ]


def test_a_claim_may_be_about_another_table_column_or_a_trend():
    table = [
        {"seed": seed, "sparsity": x, "tau": x * x + 0.1 + seed / 100, "other": x * x}
        for seed in (1, 2, 3)
        for x in (-1.0, 0.0, 2.0, 3.0)
    ]
    tables = {"": [], "agreement.measures": table}
    tau = Number("tau", of="agreement.measures")
    above = Claim("tau is more than other", tau, at={"sparsity": 2.0}, than="other")
    (found,) = test_claims(tables, [above])
    assert found.found.mean == pytest.approx(0.12)
    assert found.verdict == "holds"
    trend = Number("tau", of="agreement.measures", rises_with="sparsity")
    number = Published({}, trend, 0.7, 0.05, "S")
    (compared,) = compare(tables, [number])
    # one of the six pairs is discordant: (5 - 1) / 6
    assert compared.ours.mean == pytest.approx(4 / 6)
    with pytest.raises(ConfigError, match="4 rows for one seed"):
        test_claims(tables, [Claim("which?", tau, at={})])
    twice = {"": [], "agreement.measures": [*table, table[0]]}
    with pytest.raises(ConfigError, match="several rows for one value of sparsity"):
        compare(twice, [number])


def test_a_table_that_is_not_there_is_not_compared():
    claim = Claim("x", Number("tau", of="agreement.measures"), at={})
    (found,) = test_claims({"": []}, [claim])
    assert (found.verdict, found.why) == ("open", "it was not run here")


def test_a_picture_has_a_point_for_every_combination_that_was_run():
    table = [
        {"data": data, "k": k, "by": by, "seed": seed, "drop": k * seed}
        for data in ("x", "y")
        for k in (1, 5)
        for by in ("attention", "random")
        for seed in (1, 3)
        if (data, k) != ("y", 5)
    ]
    number = Number("drop", of="deletion.curve")
    picture = Picture("Drops", number, over="k", panels="data", where={"by": ["attention"]})
    points = points_of({"deletion.curve": table}, picture)
    assert [(one.panel, one.over, one.line) for one in points] == [
        *(("x", 1, ""), ("x", 5, ""), ("y", 1, "")),
    ]
    assert (points[1].mean.mean, points[1].mean.seeds) == (10.0, 2)
