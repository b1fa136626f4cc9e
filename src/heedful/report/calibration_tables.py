"""A calibration -> its tables and its sentences, for the page and for the docs."""

import math
from collections.abc import Mapping, Sequence

from heedful.auditing.operating_points import Share
from heedful.calibration.operating_point_fit import Tested
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import CONSTRUCTION, QUANTITIES, Kind, Setting, Truth, Zoo, in_words
from heedful.errors import RunError
from heedful.plots.calibration import SAID
from heedful.report.calibration_figures import paper_of, ranked
from heedful.report.figures import spoken

Rows = list[dict[str, str]]
NUMBERS = (
    "fail",
    "hold",
    "defines",
    "cut",
    "power at 5% false alarms",
    "held-out power",
    "held-out false alarms",
    "AUC",
)  # of a test

ONE_WORD = "*"  # a truth that is known only where a single word decides


def kinds_of(calibration: Calibration, zoo: Zoo) -> dict[str, Kind]:
    """The kinds of its models, honest ones first."""
    known = {kind.name: kind for kind in zoo.kinds}
    names = dict.fromkeys(model.kind for model in calibration.models)
    _refuse(set(names) - set(known), "kind")
    return {name: known[name] for name in sorted(names, key=lambda name: not known[name].explains)}


def settings_of(calibration: Calibration, zoo: Zoo) -> dict[str, Setting]:
    """The settings of its models, in the order of the zoo."""
    used = {model.setting for model in calibration.models}
    _refuse(used - {setting.name for setting in zoo.settings}, "setting")
    return {setting.name: setting for setting in zoo.settings if setting.name in used}


def sentence(calibration: Calibration) -> str:
    """How the verdict did on models that its cuts were not fitted on."""
    found = calibration.points.verdict
    said = [
        words.format(_rate(found, rate), found[models])
        for rate, models, words in RATES
        if rate in found
    ]
    if not said:
        return "No model was judged."
    return (
        f"On {found['liars'] + found['honest']} models with a known answer, by cuts from settings "
        f"that they are not in, the verdict {listed(said)}."
    )


# A rate of the verdict, the models that it is of, and how it is said.
RATES = (
    ("liars_caught", "liars", "caught {} of the {} that lie"),
    ("liars_not_passed", "liars", "did not let {} of them pass"),
    ("honest_refused", "honest", "refused {} of the {} that are honest"),
    ("honest_passed", "honest_asked", "let {} of the {} of them pass that it can judge whole"),
)


def _rate(found: Mapping[str, float | int], name: str) -> str:
    return percent(Share(found[name], found[f"{name}_low"], found[f"{name}_high"], 0))


def truth_rows(calibration: Calibration, kinds: dict[str, Kind]) -> Rows:
    """A row per kind: what is true of it by question, and how that is known."""
    asked = [one.question for one in calibration.tests]
    named = [
        question for kind in kinds.values() for question in {**kind.truth, **kind.with_one_word}
    ]
    return [
        {
            "kind": name,
            **{question: _truth(kind, question) for question in dict.fromkeys(asked + named)},
        }
        for name, kind in kinds.items()
    ]


def kind_rows(calibration: Calibration, kinds: dict[str, Kind]) -> Rows:
    """A row per kind: how it is made, what is checked of each model, how many there are."""
    return [
        {
            "kind": name,
            "its attention": "explains" if kind.explains else "lies",
            "how it is made": kind.says,
            "checked of each model": "; ".join(
                f"{spoken(quantity)} {in_words(bounds)}" for quantity, bounds in kind.checks.items()
            ),
            "models": str(sum(m.kind == name and not m.left_out for m in calibration.models)),
            "left out": str(sum(m.kind == name and bool(m.left_out) for m in calibration.models)),
        }
        for name, kind in kinds.items()
    ]


def setting_rows(settings: dict[str, Setting]) -> Rows:
    """A row per setting."""
    return [
        {
            "setting": setting.name,
            "half": str(setting.half),
            "words": str(setting.words),
            "words of evidence": str(setting.evidence),
            "each stands there": f"{setting.repeats}×",
            "noise": f"{setting.noise:.0%}",
            "classes": str(setting.classes),
            "language": setting.language,
        }
        for setting in settings.values()
    ]


def test_rows(calibration: Calibration) -> Rows:
    """A row per test, in the order of the ranking."""
    return [_test_row(one) for one in ranked(calibration)]


def mistake_rows(calibration: Calibration) -> Rows:
    """The models on which the verdict is not what it should be."""
    return [
        {
            "model": one.member,
            "its attention": "explains" if one.explains else "lies",
            "verdict": SAID[one.verdict],
            "decisive": one.decisive,
            "telling": one.telling,
        }
        for one in calibration.judged
        if one.verdict != ("may" if one.explains else "may-not")
    ]


def left_out_rows(calibration: Calibration) -> Rows:
    """The models that are not what their kind says."""
    return [
        {"model": model.member, "left out because": spoken(model.left_out)}
        for model in calibration.models
        if model.left_out
    ]


def quantity_rows(calibration: Calibration) -> Rows:
    """What was measured of each model on documents that no test sees."""
    return [
        {
            "model": model.member,
            **{spoken(name): _number(model.quantities.get(name, math.nan)) for name in QUANTITIES},
            "scored": "left out" if model.left_out else "yes",
        }
        for model in calibration.models
    ]


def percent(one: Share | None) -> str:
    """'94% [85, 98]'."""
    if one is None or math.isnan(one.value):
        return "–"
    return f"{one.value:.0%} [{100 * one.low:.0f}, {100 * one.high:.0f}]"


def _test_row(one: Tested) -> dict[str, str]:
    found = one.separation
    return {
        "question": one.question,
        "test": spoken(one.test),
        "from": paper_of(one.test),
        "fail": str(one.fails),
        "hold": str(one.holds),
        "defines": str(one.defines or "–"),
        "no score": str(one.silent or "–"),
        "cut": "–" if found is None else _number(found.cut),
        "power at 5% false alarms": "–" if found is None else percent(found.power),
        "held-out power": percent(one.power_elsewhere),
        "held-out false alarms": percent(one.false_alarms_elsewhere),
        "AUC": "–" if found is None else _area(found.auc),
        "in audits": "judged" if one.is_judged else "reported",
        "because": one.note,
    }


def _truth(kind: Kind, question: str) -> str:
    if question in kind.truth:
        return _known(kind.truth[question], kind)
    if question in kind.with_one_word:
        return f"{_known(kind.with_one_word[question], kind)}{ONE_WORD}"
    return ""


def _known(truth: Truth, kind: Kind) -> str:
    """'holds: construction', 'fails: relative mass ≤ 0.5'."""
    if truth.by == CONSTRUCTION:
        return f"{truth.answer}: {CONSTRUCTION}"
    return f"{truth.answer}: {spoken(truth.by)} {_in_signs(kind.checks[truth.by])}"


def _in_signs(bounds: tuple[float, ...]) -> str:
    if len(bounds) == 1:
        return f"≥\u00a0{bounds[0]:g}"
    return f"≤\u00a0{bounds[1]:g}" if bounds[0] == 0 else f"{bounds[0]:g}–{bounds[1]:g}"


def _area(one: Share) -> str:
    return f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _refuse(unknown: set[str], what: str) -> None:
    if unknown:
        raise RunError(
            f"the calibration has models of a {what} that this version's zoo does not know: "
            f"{', '.join(sorted(unknown))}. Make it again with `heedful calibrate`."
        )


def listed(names: Sequence[str]) -> str:
    """'a, b and c'."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
