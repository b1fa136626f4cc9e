"""A small calibration made up by hand: kinds and settings of the zoo, scores of nobody."""

import math
from collections.abc import Iterator
from unittest.mock import patch

from heedful.auditing.operating_points import OperatingPoints
from heedful.calibration import dose_curve, roc
from heedful.calibration.calibrate import verdict_rates
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import judge_elsewhere, rate_tests
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo

SETTINGS = read_zoo().settings
NAN = math.nan
KINDS = {"honest": 12, "tying": 4, "decoration": 6, "pleasing": 6, "deceptive": 4}  # trained models
HONEST = ("honest", "tying")
FALSE_KINDS = ("false on some documents", "false elsewhere")  # of exact models
DOSES = {0.0: "no", 0.1: "between", 0.2: "between", 0.4: "partly", 1.0: "fully"}
ARCHITECTURES = ("classifier", "module")
LEFT_OUT = "accuracy 0.68, not at least 0.95"

# By test and kind: what is true, whether the test defines that, and the scores of its models.
# A kind that is not named: the truth is not known of it.
FOUND = {
    ("decisive", "look away"): {
        "honest": ("holds", False, [0.95]),
        "tying": ("holds", False, [0.9]),
        "decoration": ("fails", False, [0.0]),
        "pleasing": ("fails", False, [0.1]),
        "deceptive": (None, False, [0.9]),
    },
    ("decisive", "erase until flip"): {  # misses all that please, which score like the honest
        "honest": ("holds", False, [0.9]),
        "tying": ("holds", False, [0.9]),
        "decoration": ("fails", False, [0.1]),
        "pleasing": ("fails", False, [0.9]),
    },
    ("telling", "true pictures"): {
        "honest": ("holds", False, [1.0]),
        "tying": ("holds", False, [0.95]),
        "decoration": ("fails", False, [0.0]),
        "pleasing": (None, False, [0.99]),
        "deceptive": ("fails", False, [0.1]),
    },
    ("telling", "sufficiency"): {  # misses one of six, one of four
        "honest": ("holds", False, [0.9]),
        "tying": ("holds", False, [0.9]),
        "decoration": ("fails", False, [0.1] * 5 + [NAN]),
        "deceptive": ("fails", False, [0.1] * 3 + [0.95]),
    },
    ("agreeing", "kendall_tau with state-gradient-norm"): {  # scores those that fail above
        "honest": ("holds", False, [0.3]),
        "tying": ("holds", False, [0.3]),
        "decoration": ("fails", False, [0.6]),
        "deceptive": ("fails", False, [0.6]),
    },
    ("leak-free", "mask-only accuracy"): {
        "honest": ("holds", False, [0.9]),
    },
    ("plausible", "auprc"): {
        "honest": ("holds", True, [0.9]),
        "deceptive": ("fails", True, [0.1]),
    },
}  # fmt: skip


def made_calibration(**made: object) -> Calibration:
    """The record of these scores, as `calibrate` makes it."""
    trained = [_looked(kind, place) for kind, count in KINDS.items() for place in range(count)]
    exact = list(_exact())
    known = [one for model in trained for one in _tests_of(model)]
    known += [one for model in exact for one in _doses_of(model)]
    left_out = Looked(
        "frozen, short-two, seed 1", "frozen", "short-two", 1, 1, "fully", False,
        {"accuracy": 0.68, "moved": NAN}, left_out=LEFT_OUT,
    )  # fmt: skip
    models = [*trained, left_out, *exact]
    # nobody looks at these intervals closely
    with patch.object(roc, "RESAMPLES", 40), patch.object(dose_curve, "RESAMPLES", 20):
        tests = rate_tests(known)
        judged = judge_elsewhere(known, models)
    about = {"version": "made up", "models": 72, "left_out": 1, "seeds": 1, "is_quick": False}
    rates = verdict_rates(judged)
    points = OperatingPoints(tuple(one.point for one in tests), {**about, **made}, rates)
    return Calibration(points, tuple(tests), tuple(models), tuple(known), tuple(judged), 12.5)


def _looked(kind: str, place: int) -> Looked:
    setting = SETTINGS[place]
    name = f"{kind}, {setting.name}, seed 1"
    found = {"accuracy": 1.0, "evidence_mass": 0.95, "own_influence": NAN}
    lies = "no" if kind in HONEST else "fully"
    return Looked(name, kind, setting.name, setting.half, 1, lies, False, found)  # type: ignore[arg-type]


def _exact() -> Iterator[Looked]:
    """Models of each dose in two settings, of either kind and either architecture."""
    for kind in FALSE_KINDS:
        for setting in SETTINGS[:2]:
            for architecture in ARCHITECTURES:
                for dose, lies in DOSES.items():
                    name = f"{kind} {dose:g}, {setting.name}, {architecture}"
                    doses = {"false-documents": dose, "bypass": dose}
                    yield Looked(
                        name, kind, setting.name, setting.half, 0, lies, False, doses, architecture,  # type: ignore[arg-type]
                    )  # fmt: skip


def _doses_of(model: Looked) -> Iterator[Known]:
    """The judged tests score one less the dose."""
    for question, test in (("decisive", "look away"), ("telling", "true pictures")):
        dose = model.quantities["bypass"]
        truth = {"no": "holds", "between": None}.get(model.lies, "fails")
        yield Known(
            model.member, model.kind, model.setting, model.half, question, test, truth,  # type: ignore[arg-type]
            "construction" if truth else "", False, model.architecture, dose, 1 - dose,
            0.97 - dose, 1.03 - dose,
        )  # fmt: skip


def _tests_of(model: Looked) -> list[Known]:
    place = [setting.name for setting in SETTINGS].index(model.setting)
    return [_known(model, *named, *FOUND[named].get(model.kind, (None, False, [0.5])), place)
            for named in FOUND]  # fmt: skip


def _known(
    model: Looked, question: str, test: str, truth: str | None, defines: bool,
    scores: list[float], place: int,
) -> Known:  # fmt: skip
    score = scores[place % len(scores)]
    by = "" if truth is None else "evidence_mass" if defines else "construction"
    return Known(
        model.member, model.kind, model.setting, model.half, question, test, truth, by,  # type: ignore[arg-type]
        defines, model.architecture, NAN, score, score - 0.02, score + 0.02,
    )  # fmt: skip
