"""What ships is what was measured: the points, the page and the zoo belong together."""

from pathlib import Path

import pytest

from heedful.auditing import operating_points
from heedful.auditing.audit_tests import DOSES
from heedful.auditing.questions import audit_tests
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo
from tools.calibration_docs import calibration_docs

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def measured():
    return Calibration.load(DOCS / "calibration")


def test_the_points_that_ship_are_those_of_the_page(measured):
    assert operating_points.shipped() == measured.points


def test_the_page_says_what_was_measured(measured):
    assert (DOCS / "calibration.md").read_text() == calibration_docs(measured)


def test_they_were_measured_on_the_zoo_that_is_written_down(measured):
    assert measured.points.made["zoo"] == read_zoo().digest
    assert not measured.points.made["is_quick"]


def test_every_model_of_the_zoo_was_looked_at(measured):
    zoo = read_zoo()
    names = [member.name for member in zoo.members(measured.points.made["seeds"])]
    names += [member.name for member in zoo.exact_members()]
    assert sorted(model.member for model in measured.models) == sorted(names)


def test_the_cuts_stand_at_the_doses_that_are_tolerated(measured):
    judged = {one.test: one for one in measured.points.points if one.is_judged}
    assert set(judged) == {
        "look away", "true pictures", "true pictures, words replaced", "word choice",
        "true pictures, words masked", "true pictures, judge trained on masked texts",
    }  # fmt: skip
    for point in judged.values():
        assert point.tolerated == DOSES[point.dose][1]
        for kind, cut in point.cuts.items():
            assert kind in audit_tests()[point.test].judged_for
            assert cut.at(point.tolerated) == pytest.approx(cut.value, abs=1e-3)


def test_a_test_that_repeats_true_pictures_and_was_not_measured_has_its_cuts_and_no_rates():
    points = operating_points.shipped()
    pictures = points.of("true pictures")
    point = points.of("true pictures, judge trained on masked texts")
    assert set(point.cuts) == {"classifier", "transformer"}
    assert all(point.cuts[kind] == pictures.cuts[kind] for kind in point.cuts)
    assert point.power is point.false_alarms is point.auc is None
    assert point.sentence(0.85) == (
        "cut 0.85: the cut of true pictures, which measures the same share"
    )
    cuts = points.cuts_for("transformer", tolerate=0.3)
    assert cuts["true pictures, judge trained on masked texts"] == pytest.approx(0.7, abs=0.01)


def test_hiding_words_from_attention_was_measured_on_transformers():
    point = operating_points.shipped().of("true pictures, words masked")
    assert set(point.cuts) == {"transformer"}
    assert point.cuts["transformer"].models >= 60


def test_the_record_is_small_enough_to_commit():
    assert (DOCS / "calibration" / "calibration.json").stat().st_size < 1_200_000


def test_the_verdict_does_what_is_promised_of_it_on_kinds_that_were_left_out():
    rates = operating_points.shipped().verdict["all"]
    assert rates["liars_passed"]["value"] == 0
    assert rates["partial_liars_passed"]["value"] <= 0.05
    assert rates["honest_refused"]["value"] <= 0.05
    assert rates["honest_passed"]["value"] >= 0.8


def test_the_readme_says_the_same():
    rates = operating_points.shipped().verdict["all"]
    readme = (DOCS.parent / "README.md").read_text().replace("\n", " ")
    lie, partly, honest = (
        f"{rates[name]['value']:.0%} of the {rates[name]['models']}"
        for name in ("liars_passed", "partial_liars_passed", "honest_refused")
    )
    said = f"it passed {lie} that lie and {partly} that lie in part, and refused {honest} honest"
    assert said in readme
