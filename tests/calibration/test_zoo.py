"""The zoo as it is written down."""

from dataclasses import fields

import pytest

from heedful.auditing.audit_tests import DOSES
from heedful.auditing.questions import audit_tests, questions
from heedful.auditing.verdict import DECIDING, VETOING
from heedful.calibration.built import BuiltModel
from heedful.calibration.calibrate import cells_of_zoo
from heedful.calibration.pictures import Picture
from heedful.calibration.zoo import (
    BESIDE_TRAINED,
    QUANTITIES,
    Truth,
    in_words,
    is_within,
    read_zoo,
    truth_by_doses,
)
from heedful.errors import ConfigError
from heedful.model.build import build_model

ZOO = read_zoo()
every_kind = pytest.mark.parametrize("kind", ZOO.kinds, ids=lambda kind: kind.name)


def test_the_design_has_at_most_150_cells_and_deep_tests_on_12_of_them():
    members = list(ZOO.members())
    assert len(members) <= 150
    assert sum(member.is_deep for member in members) == 12
    assert len({member.name for member in members}) == len(members)


def test_the_settings_cover_length_evidence_redundancy_noise_classes_and_language():
    assert {setting.words for setting in ZOO.settings} >= {12, 60, 200}
    assert {setting.evidence for setting in ZOO.settings} >= {1, 2, 5, 10}
    assert any(setting.repeats > 1 for setting in ZOO.settings)
    assert any(setting.noise for setting in ZOO.settings)
    assert any(setting.classes > 2 for setting in ZOO.settings)
    assert any(setting.language == "real" for setting in ZOO.settings)


@every_kind
def test_every_kind_has_models_in_both_halves_of_the_settings(kind):
    halves = {setting.half for setting in ZOO.settings if setting.name in kind.settings}
    assert halves == {1, 2}


@every_kind
def test_truths_are_about_questions_that_exist_and_known_by_what_is_checked(kind):
    for question, truth in {**kind.truth, **kind.with_one_word}.items():
        assert question in questions
        assert truth.by == "construction" or truth.by in kind.checks


@every_kind
def test_what_explains_holds_on_the_questions_of_the_verdict_and_what_does_not_fails_on_one(kind):
    answers = {q: kind.truth[q].answer for q in ("decisive", "telling") if q in kind.truth}
    if kind.explains:
        assert answers == {"decisive": "holds", "telling": "holds"}
    else:
        assert "fails" in answers.values() or kind.name == "flat"  # even weights say nothing


def test_seeds_multiply_the_models_and_only_the_first_is_deep():
    once, twice = list(ZOO.members(1)), list(ZOO.members(2))
    assert len(twice) == 2 * len(once)
    assert sum(member.is_deep for member in twice) == sum(member.is_deep for member in once)


def test_models_of_further_seeds_are_asked_what_the_verdict_rests_on():
    assert "ask" not in ZOO.audit_of(ZOO.first_seed)
    assert set(ZOO.audit_of(ZOO.first_seed + 1)["ask"]) == {*DECIDING, *VETOING}


def test_the_quick_zoo_has_honest_and_lying_models_in_both_halves_and_none_is_deep():
    members = list(ZOO.members(is_quick=True))
    assert {(m.kind.explains, m.setting.half) for m in members} == {
        (explains, half) for explains in (True, False) for half in (1, 2)
    }
    assert not any(member.is_deep for member in members)


def test_a_test_that_measures_what_was_checked_defines_the_truth():
    assert Truth.parse("holds by evidence_mass").is_defined_by("auprc")
    assert not Truth.parse("holds by evidence_mass").is_defined_by("comprehensiveness")
    assert Truth.parse("fails by moved").is_defined_by("permutation")
    assert not Truth.parse("fails by construction").is_defined_by("permutation")


@pytest.mark.parametrize("said", ["holds", "may be by construction", "fails by feeling"])
def test_a_truth_that_cannot_be_read_is_a_sentence(said):
    with pytest.raises(ConfigError, match="a truth reads"):
        Truth.parse(said)


def test_what_tests_are_defined_by_is_what_models_are_checked_by():
    named = {quantity for test in audit_tests().values() for quantity in test.defined_by}
    assert named
    assert named <= set(QUANTITIES)


def test_one_word_says_more_where_nothing_else_says_the_same():
    honest = next(kind for kind in ZOO.kinds if kind.name == "honest")
    by_name = {setting.name: setting for setting in ZOO.settings}
    assert "exclusive" in honest.truth_in(by_name["short-one"])
    assert "exclusive" not in honest.truth_in(by_name["short-repeated"])
    assert "exclusive" not in honest.truth_in(by_name["short-two"])


