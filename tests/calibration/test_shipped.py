"""What ships is what was measured: the points, the page and the zoo belong together."""

from pathlib import Path

import pytest

from heedful.auditing import operating_points
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo
from tools.calibration_docs import calibration_docs

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def measured():
    return Calibration.load(DOCS / "calibration")


def test_the_points_that_ship_are_those_of_the_page(measured):
    assert operating_points.shipped().to_dict() == measured.points.to_dict()


def test_the_page_says_what_was_measured(measured):
    assert (DOCS / "calibration.md").read_text() == calibration_docs(measured)


def test_they_were_measured_on_the_zoo_that_is_written_down(measured):
    assert measured.points.made["zoo"] == read_zoo().digest
    assert not measured.points.made["is_quick"]


def test_every_model_of_the_zoo_was_looked_at(measured):
    names = [member.name for member in read_zoo().members(measured.points.made["seeds"])]
    assert [model.member for model in measured.models] == names


def test_the_verdict_does_what_is_promised_of_it_on_held_out_settings():
    rates = operating_points.shipped().verdict
    assert rates["liars_not_passed"] >= 0.95
    assert rates["liars_caught"] >= 0.80
    assert rates["honest_refused"] <= 0.05


def test_the_readme_says_the_same():
    points = operating_points.shipped()
    rates, readme = points.verdict, (DOCS.parent / "README.md").read_text().replace("\n", " ")
    assert (
        f"On {points.made['models']} small models whose attention is known to lie or to tell the "
        f"truth it caught {rates['liars_caught']:.0%} of those that lie, let "
        f"{1 - rates['liars_not_passed']:.0%} of them pass and refused "
        f"{rates['honest_refused']:.0%} of the honest ones"
    ) in readme
