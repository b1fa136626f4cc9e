"""A calibration -> its figures, for the page and for the docs."""

import math
from collections.abc import Iterator

import pandas as pd

from heedful.auditing.questions import audit_tests
from heedful.calibration.ground_truth import Known
from heedful.calibration.operating_point_fit import FEWEST, QUICK_FEWEST, Tested
from heedful.calibration.record import Calibration
from heedful.plots import Figure
from heedful.plots.calibration import VERDICTS, ranking, roc_curves, verdicts, who_is_fooled
from heedful.report.figures import spoken


def paper_of(test: str) -> str:
    """The paper that a test comes from; nothing where the test is not known."""
    known = audit_tests().get(test)
    return known.paper if known else ""


def figures(calibration: Calibration) -> dict[str, Figure]:
    """The figures that the record allows, by name."""
    curves, cells = roc_rows(calibration), cell_rows(calibration)
    kinds = {model.kind: model.explains for model in calibration.models}
    drawn = {"ranking": ranking(ranking_rows(calibration))}
    if len(curves):
        drawn["roc"] = roc_curves(curves)
    if len(cells):
        drawn["fooled"] = who_is_fooled(cells, kinds)
    if calibration.judged:
        drawn["verdict"] = verdicts(verdict_rows(calibration), kinds)
    return drawn


def ranked(calibration: Calibration) -> list[Tested]:
    """Tests question by question, the most powerful first; those without a place last."""
    fewest = fewest_models(calibration)
    questions = list(dict.fromkeys(one.question for one in calibration.tests))

    def place(one: Tested) -> tuple[int, bool, float, float]:
        is_unranked, found = bool(unranked_because(one, fewest)), one.separation
        first, second = (0.0, 0.0) if found is None else (found.power.value, found.auc.value)
        return questions.index(one.question), is_unranked, -first, -second

    return sorted(calibration.tests, key=place)


def fewest_models(calibration: Calibration) -> int:
    """Models of either kind that a test must have been asked of."""
    return QUICK_FEWEST if calibration.points.made.get("is_quick") else FEWEST


def unranked_because(one: Tested, fewest: int = FEWEST) -> str:
    """Why a test has no place in the ranking, in few words; nothing if it has one."""
    if one.separation is not None and min(one.fails, one.holds) >= fewest:
        return ""
    few = f"{one.fails} that fail, {one.holds} that hold"
    if not one.defines:
        return f"asked of too few: {few}"
    beside = f"; beside them {few}" if one.fails or one.holds else ""
    return f"defines the truth of {one.defines}{beside}"


def is_right(one: Known, cut: float) -> bool:
    """Whether a test answers rightly at a cut: an alarm on what fails, none on what holds."""
    return (one.score < cut) == one.fails


def ranking_rows(calibration: Calibration) -> pd.DataFrame:
    """A row per test, in the order of the ranking."""
    fewest = fewest_models(calibration)
    return pd.DataFrame(
        [_ranking_row(one, unranked_because(one, fewest)) for one in ranked(calibration)]
    )


def roc_rows(calibration: Calibration) -> pd.DataFrame:
    """A row per test and cut."""
    return pd.DataFrame(
        [
            {"question": one.question, "test": spoken(one.test), "false_alarms": x, "power": y}
            for one in ranked(calibration)
            if one.separation is not None
            for x, y in one.separation.roc
        ]
    )


def cell_rows(calibration: Calibration) -> pd.DataFrame:
    """A row per test and kind of which the truth is known."""
    known: dict[tuple[str, str], list[Known]] = {}
    for one in calibration.known:
        if one.truth is not None:
            known.setdefault((one.test, one.kind), []).append(one)
    kinds = dict.fromkeys(model.kind for model in calibration.models)
    return pd.DataFrame(
        [
            {"kind": kind, **_cell(test, known[test.test, kind])}
            for test in ranked(calibration)
            for kind in kinds
            if (test.test, kind) in known
        ]
    )


def verdict_rows(calibration: Calibration) -> pd.DataFrame:
    """A row per kind and verdict that was given."""
    return pd.DataFrame(list(_verdicts(calibration)))


def _ranking_row(one: Tested, why: str) -> dict[str, object]:
    power = None if why or one.separation is None else one.separation.power
    elsewhere = None if why else one.power_elsewhere
    return {
        "question": one.question,
        "test": spoken(one.test),
        "paper": paper_of(one.test),
        "power": math.nan if power is None else power.value,
        "low": math.nan if power is None else power.low,
        "high": math.nan if power is None else power.high,
        "elsewhere": math.nan if elsewhere is None else elsewhere.value,
        "is_judged": one.is_judged,
        "why": why,
    }


def _cell(test: Tested, some: list[Known]) -> dict[str, object]:
    has_cut = test.separation is not None
    scored = [one for one in some if one.is_scored and one.has_score and has_cut]
    cut = math.nan if test.separation is None else test.separation.cut
    return {
        "question": test.question,
        "test": spoken(test.test),
        "right": sum(is_right(one, cut) for one in scored),
        "models": len(scored),
        "defines": any(one.defines for one in some),
    }


def _verdicts(calibration: Calibration) -> Iterator[dict[str, object]]:
    kinds = {model.member: model.kind for model in calibration.models}
    given: list[tuple[str, str]] = [(kinds[one.member], one.verdict) for one in calibration.judged]
    for kind in dict.fromkeys(kinds.values()):
        for verdict in VERDICTS:
            if count := given.count((kind, verdict)):
                yield {"kind": kind, "verdict": verdict, "models": count}
