"""A calibration -> its tables and its first sentence, for the page and for the docs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.auditing.operating_points import Share
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.operating_point_fit import Tested, by_test
from heedful.calibration.record import Calibration
from heedful.calibration.zoo import ExactKind, Kind, Lies, Zoo, in_words
from heedful.errors import RunError
from heedful.plots.calibration import SAID
from heedful.report.calibration_figures import judged_by_dose, paper_of, ranked
from heedful.report.figures import spoken

Rows = list[dict[str, str]]
ALL = "all"  # kinds of models together, as the rates of the verdict name them
RATES = {  # of the verdict, as the columns of its table
    "liars passed": "liars_passed",
    "partial liars passed": "partial_liars_passed",
    "honest refused": "honest_refused",
    "honest passed": "honest_passed",
}
PICTURES: dict[Lies, str] = {
    "no": "honest",
    "between": "between",
    "partly": "lie in part",
    "fully": "lie",
}
RIGHT = {"no": "may", "partly": "may-not", "fully": "may-not"}  # verdicts
WRONG_SHARE, FEWEST_MODELS = 0.5, 3  # of the models of a kind that a test misleads on


def sentence(calibration: Calibration) -> str:
    """How the verdict did on kinds of models that its cuts were fitted without."""
    found = calibration.points.verdict.get(ALL, {})
    said = [
        words.format(_percent(found[name]), found[name]["models"])
        for name, words in SAID_OF_RATES.items()
        if name in found
    ]
    if not said:
        return "No model was judged."
    return (
        "On models with a known answer, judged by cuts that were fitted without their kind, the "
        f"verdict {listed(said)}."
    )


SAID_OF_RATES = {
    "liars_passed": "passed {} of the {} that lie",
    "partial_liars_passed": "passed {} of the {} that lie in part",
    "honest_refused": "refused {} of the {} honest ones",
    "honest_passed": "passed {} of the {} honest ones",
}


def rate_rows(calibration: Calibration) -> Rows:
    """A row per kind of model, all of them first: the rates of the verdict."""
    return [
        {
            "kind of model": architecture,
            **{
                column: f"{_percent(rates[name])} of {rates[name]['models']}"
                if name in rates
                else "–"
                for column, name in RATES.items()
            },
        }
        for architecture, rates in calibration.points.verdict.items()
    ]


def cut_rows(calibration: Calibration) -> Rows:
    """A row per judged test and kind of model; then tests that are judged by the cuts of others."""
    measured = {one.test for one in calibration.tests}
    repeated = [
        {
            "test": point.test,
            "question": point.question,
            "kind of model": architecture,
            "tolerated dose": f"{point.tolerated:.0%}",
            "cut": f"{cut.value:.3f}",
            "95% interval": point.note,
            "models": "–",
        }
        for point in calibration.points.points
        if point.test not in measured
        for architecture, cut in point.cuts.items()
    ]
    return _measured_cut_rows(calibration) + repeated


def _measured_cut_rows(calibration: Calibration) -> Rows:
    return [
        {
            "test": one.test,
            "question": one.question,
            "kind of model": architecture,
            "tolerated dose": f"{one.point.tolerated:.0%}",
            "cut": f"{cut.value:.3f}",
            "95% interval": f"{cut.low:.3f} to {cut.high:.3f}",
            "models": str(cut.models),
        }
        for one in judged_by_dose(calibration)
        for architecture, cut in one.cuts.items()
    ]


def kind_rows(calibration: Calibration, zoo: Zoo) -> Rows:
    """A row per kind and truth, honest ones first: what is known, and the verdicts."""
    kinds: list[Kind | ExactKind] = [*zoo.kinds, *zoo.exact]
    known = {kind.name: kind for kind in kinds}
    used = [model for model in calibration.models if not model.left_out]
    strange = {model.kind for model in calibration.models} - set(known)
    if strange:
        raise RunError(
            "the calibration has models of a kind that this version's zoo does not know: "
            f"{', '.join(sorted(strange))}. Make it again with `heedful calibrate`."
        )
    verdicts = {one.member: one.verdict for one in calibration.judged}
    rows = []
    for lies, pictures in PICTURES.items():
        for name, kind in known.items():
            some = [model for model in used if (model.kind, model.lies) == (name, lies)]
            if not some:
                continue
            given = [verdicts.get(model.member) for model in some]
            rows.append(
                {
                    "kind": name,
                    "its pictures": pictures,
                    "how it is made": kind.says,
                    "what is known": _known(kind, some),
                    "models of": ", ".join(dict.fromkeys(model.architecture for model in some)),
                    **{said: str(given.count(verdict)) for verdict, said in SAID.items()},
                }
            )
    return rows


def _known(kind: Kind | ExactKind, some: Sequence[Looked]) -> str:
    """Quantities that were checked, or the doses of some models."""
    if isinstance(kind, Kind):
        return "; ".join(f"{spoken(name)} {in_words(of)}" for name, of in kind.checks.items())
    doses: dict[str, list[float]] = {}
    for model in some:
        for name, dose in model.quantities.items():
            doses.setdefault(name, []).append(dose)
    said = [f"{name.replace('-', ' ')} {_range(found)}" for name, found in doses.items()]
    return "; ".join(said) or "how it is built"


def _range(found: Sequence[float]) -> str:
    low, high = f"{min(found):.0%}", f"{max(found):.0%}"
    return low if low == high else f"{low} to {high}"


def setting_rows(calibration: Calibration, zoo: Zoo) -> Rows:
    """A row per setting of the documents, in the order of the zoo."""
    used = {model.setting for model in calibration.models}
    return [
        {
            "setting": setting.name,
            "words": str(setting.words),
            "words of evidence": str(setting.evidence),
            "repeats": str(setting.repeats),
            "noise": f"{setting.noise:.0%}",
            "classes": str(setting.classes),
            "language": setting.language,
        }
        for setting in zoo.settings
        if setting.name in used
    ]


def test_rows(calibration: Calibration) -> Rows:
    """A row per test, in the order of the ranking."""
    known = by_test(calibration.known)
    return [_test_row(one, known[one.test]) for one in ranked(calibration)]


def _test_row(one: Tested, some: Sequence[Known]) -> dict[str, str]:
    found = one.separation
    misled = "" if found is None else ", ".join(_misled_by(some, found.cut))
    return {
        "question": one.question,
        "test": spoken(one.test),
        "from": paper_of(one.test),
        "in audits": "judged" if one.is_judged else "reported",
        "fail": str(one.fails),
        "hold": str(one.holds),
        "no score": str(one.silent),
        "power at 5% false alarms": "–" if found is None else percent(found.power),
        "held-out power": percent(one.power_elsewhere),
        "held-out false alarms": percent(one.false_alarms_elsewhere),
        "AUC": "–" if found is None else f"{found.auc.value:.2f}",
        "wrong on most models of": one.note if found is None else misled or "–",
    }


def _misled_by(some: Sequence[Known], cut: float) -> list[str]:
    """The kinds of models that a test answers wrongly at its cut, at least half of three or more.

    Where it has no score it says nothing, and misleads nobody.
    """
    by_kind: dict[str, list[bool]] = {}
    for one in some:
        if one.is_scored and one.has_score:
            by_kind.setdefault(one.kind, []).append((one.score < cut) != one.fails)
    return [
        kind
        for kind, wrong in by_kind.items()
        if len(wrong) >= FEWEST_MODELS and sum(wrong) >= WRONG_SHARE * len(wrong)
    ]


def mistake_rows(calibration: Calibration) -> Rows:
    """The models whose verdict is not what it should be; of those between, none is wrong."""
    return [
        {
            "model": one.member,
            "its pictures": PICTURES[one.lies],
            "verdict": SAID[one.verdict],
            "telling": one.telling,
            "decisive": one.decisive,
            "leak-free": one.leak_free,
        }
        for one in calibration.judged
        if one.verdict != RIGHT.get(one.lies, one.verdict)
    ]


def left_out_rows(calibration: Calibration) -> Rows:
    """The models that are not what their kind says."""
    return [
        {"model": model.member, "left out because": spoken(model.left_out)}
        for model in calibration.models
        if model.left_out
    ]


def percent(one: Share | None) -> str:
    """'94% [85, 98]'."""
    if one is None or math.isnan(one.value):
        return "–"
    return f"{one.value:.0%} [{100 * one.low:.0f},\u00a0{100 * one.high:.0f}]"


def _percent(rate: Mapping[str, Any]) -> str:
    return percent(Share(**rate))


def listed(names: Sequence[str]) -> str:
    """'a, b and c'."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
