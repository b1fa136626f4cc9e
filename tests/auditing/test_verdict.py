import numpy as np
import pytest

from heedful.auditing.audit import audit
from heedful.auditing.bootstrap import Score
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.auditing.verdict import (
    judge_pictures_of,
    judge_question,
    judge_test,
    reach_verdict,
)
from heedful.calibration.built import BuiltAdapter, BuiltModel
from heedful.errors import ConfigError
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Documents

CUTS = {"permutation": 0.1}
ITS_QUESTIONS = ("decisive", "telling", "leak-free")


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


@pytest.mark.parametrize(
    ("judgement", "silent", "expected"),
    [
        ("supported", 0, "supported"),
        ("supported", 50, "supported"),
        ("supported", 55, "supported"),  # half of all documents may well be more than that
        ("supported", 70, "undecided"),
        ("contradicted", 70, "contradicted"),
        ("undecided", 70, "undecided"),
    ],
)
def test_true_pictures_are_not_supported_where_surely_most_documents_have_none(
    judgement, silent, expected
):
    assert judge_pictures_of(judgement, silent, 100) == expected


def test_of_no_documents_nothing_is_silent():
    assert judge_pictures_of("supported", 0, 0) == "supported"


def test_a_test_without_a_measured_cut_is_only_reported():
    assert judge_test("uniform", a_score((0.9, 1.0)), "higher", 100, cuts=CUTS) == "reported"


def test_where_no_weights_move_the_prediction_attention_is_contradicted():
    nothing = a_score((float("nan"), float("nan")), (0.0, 0.0))
    found = judge_test("permutation", nothing, "higher", 100, cannot_move=True, cuts=CUTS)
    assert found == "contradicted"


@pytest.mark.parametrize(
    ("judgements", "expected"),
    [
        (["undecided", "contradicted", "reported"], "contradicted"),
        (["supported", "contradicted", "reported"], "undecided"),
        (["supported", "undecided"], "supported"),
        (["undecided", "supported", "supported"], "undecided"),
        (["undecided", "supported", "contradicted"], "undecided"),
        (["undecided", "reported"], "undecided"),
        (["reported"], "reported"),
    ],
)
def test_tests_that_say_the_opposite_leave_a_question_undecided(judgements, expected):
    assert judge_question(judgements) == expected


@pytest.mark.parametrize(
    ("decisive", "telling", "leak_free", "expected"),
    [
        ("supported", "supported", "supported", "may"),
        ("supported", "supported", "undecided", "may"),  # leak-free can only refuse
        ("supported", "supported", "reported", "may"),
        ("supported", "supported", None, "may"),
        ("reported", "supported", "supported", "may"),  # not judged for this kind of model
        (None, "supported", "supported", "may"),  # cannot be asked of it
        ("undecided", "supported", "supported", "not-safe"),
        ("supported", "undecided", "supported", "not-safe"),
        ("supported", "reported", "supported", "not-safe"),  # telling cannot be replaced
        ("supported", None, "supported", "not-safe"),
        (None, None, "supported", "not-safe"),
        ("contradicted", "supported", "supported", "may-not"),
        ("undecided", "contradicted", "supported", "may-not"),
        ("supported", "supported", "contradicted", "may-not"),
        (None, None, "contradicted", "may-not"),
    ],
)
def test_the_verdict_rests_on_decisive_telling_and_leak_free(
    decisive, telling, leak_free, expected
):
    judged = {"decisive": decisive, "telling": telling, "leak-free": leak_free}
    assert reach_verdict(judged) == expected
    assert reach_verdict({**judged, "agreeing": "contradicted", "stable": None}) == expected


@pytest.mark.parametrize("left_out", ["decisive", "telling", "leak-free"])
def test_without_a_question_that_it_rests_on_the_verdict_is_not_safe(left_out):
    judged = {"decisive": "supported", "telling": "supported", "leak-free": "supported"}
    del judged[left_out]
    assert reach_verdict(judged) == "not-safe"
    assert reach_verdict(dict.fromkeys(judged, "contradicted")) == "may-not"


def test_a_few_documents_decide_nothing_however_often_they_are_repeated():
    sure = a_score((0.9, 1.0))
    assert judge_test("permutation", sure, "higher", 19, cuts=CUTS) == "undecided"
    assert judge_test("permutation", sure, "higher", 20, cuts=CUTS) == "supported"
    assert judge_test("permutation", sure, "higher", 2, cannot_move=True, cuts=CUTS) == "undecided"


@pytest.fixture(scope="module")
def documents() -> Documents:
    mixed = Planted(documents=1000, evidence_words=3, opposing_words=2, neutral_words=7)
    return mixed().test.take(list(range(60)))


def audited(model, documents, asked=ITS_QUESTIONS, **settings):
    subject = ModuleSubject(BuiltAdapter(model, 2))
    few = AuditSettings(sampled_documents=10, folds=2, **settings)
    return audit(subject, documents, few, asked)


@pytest.mark.parametrize(
    ("model", "verdict"),
    [(BuiltModel(), "may"), (BuiltModel(bypass=0.9), "may-not")],
    ids=["honest", "liar"],
)
def test_the_seed_of_an_audit_does_not_change_the_verdict_on_a_clear_model(
    documents, model, verdict
):
    assert [audited(model, documents, seed=seed).verdict for seed in range(5)] == [verdict] * 5


def test_leaving_out_what_the_verdict_does_not_rest_on_changes_no_number(documents):
    every = audited(BuiltModel(), documents, asked=None)
    some = audited(BuiltModel(), documents)
    assert every.verdict == some.verdict == "may"
    assert len(every.answers) > len(some.answers) == 3
    for answer in some.answers:
        assert answer == every.answer(answer.question)
    for name, column in some.columns.items():
        np.testing.assert_array_equal(column, every.columns[name], err_msg=name)


@pytest.mark.parametrize("left_out", ITS_QUESTIONS)
def test_an_audit_that_leaves_out_what_the_verdict_rests_on_is_not_safe(documents, left_out):
    asked = [question for question in ITS_QUESTIONS if question != left_out]
    assert audited(BuiltModel(), documents, asked).verdict == "not-safe"


def test_what_is_tolerated_decides_which_share_of_false_pictures_passes(documents):
    """About half of its pictures are false."""
    half = BuiltModel(shown="half")
    strict, lenient = (audited(half, documents, ["telling"], tolerate=x) for x in (0.05, 0.7))
    usual, named = (audited(half, documents, ["telling"], tolerate=x) for x in (None, 0.15))
    found = [a.answer("telling").tests[0] for a in (strict, usual, named, lenient)]
    assert 0.4 < found[0].score.value < 0.85
    assert len({test.score for test in found}) == 1
    judged = [test.judgement for test in found]
    assert judged == ["contradicted", "contradicted", "contradicted", "supported"]
    assert strict.cuts["true pictures"] == pytest.approx(0.95, abs=0.01)
    assert usual.cuts == pytest.approx(named.cuts, abs=0.001)
    assert lenient.cuts["true pictures"] == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("tolerate", [-0.01, 1.01, 15.0])
def test_what_is_tolerated_is_a_share(tolerate):
    with pytest.raises(
        ConfigError, match=f"tolerate should be a share from 0 to 1, not {tolerate}"
    ):
        AuditSettings(tolerate=tolerate)


@pytest.mark.parametrize("tolerate", [0.0, 0.15, 1.0, None])
def test_no_share_is_too_small_or_too_large_to_be_tolerated(tolerate):
    assert AuditSettings(tolerate=tolerate).tolerate == tolerate
