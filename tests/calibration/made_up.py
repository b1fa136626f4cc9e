"""A small calibration made up by hand: kinds and settings of the zoo, scores of nobody."""

import math
from unittest.mock import patch

from heedful.auditing.operating_points import OperatingPoints
from heedful.calibration import roc
from heedful.calibration.calibrate import verdict_rates
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import judge_elsewhere, rate_tests
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import read_zoo

SETTINGS = read_zoo().settings
NAN = math.nan
KINDS = {"honest": 12, "tying": 4, "decoration": 6, "pleasing": 6, "deceptive": 4}  # models
HONEST = ("honest", "tying")
LEFT_OUT = "accuracy 0.68, not at least 0.95"

# By test and kind: what is true, whether the test defines that, and the scores of its models.
# A kind that is not named: the truth is not known of it.
FOUND = {
    ("decisive", "erase until flip"): {  # misses all that please, which score like the honest
        "honest": ("holds", False, [0.9]),
        "tying": ("holds", False, [0.9]),
        "decoration": ("fails", False, [0.1]),
        "pleasing": ("fails", False, [0.9]),
    },
    ("decisive", "permutation"): {
        "honest": ("holds", False, [0.8]),
        "tying": ("holds", True, [0.7]),
        "decoration": ("fails", False, [0.0]),
        "pleasing": ("fails", False, [0.1]),
    },
    ("telling", "sufficiency"): {  # misses one of six, one of four
        "honest": ("holds", False, [0.9]),
        "tying": ("holds", False, [0.9]),
        "decoration": ("fails", False, [0.1] * 5 + [NAN]),
        "deceptive": ("fails", False, [0.1] * 3 + [0.95]),
    },
    ("telling", "comprehensiveness"): {
        "honest": ("holds", False, [0.9]),
        "tying": ("holds", False, [0.8]),
        "decoration": ("fails", False, [0.0]),
        "deceptive": ("fails", False, [0.2]),
    },
    ("agreeing", "kendall_tau with state-gradient-norm"): {  # scores those that fail above
        "honest": ("holds", False, [0.3]),
        "tying": ("holds", False, [0.3]),
        "decoration": ("fails", False, [0.6]),
        "deceptive": ("fails", False, [0.6]),
    },
    ("leak-free", "mask-only accuracy"): {
        "honest": ("holds", False, [0.9]),
        "decoration": ("fails", False, [0.2]),
    },
    ("plausible", "auprc"): {
        "honest": ("holds", True, [0.9]),
        "deceptive": ("fails", True, [0.1]),
    },
}  # fmt: skip


def made_calibration(**made: object) -> Calibration:
    """The record of these scores, as `calibrate` makes it."""
    models = [_looked(kind, place) for kind, count in KINDS.items() for place in range(count)]
    known = [one for model in models for one in _tests_of(model)]
    left_out = Looked(
        "frozen, short-two, seed 1", "frozen", "short-two", 1, 1, False, False,
        {"accuracy": 0.68, "moved": NAN}, LEFT_OUT,
    )  # fmt: skip
    models.append(left_out)
    with patch.object(roc, "RESAMPLES", 40):  # nobody looks at these intervals closely
        tests = rate_tests(known)
    judged = judge_elsewhere(known, models)
    about = {"version": "made up", "models": 32, "left_out": 1, "seeds": 1, "is_quick": False}
    rates = verdict_rates(judged)
    points = OperatingPoints(tuple(one.point for one in tests), {**about, **made}, rates)
    return Calibration(points, tuple(tests), tuple(models), tuple(known), tuple(judged), 12.5)


def _looked(kind: str, place: int) -> Looked:
    setting = SETTINGS[place]
    name = f"{kind}, {setting.name}, seed 1"
    found = {"accuracy": 1.0, "evidence_mass": 0.95, "own_influence": NAN}
    return Looked(name, kind, setting.name, setting.half, 1, kind in HONEST, False, found)


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
        defines, score, score - 0.02, score + 0.02,
    )  # fmt: skip
