"""A calibration -> its figures, for the page and for the docs."""

import math
from collections.abc import Iterator

import pandas as pd

from heedful.auditing.audit_tests import DOSES
from heedful.auditing.questions import audit_tests
from heedful.calibration.operating_point_fit import Tested, by_test
from heedful.calibration.record import Calibration
from heedful.plots import Figure
from heedful.plots.calibration import dose_curve, ranking
from heedful.report.figures import spoken


def paper_of(test: str) -> str:
    """The paper that a test comes from; nothing where the test is not known."""
    known = audit_tests().get(test)
    return known.paper if known else ""


def figures(calibration: Calibration) -> dict[str, Figure]:
    """The figures that the record allows, by name: a dose curve per judged test, the ranking."""
    return {**dict(_dose_curves(calibration)), "ranking": ranking(ranking_rows(calibration))}


def judged_by_dose(calibration: Calibration) -> list[Tested]:
    """The tests whose cut is a tolerated dose, in the order of the audit."""
    return [one for one in calibration.tests if one.cuts]


def _dose_curves(calibration: Calibration) -> Iterator[tuple[str, Figure]]:
    known = by_test(calibration.known)
    for one in judged_by_dose(calibration):
        says, tolerated = DOSES[one.point.dose]
        models = pd.DataFrame(
            [
                {"architecture": row.architecture, "model": row.member, "dose": row.dose,
                 "score": row.score}
                for row in known[one.test]
                if row.architecture in one.cuts and row.has_score and not math.isnan(row.dose)
            ]
        )  # fmt: skip
        cuts = pd.DataFrame(
            [
                {"architecture": name, "value": cut.value, "low": cut.low, "high": cut.high}
                for name, cut in one.cuts.items()
            ]
        )
        name = one.test.replace(",", "").replace(" ", "-")
        yield name, dose_curve(one.test, says, tolerated, models, cuts)


def ranked(calibration: Calibration) -> list[Tested]:
    """Tests question by question, the most powerful first; those without a place last."""
    questions = list(dict.fromkeys(one.question for one in calibration.tests))

    def place(one: Tested) -> tuple[int, bool, float, float]:
        found = one.separation
        first, second = (0.0, 0.0) if found is None else (found.power.value, found.auc.value)
        return questions.index(one.question), found is None, -first, -second

    return sorted(calibration.tests, key=place)


def ranking_rows(calibration: Calibration) -> pd.DataFrame:
    """A row per test, in the order of the ranking."""
    return pd.DataFrame([_ranking_row(one) for one in ranked(calibration)])


def _ranking_row(one: Tested) -> dict[str, object]:
    power = None if one.separation is None else one.separation.power
    return {
        "question": one.question,
        "test": spoken(one.test),
        "paper": paper_of(one.test),
        "power": math.nan if power is None else power.value,
        "low": math.nan if power is None else power.low,
        "high": math.nan if power is None else power.high,
        "elsewhere": math.nan if one.power_elsewhere is None else one.power_elsewhere.value,
        "is_judged": one.is_judged,
        "why": _why_unranked(one),
    }


def _why_unranked(one: Tested) -> str:
    """Why a test has no place in the ranking, in few words; nothing if it has one."""
    if one.separation is not None:
        return ""
    few = f"{one.fails} that fail, {one.holds} that hold"
    if not one.defines:
        return f"asked of too few: {few}"
    beside = f"; beside them {few}" if one.fails or one.holds else ""
    return f"defines the truth of {one.defines}{beside}"