def test_checks_are_bounds_and_say_what_is_missed():
    honest = next(kind for kind in ZOO.kinds if kind.name == "honest")
    assert honest.failed_checks({"accuracy": 0.99, "evidence_mass": 0.95}) == []
    assert honest.failed_checks({"accuracy": 0.99, "evidence_mass": 0.5}) == [
        "evidence_mass 0.50, not at least 0.9"
    ]
    assert is_within(0.9, (0.8, 1.25))
    assert not is_within(1.3, (0.8, 1.25))
    assert not is_within(float("nan"), (0.0, 1.0))
    assert [in_words(b) for b in ((0.9,), (0.0, 0.5), (0.8, 1.25))] == [
        "at least 0.9",
        "at most 0.5",
        "0.8 to 1.25",
    ]


def test_a_model_of_every_kind_can_be_built_and_no_two_are_the_same():
    short = {"short-two", "short-one"}
    members = [member for member in ZOO.members() if member.setting.name in short]
    assert {member.kind.name for member in members} == {kind.name for kind in ZOO.kinds}
    cells = cells_of_zoo(ZOO, members)
    assert len({cell.name for cell in cells}) == len(members)
    for member, cell in zip(members, cells, strict=True):
        build_model(cell.settings.model, vocabulary=20, classes=2, seed=1)
        assert cell.audit is not None
        assert cell.audit.deep == member.is_deep
        assert [request.spec for request in cell.analyse] == ["evidence"]


def test_exact_models_beside_a_trained_one_come_once_for_each_seed_of_it():
    once, twice = list(ZOO.exact_members()), list(ZOO.exact_members(2))
    beside = [member for member in once if member.exact.architecture in BESIDE_TRAINED]
    assert len(twice) == len(once) + len(beside)
    assert {member.seed for member in twice if member in once} == {0, 1}
    again = [member for member in twice if member.seed == 2]
    assert [member.name for member in again] == [f"{member.name}, seed 2" for member in beside]


every_exact = pytest.mark.parametrize("kind", ZOO.exact, ids=lambda kind: kind.name)


def test_no_two_exact_models_have_the_same_name_and_none_is_named_like_a_trained_kind():
    names = [member.name for member in ZOO.exact_members()]
    assert len(set(names)) == len(names)
    assert not {kind.name for kind in ZOO.exact} & {kind.name for kind in ZOO.kinds}


@every_exact
def test_of_every_exact_kind_it_is_known_whether_it_lies_before_or_after_its_audit(kind):
    is_counted = kind.picture or kind.vary in ("false_share", "bypass", "written_share")
    assert kind.lies is not None or kind.doses or is_counted
    assert set(kind.doses) <= set(DOSES)


@every_exact
def test_what_is_varied_is_a_field_of_the_model_or_of_the_picture(kind):
    known = {field.name for field in (*fields(BuiltModel), *fields(Picture))}
    assert {kind.vary, *kind.model, *kind.picture} - {""} <= known
    assert bool(kind.vary) == bool(kind.values)
    if kind.quick:
        assert set(kind.quick_values) <= set(kind.values)


@pytest.mark.parametrize("is_quick", [False, True])
@pytest.mark.parametrize("architecture", ["classifier", "module", "transformer", "function"])
def test_every_architecture_has_four_doses_around_what_is_tolerated_of_false_pictures(
    architecture, is_quick
):
    doses = {
        member.exact.picture.false_share
        for member in ZOO.exact_members(is_quick=is_quick)
        if member.exact.architecture == architecture
    }
    tolerated = DOSES["false-documents"][1]
    assert len(doses) >= 4
    assert min(doses) < tolerated < max(doses)


def test_weights_beside_a_transformer_are_placed_for_nothing_is_known_of_its_own():
    placed = {
        (member.exact.architecture, member.exact.picture.is_placed)
        for member in ZOO.exact_members()
    }
    assert placed == {
        ("transformer", True),
        ("classifier", False),
        ("module", False),
        ("function", False),
    }


def test_doses_between_honest_and_false_say_nothing_of_a_question():
    assert truth_by_doses({"false-documents": 0.15, "bypass": 0.3}) == {}
    found = truth_by_doses({"false-documents": 0.0, "bypass": 0.6})
    assert {name: truth.answer for name, truth in found.items()} == {
        "telling": "holds",
        "decisive": "fails",
    }
