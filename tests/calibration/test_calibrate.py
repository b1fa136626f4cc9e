"""A small zoo from the trainings to the points, and again."""

from dataclasses import replace

import pytest

from heedful.calibration.calibrate import calibrate, verdict_rates
from heedful.calibration.operating_point_fit import Judged
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo
from heedful.errors import HeedfulError
from tests.sweeps.grids import Hearing

pytestmark = pytest.mark.workers

TWO = {"cores": 2}


def a_small_zoo():
    """Three kinds in two small settings, one of each half."""
    zoo = read_zoo()
    settings = [
        replace(setting, data=f"planted:documents=600:seed={number}")
        for number, setting in enumerate(zoo.settings)
        if setting.name in ("short-two", "short-one")
    ]
    kinds = [
        replace(kind, settings=("short-two", "short-one"), deep=(), checks={"accuracy": (0.9,)})
        for kind in zoo.kinds
        if kind.name in ("honest", "blended")
    ]
    broken = replace(kinds[1], name="broken", checks={"accuracy": (2.0,)}, settings=("short-one",))
    broken = replace(broken, model={**broken.model, "embedding_size": 16})
    audit = {**zoo.audit, "documents": 40, "ask": ["decisive", "telling"]}
    return replace(zoo, settings=tuple(settings), kinds=(*kinds, broken), audit=audit)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    zoo, first, again = a_small_zoo(), Hearing(), Hearing()
    found = calibrate(folder, **TWO, zoo=zoo, watcher=first)
    once_more = calibrate(folder, **TWO, zoo=zoo, watcher=again)
    return folder, found, once_more, first, again


def test_models_are_trained_audited_checked_and_rated(calibrated):
    _, found, _, first, _ = calibrated
    assert len(first.begun) == 5 * 3  # a training, an audit and the checks of each
    left_out = [model.member for model in found.models if model.left_out]
    assert left_out == ["broken, short-one, seed 1"]
    assert found.models[-1].left_out.endswith(", not at least 2")
    by_name = {test.test: test for test in found.tests}
    permutation = by_name["permutation"]
    assert (permutation.fails, permutation.holds) == (2, 2)
    assert not permutation.is_judged
    assert permutation.note == "asked of too few models: 2 that fail, 2 that hold"


def test_a_second_call_does_nothing_and_says_the_same(calibrated):
    _, found, once_more, _, again = calibrated
    assert not again.begun
    assert once_more.tests == found.tests
    assert once_more.models == found.models


def test_what_it_found_can_be_read_again(calibrated):
    folder, found, *_ = calibrated
    found.save(folder)
    loaded = Calibration.load(folder)
    assert loaded.tests == found.tests
    assert loaded.points.to_dict()["points"] == found.points.to_dict()["points"]


def test_provenance_says_how_it_was_made(calibrated):
    _, found, *_ = calibrated
    made = found.points.made
    assert made["models"] == 4
    assert made["left_out"] == 1
    assert made["command"] == "heedful calibrate --seeds 1 -o DIR"
    assert "torch" in made["versions"]


def test_rates_of_the_verdict_are_shares_of_either_kind():
    verdicts = [(False, "may-not")] * 9 + [(False, "not-safe"), (True, "may"), (True, "may-not")]
    judged = [Judged(str(n), explains, v, "undecided", "undecided")
              for n, (explains, v) in enumerate(verdicts)]  # fmt: skip
    rates = verdict_rates(judged)
    assert (rates["liars"], rates["honest"]) == (10, 2)
    assert (rates["liars_caught"], rates["liars_not_passed"]) == (0.9, 1.0)
    assert (rates["honest_refused"], rates["honest_passed"]) == (0.5, 0.5)


def test_no_seeds_is_a_sentence(tmp_path):
    with pytest.raises(HeedfulError, match="--seeds should be at least 1"):
        calibrate(tmp_path, seeds=0)
