import json
import math

import numpy as np
import pytest
from scipy import stats

from heedful.papers.claims import judge
from heedful.papers.expected import Claim, Number
from heedful.papers.paper import load_paper, paper_names
from heedful.papers.power import power_at, seeds_to_settle, smallest_visible, spread_of
from heedful.papers.rows import Mean
from heedful.papers.saved import read_reproduction
from heedful.papers.smallest_effects import kind_of
from heedful.papers.verdicts import decide, in_words

ACCURACY = Number("test.accuracy", times=100.0)
MORE = Claim("A beats B", ACCURACY, higher={"variant": "A"}, lower={"variant": "B"})


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.4, 3.0, "holds"),
        (-3.0, -0.4, "does not hold"),
        (-0.9, 0.9, "too small to matter"),
        (0.1, 0.9, "too small to matter"),  # told apart from 0, and still too small
        (-0.9, -0.1, "too small to matter"),
        (-0.9, 1.1, "open"),
    ],
)
def test_a_difference_of_accuracies_within_a_point_is_too_small_to_matter(low, high, verdict):
    assert decide(MORE, Mean((low + high) / 2, low, high, 5)) == verdict


def test_a_claim_that_states_its_own_size_is_judged_by_that():
    inside = Mean(0.1, -0.2, 0.4, 5)
    asked = Claim("far better", ACCURACY, higher={}, lower={}, by=10.0)
    assert decide(asked, inside) == "does not hold"
    assert decide(Claim("flat", ACCURACY, cells={}, spread=3.0), inside) == "holds"
    assert decide(Claim("cheap", ACCURACY, higher={}, lower={}, most=1.5), inside) == "holds"


def test_what_has_no_unit_is_never_too_small():
    term = Claim("Term F", Number("F"), higher={}, lower={})
    assert decide(term, Mean(1e-4, 5e-5, 1.5e-4, 3)) == "holds"


def test_every_claim_of_every_paper_is_of_a_known_kind():
    for name in paper_names():
        for claims in load_paper(name).claims.values():
            for claim in claims:
                assert kind_of(claim.number) is not None, claim.number.column


def test_about_twenty_claims_are_main():
    main = [
        claim
        for name in paper_names()
        for claims in load_paper(name).claims.values()
        for claim in claims
        if claim.main
    ]
    assert 18 <= len(main) <= 26


def test_the_spread_is_read_back_from_an_interval():
    values = [1.0, 2.0, 4.0, 8.0]
    assert spread_of(Mean.of(values)) == pytest.approx(np.std(values, ddof=1))
    assert math.isnan(smallest_visible(Mean.of([1.0])))


@pytest.mark.parametrize("seeds", [3, 10])
def test_the_smallest_visible_difference_is_found_four_times_in_five(seeds):
    found = Mean.of(list(np.linspace(-1, 1, seeds)))
    size = smallest_visible(found)
    rng = np.random.default_rng(1)
    draws = size + spread_of(found) * rng.standard_normal((40_000, seeds))
    rejected = stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05
    assert rejected.mean() == pytest.approx(0.8, abs=0.01)


def test_power_without_an_effect_is_the_level():
    assert power_at(0.0, 5) == pytest.approx(0.05, abs=1e-3)


def test_as_many_seeds_as_it_says_settle_an_open_claim_four_times_in_five():
    found = Mean.of([1.0, 3.0, 8.0])
    tested = judge(MORE, {}, found)
    assert tested.verdict == "open"
    assert tested.why == f"3 seeds do not settle it; about {tested.seeds_needed} would"
    rng = np.random.default_rng(1)
    draws = found.mean + spread_of(found) * rng.standard_normal((4000, tested.seeds_needed))
    half = stats.t.ppf(0.975, tested.seeds_needed - 1) * stats.sem(draws, axis=1)
    settled = draws.mean(axis=1) - half > 0
    assert settled.mean() == pytest.approx(0.8, abs=0.04)


def test_an_effect_that_sits_on_its_bound_is_not_settled_by_seeds():
    found = Mean.of([9.0, 10.0, 11.0])
    exactly = Claim("ten points", ACCURACY, at={}, by=10.0)
    assert judge(exactly, {}, found).why == "3 seeds do not settle it; 1000 would not"
    assert seeds_to_settle(Mean.of([1.0]), lambda mean: True) is None


def test_verdicts_are_counted_in_words():
    assert in_words(["holds", "holds"]) == "holds"
    assert in_words(["open", "holds", "open"]) == "holds 1, open 2"


def test_files_of_earlier_versions_are_read_and_judged_by_todays_rules(tmp_path):
    claim = {
        "says": "VAT is more accurate than attention alone",
        "is_ours": False,
        "wanted": {},
        "why": "",
    }
    kept = {
        "paper": "zhou",
        "experiment": "vat",
        "title": "T",
        "numbers": [
            {
                "where": {"data": "subj", "variant": "VAT", "k": 5, "by": "attention"},
                "published": 89.1,
                "source": "read in the paper's text",
                "tolerance": 2.0,
                "ours": {"mean": 80.0, "low": None, "high": None, "seeds": 1},
                "difference": -9.1,
                "verdict": "does not",
                "why": "",
            }
        ],
        "claims": [
            {**claim, "where": {"data": data}, "found": found, "verdict": verdict, "why": why}
            for data, found, verdict, why in (
                ("a", {"mean": 3.0, "low": 2.0, "high": 4.0, "seeds": 3}, "replicates", ""),
                ("b", {"mean": 0.0, "low": -0.2, "high": 0.2, "seeds": 3}, "cannot be compared",
                 "3 seeds do not settle it"),
                ("c", None, "cannot be compared", "it was not run here"),
                ("d", {"mean": 3.0, "low": 2.0, "high": 4.0, "seeds": 3}, "cannot be compared",
                 "another split"),
            )
        ],
        "pictures": [],
        "about": {"cells": {}, "left_out": 0},
    }  # fmt: skip
    (tmp_path / "reproduction.json").write_text(json.dumps(kept))
    one = read_reproduction(tmp_path)
    assert one.numbers[0].verdict == "does not replicate"
    assert one.numbers[0].published.number.column == "kept_gold"
    assert [tested.verdict for tested in one.claims] == [
        *("holds", "too small to matter", "open", "open"),
    ]
    assert [tested.why for tested in one.claims[2:]] == ["it was not run here", "another split"]
    one.save(tmp_path)  # and what is written is read again
    assert read_reproduction(tmp_path).claims == one.claims
    assert "0 of 1 published numbers replicate; 4 tests of claims: holds 1, " in one.sentence
