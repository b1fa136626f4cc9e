import pytest

from heedful.auditing import operating_points
from heedful.auditing.bootstrap import Score
from heedful.auditing.operating_points import OperatingPoints
from heedful.auditing.verdict import judge_question, judge_test, reach_verdict
from tests.auditing.points import a_point

CUTS = {"permutation": 0.1}


def a_score(interval, spread=(0.1, 0.2)):
    return Score(0.2, 0.0, 0.5, 0.4, interval, spread, documents=100, left_out=0)


@pytest.mark.parametrize(
    ("interval", "spread", "judgement"),
    [
        ((0.11, 0.3), (0.1, 0.2), "supported"),
        ((0.05, 0.3), (0.1, 0.2), "undecided"),
        ((-0.1, 0.09), (0.1, 0.2), "contradicted"),
        ((0.11, 0.3), (-0.1, 0.2), "undecided"),  # the controls do not separate: no power
    ],
)
def test_a_judged_test_is_read_by_its_whole_interval(interval, spread, judgement):
    assert (
        judge_test("permutation", a_score(interval, spread), "higher", 100, cuts=CUTS) == judgement
    )


def test_a_test_without_a_measured_cut_is_only_reported():
    assert judge_test("uniform", a_score((0.9, 1.0)), "higher", 100, cuts=CUTS) == "reported"


def test_where_no_weights_move_the_prediction_attention_is_contradicted():
    nothing = a_score((float("nan"), float("nan")), (0.0, 0.0))
    found = judge_test("permutation", nothing, "higher", 100, cannot_move=True, cuts=CUTS)
    assert found == "contradicted"


@pytest.mark.parametrize(
    ("judgements", "expected"),
    [
        (["supported", "contradicted", "reported"], "contradicted"),
        (["supported", "undecided"], "supported"),
        (["undecided", "reported"], "undecided"),
        (["reported"], "reported"),
    ],
)
def test_one_contradiction_outweighs_all_support(judgements, expected):
    assert judge_question(judgements) == expected


@pytest.mark.parametrize(
    ("decisive", "telling", "expected"),
    [
        ("supported", "supported", "may"),
        ("supported", "undecided", "not-safe"),
        ("contradicted", "supported", "may-not"),
        ("undecided", "contradicted", "may-not"),
    ],
)
def test_the_verdict_rests_on_decisive_and_telling(decisive, telling, expected):
    assert reach_verdict({"decisive": decisive, "telling": telling}) == expected


def test_a_few_documents_decide_nothing_however_often_they_are_repeated():
    sure = a_score((0.9, 1.0))
    assert judge_test("permutation", sure, "higher", 19, cuts=CUTS) == "undecided"
    assert judge_test("permutation", sure, "higher", 20, cuts=CUTS) == "supported"
    assert judge_test("permutation", sure, "higher", 2, cannot_move=True, cuts=CUTS) == "undecided"


@pytest.mark.parametrize(("cut", "judgement"), [(0.2, "supported"), (0.4, "contradicted")])
def test_a_test_is_judged_by_the_cut_of_the_points_that_ship(cut, judgement, monkeypatch):
    points = OperatingPoints((a_point("uniform", cut), a_point("flip", cut, is_judged=False)))
    monkeypatch.setattr(operating_points, "shipped", lambda: points)
    assert judge_test("uniform", a_score((0.25, 0.35)), "higher", 100) == judgement
    assert judge_test("flip", a_score((0.25, 0.35)), "higher", 100) == "reported"
    assert judge_test("permutation", a_score((0.25, 0.35)), "higher", 100) == "reported"
