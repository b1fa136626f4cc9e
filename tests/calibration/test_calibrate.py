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
    """Three trained kinds in two small settings, one of each half, and an exact one in one."""
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
    exact = [
        replace(
            kind, architectures=("module", "classifier"), settings=("short-two",), values=(0.1, 0.5)
        )
        for kind in zoo.exact
        if kind.name == "false on some documents"
    ]
    audit = {**zoo.audit, "documents": 40, "ask": ["decisive", "telling"]}
    return replace(
        zoo, settings=tuple(settings), kinds=(*kinds, broken), exact=tuple(exact), audit=audit
    )


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zoo")
    zoo, first, again = a_small_zoo(), Hearing(), Hearing()
    found = calibrate(folder, **TWO, zoo=zoo, watcher=first)
    once_more = calibrate(folder, **TWO, zoo=zoo, watcher=again)
    return folder, found, once_more, first, again


def test_models_are_trained_audited_checked_and_rated(calibrated):
    _, found, _, first, _ = calibrated
    # a training, an audit and the checks of each trained model; one job for each exact one
    assert len(first.begun) == 5 * 3 + 4
    (left_out,) = (model for model in found.models if model.left_out)
    assert left_out.member == "broken, short-one, seed 1"
    assert left_out.left_out.endswith(", not at least 2")
    permutation = next(test for test in found.tests if test.test == "permutation")
    assert not permutation.is_judged


def test_exact_models_have_the_doses_of_the_documents_that_were_audited(calibrated):
    _, found, *_ = calibrated
    exact = [model for model in found.models if model.kind == "false on some documents"]
    assert [model.architecture for model in exact] == ["module"] * 2 + ["classifier"] * 2
    rows = [one for one in found.known if one.test == "true pictures" and one.dose >= 0]
    assert len(rows) == 4
    for one in rows:
        assert one.score == pytest.approx(1 - one.dose, abs=0.1)
    dose = {model.member: model.quantities["false-documents"] for model in exact}
    assert {one.member: one.dose for one in rows} == dose


def test_every_model_that_was_not_left_out_is_judged(calibrated):
    _, found, *_ = calibrated
    assert len(found.judged) == 8
    assert found.points.verdict["all"]["honest_refused"]["models"] == 2


def test_a_second_call_does_nothing_and_says_the_same(calibrated):
    _, found, once_more, _, again = calibrated
    assert not again.begun
    assert once_more.tests == found.tests
    assert once_more.models == found.models


def test_what_it_found_can_be_read_again(calibrated):
    folder, found, *_ = calibrated
    found.save(folder)
    loaded = Calibration.load(folder)
    assert loaded.to_dict() == found.to_dict()


def test_provenance_says_how_it_was_made(calibrated):
    _, found, *_ = calibrated
    made = found.points.made
    assert made["models"] == 8
    assert made["left_out"] == 1
    assert made["command"] == "heedful calibrate --seeds 1 -o DIR"
    assert "torch" in made["versions"]


def test_rates_of_the_verdict_are_shares_by_truth_and_by_kind_of_model():
    given = [
        *[("fully", "may-not", "module")] * 9,
        ("fully", "may", "classifier"),
        ("partly", "not-safe", "module"),
        ("between", "may", "module"),  # of no rate
        ("no", "may", "module"),
        ("no", "may-not", "classifier"),
    ]
    judged = [
        Judged(str(n), "kind", architecture, lies, verdict, *["undecided"] * 3)
        for n, (lies, verdict, architecture) in enumerate(given)
    ]
    rates = verdict_rates(judged)
    assert list(rates) == ["all", "module", "classifier"]
    values = {name: (rate["value"], rate["models"]) for name, rate in rates["all"].items()}
    assert values == {
        "liars_passed": (0.1, 10),
        "liars_refused": (0.9, 10),
        "partial_liars_passed": (0.0, 1),
        "partial_liars_refused": (0.0, 1),
        "honest_refused": (0.5, 2),
        "honest_passed": (0.5, 2),
    }
    assert rates["module"]["liars_passed"]["value"] == 0
    assert "partial_liars_passed" not in rates["classifier"]
    low, high = (rates["all"]["liars_passed"][end] for end in ("low", "high"))
    assert (low, high) == pytest.approx((0.018, 0.404), abs=1e-3)  # Wilson's, of 1 of 10


def test_no_seeds_is_a_sentence(tmp_path):
    with pytest.raises(HeedfulError, match="--seeds should be at least 1"):
        calibrate(tmp_path, seeds=0)
