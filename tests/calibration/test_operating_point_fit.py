"""From scores of models with a known answer to operating points and verdicts elsewhere."""

import math
from dataclasses import replace

import pytest

from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import (
    choose,
    joint_false_alarms,
    judge_elsewhere,
    judge_model,
    rate_tests,
)

NAN = math.nan


def models(question, test, truth, scores, *, by="construction", defines=False, width=0.05):
    """A row per score, in turn of either half of the settings."""
    return [
        Known(
            f"{truth}-{place}", truth, f"s{place % 2}", 1 + place % 2, question, test, truth, by,
            defines, score, score - width, score + width,
        )
        for place, score in enumerate(scores)
    ]  # fmt: skip


def looked(known):
    names = {one.member: one for one in known}
    return [
        Looked(name, one.kind, one.setting, one.half, 1, name.startswith("holds"), False, {})
        for name, one in names.items()
    ]


GOOD = models("telling", "comprehensiveness", "fails", [0.0, 0.1] * 10) + models(
    "telling", "comprehensiveness", "holds", [0.8, 0.9] * 10
)
BLIND = models("telling", "sufficiency", "fails", [0.0, 1.0] * 10) + models(
    "telling", "sufficiency", "holds", [0.0, 1.0] * 10
)
MOVES = models("decisive", "permutation", "fails", [0.0] * 20) + models(
    "decisive", "permutation", "holds", [0.6] * 20
)


def by_name(tests):
    return {test.test: test for test in tests}


def test_a_test_that_separates_is_judged_and_one_that_is_blind_is_reported():
    tests = by_name(rate_tests(GOOD + BLIND))
    good, blind = tests["comprehensiveness"], tests["sufficiency"]
    assert good.is_judged
    assert good.separation.cut == pytest.approx(0.45)
    assert good.point.power.value == 1.0
    assert not blind.is_judged
    assert blind.note == "power 0% at 5% false alarms: too little to judge by"


def test_a_test_is_not_scored_where_it_defines_the_truth():
    rows = models("plausible", "auprc", "holds", [0.9] * 20, by="evidence_mass", defines=True)
    rows += models("plausible", "auprc", "fails", [0.0] * 20)
    (test,) = rate_tests(rows)
    assert (test.holds, test.defines, test.separation) == (0, 20, None)
    assert test.note == "it measures what models were chosen by: it defines the truth"
    assert test.point.power is None


def test_models_whose_truth_is_not_known_are_not_scored():
    unknown = [replace(one, truth=None) for one in GOOD[:20]]
    (test,) = rate_tests(unknown + GOOD[20:])
    assert (test.fails, test.holds) == (0, 20)


def test_too_few_models_is_no_judgement():
    (test,) = rate_tests(GOOD[:9] + GOOD[20:])
    assert not test.is_judged
    assert test.note == "asked of too few models: 9 that fail, 20 that hold"


def test_of_each_question_the_most_powerful_test_is_judged_then_that_of_fewest_false_alarms():
    weaker = models("telling", "weaker", "fails", [0.0] * 15 + [0.9] * 5)
    weaker += models("telling", "weaker", "holds", [0.8] * 20)
    alarming = models("telling", "alarming", "fails", [0.0] * 20)
    alarming += models("telling", "alarming", "holds", [-1.0, *([0.8] * 19)])
    known = weaker + alarming + GOOD + MOVES
    assert list(choose(known)) == ["comprehensiveness", "permutation"]
    notes = {test.test: test.note for test in rate_tests(known)}
    assert notes["weaker"] == notes["alarming"] == "another test of its question does better"


def test_a_test_that_would_push_the_verdict_above_5_percent_gives_way_to_the_next():
    # Decisive and the stronger test of telling are wrong on one model in 20 each, not on the same.
    first = models("decisive", "permutation", "fails", [0.0] * 20)
    first += models("decisive", "permutation", "holds", [-1.0, *([0.9] * 19)])
    strong = models("telling", "comprehensiveness", "fails", [0.0] * 20)
    strong += models("telling", "comprehensiveness", "holds", [*([0.9] * 19), -1.0])
    weaker = models("telling", "sufficiency", "fails", [0.0] * 15 + [NAN] * 5)
    weaker += models("telling", "sufficiency", "holds", [0.9] * 20)
    known = first + strong + weaker
    assert list(choose(known)) == ["permutation", "sufficiency"]
    assert joint_false_alarms(known, ["decisive", "telling"], choose(known)) == 0.05
    both = {"permutation": 0.4, "comprehensiveness": 0.4}
    assert joint_false_alarms(known, ["decisive", "telling"], both) == 0.1


def test_rates_come_from_settings_that_the_cut_was_not_fitted_on():
    # Half 1 (even places) separates at 0.3, half 2 at 0.7: each cut is wrong on the other half.
    rows = models("telling", "comprehensiveness", "fails", [0.2, 0.6] * 10)
    rows += models("telling", "comprehensiveness", "holds", [0.4, 0.8] * 10)
    (test,) = rate_tests(rows)
    assert test.power_elsewhere.value == 0.5  # 0.6 lies above half 1's cut
    assert test.false_alarms_elsewhere.value == 0.5  # 0.4 lies below half 2's cut
    assert test.separation.false_alarms.value <= 0.05


def test_the_verdict_of_each_model_is_made_with_the_other_halfs_cuts():
    known = GOOD + MOVES
    verdicts = {one.member: one.verdict for one in judge_elsewhere(known, looked(known))}
    assert {verdicts[name] for name in verdicts if name.startswith("fails")} == {"may-not"}
    assert {verdicts[name] for name in verdicts if name.startswith("holds")} == {"may"}


def test_a_model_that_was_left_out_gets_no_verdict():
    known = GOOD + MOVES
    some = looked(known)
    left = [replace(some[0], left_out="accuracy 0.5, not at least 0.95"), *some[1:]]
    assert some[0].member not in {one.member for one in judge_elsewhere(known, left)}


def test_an_interval_across_the_cut_decides_nothing():
    wide = [replace(one, low=0.0, high=1.0) for one in GOOD + MOVES if one.member == "holds-0"]
    model = looked(wide)[0]
    judged = judge_model(model, wide, {"comprehensiveness": 0.5, "permutation": 0.3})
    assert (judged.decisive, judged.telling, judged.verdict) == (
        *("undecided", "undecided"),
        "not-safe",
    )


def test_a_verdict_leaves_out_tests_that_measure_what_the_model_was_chosen_by():
    mine = [one for one in GOOD + MOVES if one.member == "fails-0"]
    chosen = [replace(one, defines=one.test == "permutation") for one in mine]
    judged = judge_model(looked(mine)[0], chosen, {"comprehensiveness": 0.5, "permutation": 0.3})
    assert (judged.decisive, judged.telling) == ("reported", "contradicted")


def test_models_without_a_score_do_not_count_towards_the_fewest():
    silent = models("telling", "comprehensiveness", "holds", [NAN] * 11 + [0.9] * 9)
    (test,) = rate_tests(GOOD[:20] + silent)
    assert test.silent == 11
    assert not test.is_judged
    assert test.note == "asked of too few models: 20 that fail, 9 that hold"
