"""From scores of models with a known answer to cuts, rates and verdicts on kinds left out."""

import math
from dataclasses import replace

import pytest

from heedful.calibration import dose_curve
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import (
    fit_cuts,
    judge_elsewhere,
    judge_model,
    rate_tests,
)
from heedful.calibration.zoo import truth_by_doses

NAN = math.nan
DOSES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.0)
JUDGED = {"look away": "decisive", "true pictures": "telling"}


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(dose_curve, "RESAMPLES", 20)


def dosed(kind="a", architecture="module", shift=0.0, width=0.03):
    """A row per dose and judged test: it scores one less the dose, and a shift."""
    rows = []
    for dose in DOSES:
        for test, question in JUDGED.items():
            truth = truth_by_doses({"false-documents": dose, "bypass": dose}).get(question)
            score = 1 - dose + shift
            rows.append(
                Known(
                    f"{kind} {dose}, {architecture}", kind, "s", 1, question, test,
                    truth.answer if truth else None, "construction", False, architecture,
                    dose, score, score - width, score + width,
                )
            )  # fmt: skip
    return rows


def rated(truth, scores, question="telling", test="comprehensiveness", defines=False):
    """A row per score of a test that measures no dose, in turn of either half of the settings."""
    return [
        Known(
            f"{truth}-{n}", truth, f"s{n % 2}", 1 + n % 2, question, test, truth, "construction",
            defines, "classifier", NAN, score, score - 0.05, score + 0.05,
        )
        for n, score in enumerate(scores)
    ]  # fmt: skip


def looked(known):
    names = {one.member: one for one in known}
    return [
        Looked(name, one.kind, one.setting, one.half, 1, "no", False, {}, one.architecture)
        for name, one in names.items()
    ]


GOOD = rated("fails", [0.0, 0.1] * 10) + rated("holds", [0.8, 0.9] * 10)


def test_a_cut_is_where_the_dose_curve_crosses_what_is_tolerated():
    cuts = fit_cuts(dosed())["module"]
    assert cuts["true pictures"].value == pytest.approx(0.85)
    assert cuts["look away"].value == pytest.approx(0.55)


def test_each_architecture_has_cuts_of_its_own_models_alone():
    known = dosed() + dosed("b", "classifier", shift=-0.1)
    cuts = fit_cuts(known)
    assert cuts["module"] == fit_cuts(dosed())["module"]
    assert cuts["classifier"]["true pictures"].value == pytest.approx(0.75)


def test_a_test_gets_no_cut_for_kinds_of_models_that_it_is_not_judged_for():
    assert set(fit_cuts(dosed(architecture="transformer"))["transformer"]) == {"true pictures"}


def test_a_test_that_measures_no_dose_is_reported_however_well_it_separates():
    (test,) = rate_tests(GOOD)
    assert test.separation.power.value == 1.0
    assert test.separation.cut == pytest.approx(0.45)
    assert not test.is_judged
    assert test.point.cut is None
    assert test.note == "evidence only"


def test_a_dosed_test_without_enough_doses_says_so():
    few = [one for one in dosed() if one.dose in (0.0, 0.4, 1.0)]
    assert {test.note for test in rate_tests(few)} == {
        "models of too few doses were audited to find its cut"
    }


def test_a_test_is_not_scored_where_it_defines_the_truth():
    rows = rated("holds", [0.9] * 20, "plausible", "auprc", defines=True)
    rows += rated("fails", [0.0] * 20, "plausible", "auprc")
    (test,) = rate_tests(rows)
    assert (test.holds, test.defines, test.separation) == (0, 20, None)
    assert test.note == "it measures what models were chosen by: it defines the truth"


def test_models_whose_truth_is_not_known_or_without_a_score_are_not_scored():
    unknown = [replace(one, truth=None) for one in GOOD[:20]]
    (test,) = rate_tests(unknown + GOOD[20:])
    assert (test.fails, test.holds) == (0, 20)
    silent = [replace(one, score=NAN) for one in GOOD[:11]]
    (test,) = rate_tests(silent + GOOD[11:])
    assert (test.fails, test.silent) == (20, 11)
    assert test.separation.power.value == pytest.approx(9 / 20)  # no score, no alarm


def test_rates_come_from_settings_that_the_cut_was_not_fitted_on():
    # Half 1 (even places) separates at 0.3, half 2 at 0.7: each cut is wrong on the other half.
    (test,) = rate_tests(rated("fails", [0.2, 0.6] * 10) + rated("holds", [0.4, 0.8] * 10))
    assert test.power_elsewhere.value == 0.5  # 0.6 lies above half 1's cut
    assert test.false_alarms_elsewhere.value == 0.5  # 0.4 lies below half 2's cut
    assert test.separation.false_alarms.value <= 0.05


def verdicts(known, kind):
    judged = judge_elsewhere(known, looked(known))
    return {one.member.split(",")[0]: one.verdict for one in judged if one.kind == kind}


def test_a_kind_is_judged_by_cuts_that_were_fitted_without_it():
    # Kind b scores 0.3 below what its doses say. By a's cuts its honest model is refused (0.7 is
    # below 0.85); by the cuts of both (0.7), or by its own, it would not be.
    assert verdicts(dosed("a") + dosed("b", shift=-0.3), "b")["b 0.0"] == "may-not"
    own = fit_cuts(dosed("b", shift=-0.3))
    mine = [one for one in dosed("b", shift=-0.3) if one.dose == 0]
    assert judge_model(looked(mine)[0], mine, own).verdict == "may"


def test_doses_below_the_tolerated_one_pass_those_above_do_not_and_those_near_it_are_open():
    wide = [replace(one, low=one.score - 0.07, high=one.score + 0.07) for one in dosed("b")]
    found = verdicts(dosed("a") + wide, "b")
    assert found == {
        "b 0.0": "may",
        "b 0.1": "not-safe",
        "b 0.2": "not-safe",
        "b 0.4": "may-not",
        "b 0.8": "may-not",
        "b 1.0": "may-not",
    }


def test_a_kind_that_alone_has_an_architecture_is_left_without_cuts_and_passes_nothing():
    known = dosed("a") + dosed("b", "classifier")
    assert set(verdicts(known, "b").values()) == {"not-safe"}


def test_a_model_that_was_left_out_gets_no_verdict():
    known = dosed("a") + dosed("b")
    first, *others = looked(known)
    left = [replace(first, left_out="accuracy 0.5, not at least 0.95"), *others]
    assert first.member not in {one.member for one in judge_elsewhere(known, left)}


def test_a_verdict_leaves_out_tests_that_measure_what_the_model_was_chosen_by():
    mine = [replace(one, defines=one.test == "look away") for one in dosed() if one.dose == 1]
    judged = judge_model(looked(mine)[0], mine, fit_cuts(dosed()))
    assert (judged.decisive, judged.telling) == ("reported", "contradicted")
