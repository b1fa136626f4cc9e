"""Rows of a sweep and audits -> tests beside what is true."""

import math

import pytest

from heedful.calibration.exact import Exact
from heedful.calibration.ground_truth import known_of, look, look_exact, quantities_of
from heedful.calibration.zoo import ExactKind, ExactMember, Kind, Member, Setting, Truth
from tests.report.audits import made_audit

ROW = {"state": "done", "error": ""}
EVIDENCE = {
    "accuracy": 0.76, "evidence_mass": 0.92, "even_share": 0.1, "own_influence": None, "moved": 0.6,
}  # fmt: skip


def a_member(noise=0.2, **checks):
    kind = Kind(
        name="honest",
        says="",
        explains=True,
        model={},
        checks=checks,
        truth={
            "telling": Truth("holds", "evidence_mass"),
            "decisive": Truth("fails", "moved"),
            "plausible": Truth("holds", "evidence_mass"),
        },
    )
    setting = Setting("short", 2, "planted", words=12, evidence=2, noise=noise)
    return Member(kind, setting, seed=1, is_deep=False)


def test_quantities_are_relative_to_what_the_evidence_allows_and_to_even_weights():
    found = quantities_of(EVIDENCE, noise=0.2)
    assert found["accuracy"] == pytest.approx(0.95)
    assert found["relative_mass"] == pytest.approx(9.2)
    assert math.isnan(found["own_influence"])


def test_a_model_that_passes_its_checks_is_scored():
    model = look(a_member(accuracy=(0.9,)), ROW, EVIDENCE)
    assert not model.left_out
    assert (model.kind, model.setting, model.half, model.explains) == ("honest", "short", 2, True)


def test_a_model_that_is_not_what_its_kind_says_is_left_out_with_the_reason():
    model = look(a_member(evidence_mass=(0.95,)), ROW, EVIDENCE)
    assert model.left_out == "evidence_mass 0.92, not at least 0.95"
    unknown = look(a_member(own_influence=(0.5,)), ROW, EVIDENCE)
    assert unknown.left_out == "own_influence nan, not at least 0.5"


def test_a_model_that_failed_is_left_out_with_its_sentence():
    model = look(a_member(), {"state": "failed", "error": "no memory."}, None)
    assert model.left_out == "failed: no memory."


def known(doses=None):
    member = a_member()
    model = look(member, ROW, EVIDENCE)
    return {one.test: one for one in known_of(model, member.kind.truth, made_audit(), doses or {})}


def test_every_test_stands_beside_what_is_true_and_says_where_it_defines_it():
    found = known()
    assert found["comprehensiveness"].truth == "holds"
    assert found["comprehensiveness"].is_scored
    assert found["permutation"].fails
    assert found["permutation"].defines
    assert not found["permutation"].is_scored
    unknown = [one for one in found.values() if one.question not in ("telling", "decisive")]
    assert all(one.truth is None or one.defines for one in unknown)


def test_a_test_has_the_dose_that_it_measures_and_no_other():
    assert all(math.isnan(one.dose) for one in known().values())
    doses = {"bypass": 0.3, "false-documents": 0.1}
    of_test = {name: one.dose for name, one in known(doses).items() if not math.isnan(one.dose)}
    asked = {"look away": 0.3, "true pictures": 0.1}
    assert of_test == {name: dose for name, dose in asked.items() if name in known()}
    assert math.isnan(known(doses)["permutation"].dose)


def an_exact_member(lies=None):
    setting = Setting("short", 1, "planted", words=12, evidence=2)
    kind = ExactKind("some", "", ("module",), ("short",), lies=lies)
    return ExactMember(kind, setting, Exact("some 0.4", "module"))


@pytest.mark.parametrize(
    ("doses", "lies"),
    [
        ({"false-documents": 0.05, "bypass": 0.1}, "no"),
        ({"false-documents": 0.06}, "between"),
        ({"bypass": 0.49}, "between"),
        ({"false-documents": 0.3}, "partly"),
        ({"false-documents": 0.0, "written-choice": 0.5}, "partly"),
        ({"false-documents": 0.0, "bypass": 0.9}, "fully"),
    ],
)
def test_doses_say_whether_an_exact_model_lies(doses, lies):
    model = look_exact(an_exact_member(), doses)
    assert (model.lies, model.architecture, model.quantities) == (lies, "module", doses)
    assert model.explains == (lies == "no")


def test_an_exact_kind_may_say_itself_whether_it_lies():
    assert look_exact(an_exact_member("partly"), {}).lies == "partly"
