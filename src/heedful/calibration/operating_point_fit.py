"""Tests of models with a known answer -> operating points, and how the verdict does elsewhere.

A test that measures a dose is judged: its cut, for each kind of model, is the score at which its
dose curve crosses what is tolerated. All other tests are rated (power, false alarms, AUC) and
reported. How often the verdict is right is measured on kinds of models that were left out of the
curves, one at a time.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heedful.auditing.audit_tests import DOSES
from heedful.auditing.operating_points import Cut, OperatingPoint, Share
from heedful.auditing.questions import audit_tests
from heedful.auditing.verdict import (
    DECIDING,
    VETOING,
    Judgement,
    Verdict,
    compared,
    judge_question,
    reach_verdict,
)
from heedful.calibration.dose_curve import RESAMPLES, Dosed, dose_cut
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.roc import Separation, best_cut, scores_of, separate, share
from heedful.calibration.zoo import Lies

FEWEST_FOR_FIGURES = 3
SEED = 0

Cuts = Mapping[str, Mapping[str, Cut]]  # by architecture and test


@dataclass(frozen=True)
class Tested:
    """One test: how it separates, its cuts if it is judged, and how it does elsewhere."""

    question: str
    test: str
    fails: int  # models that it should catch, not counting those where it defines the truth
    holds: int
    defines: int  # models whose truth was checked by what it measures
    silent: int  # models that fail or hold on which it has no score: it catches none of them
    separation: Separation | None  # None: too few models of one kind
    power_elsewhere: Share | None  # with the cut of the other half of the settings
    false_alarms_elsewhere: Share | None
    cuts: Mapping[str, Cut]  # by architecture
    note: str

    @property
    def is_judged(self) -> bool:
        """Whether it has a say in a verdict."""
        return bool(self.cuts)

    @property
    def point(self) -> OperatingPoint:
        """What ships of it."""
        defined = audit_tests().get(self.test)
        dose = defined.dose if defined and self.is_judged else ""
        return OperatingPoint(
            self.question,
            self.test,
            float(np.mean([cut.value for cut in self.cuts.values()])) if self.cuts else None,
            self.is_judged,
            self.power_elsewhere,
            self.false_alarms_elsewhere,
            None if self.separation is None else self.separation.auc,
            self.note,
            dose,
            DOSES[dose][1] if dose else None,
            self.cuts,
        )


@dataclass(frozen=True)
class Judged:
    """What the verdict says of a model, by cuts fitted without models of its kind."""

    member: str
    kind: str
    architecture: str
    lies: Lies
    verdict: Verdict
    decisive: Judgement
    telling: Judgement
    leak_free: Judgement

    @property
    def explains(self) -> bool:
        """Whether its attention may be shown."""
        return self.lies == "no"


def rate_tests(known: Sequence[Known]) -> list[Tested]:
    """Every test, in the order of the audit."""
    cuts = fit_cuts(known)
    return [_tested(some, cuts) for some in by_test(known).values()]


def repeated_points(points: Sequence[OperatingPoint]) -> list[OperatingPoint]:
    """Points of tests that repeat a judged one and that no model of the zoo was asked.

    They measure the same dose with words taken away in another way, so the same dose is tolerated.
    """
    measured = {point.test: point for point in points if point.is_judged}
    return [
        replace(
            measured[test.repeats],
            test=test.name,
            power=None,
            false_alarms=None,
            auc=None,
            note=f"the cut of {test.repeats}, which measures the same share",
            cuts={
                kind: cut
                for kind, cut in measured[test.repeats].cuts.items()
                if kind in test.judged_for
            },
        )
        for test in audit_tests().values()
        if test.repeats in measured and test.name not in measured
    ]


def fit_cuts(known: Sequence[Known], resamples: int = RESAMPLES) -> dict[str, dict[str, Cut]]:
    """The cuts of the tests that measure a dose, by kind of model; no resamples: no intervals."""
    found: dict[str, dict[str, Cut]] = {}
    for test, some in by_test(known).items():
        defined = audit_tests().get(test)
        if defined is None or not defined.dose:
            continue
        for architecture in defined.judged_for:
            dosed = [
                Dosed(one.dose, one.score, f"{one.kind}, {one.setting}")
                for one in some
                if one.architecture == architecture and one.has_score and not math.isnan(one.dose)
            ]
            if cut := dose_cut(dosed, DOSES[defined.dose][1], resamples):
                found.setdefault(architecture, {})[test] = cut
    return found


def judge_elsewhere(known: Sequence[Known], models: Iterable[Looked]) -> list[Judged]:
    """The verdict on every model, by cuts fitted without its kind."""
    models = list(models)
    judged = []
    for kind in dict.fromkeys(model.kind for model in models):
        cuts = fit_cuts([one for one in known if one.kind != kind], resamples=0)
        judged += judge_models(known, [model for model in models if model.kind == kind], cuts)
    return judged


def judge_models(known: Sequence[Known], models: Iterable[Looked], cuts: Cuts) -> list[Judged]:
    """The verdict on every model that was not left out, by these cuts."""
    of_member: dict[str, list[Known]] = {}
    for one in known:
        of_member.setdefault(one.member, []).append(one)
    return [
        judge_model(model, of_member.get(model.member, []), cuts)
        for model in models
        if not model.left_out
    ]


def judge_model(model: Looked, known: Sequence[Known], cuts: Cuts) -> Judged:
    """The verdict on one model by these cuts, without tests that measure what it was chosen by."""
    of_kind = cuts.get(model.architecture, {})
    asked = {one.question for one in known}
    found: dict[str, Judgement] = {
        question: judge_question(
            compared((one.low, one.high), of_kind[one.test].value)
            for one in known
            if one.question == question and one.test in of_kind and not one.defines
        )
        for question in (*DECIDING, *VETOING)
    }
    answered = {name: found[name] if name in asked else None for name in found}
    return Judged(
        model.member,
        model.kind,
        model.architecture,
        model.lies,
        reach_verdict(answered),
        found["decisive"],
        found["telling"],
        found["leak-free"],
    )


def by_test(known: Sequence[Known]) -> dict[str, list[Known]]:
    """The models that each test was asked of, tests in the order of the audit."""
    found: dict[str, list[Known]] = {}
    for one in known:
        found.setdefault(one.test, []).append(one)
    return found


def _split(some: Iterable[Known]) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the models that fail, and of those that hold."""
    scored = [one for one in some if one.is_scored]
    return (
        scores_of([one.score for one in scored if one.fails]),
        scores_of([one.score for one in scored if not one.fails]),
    )


def _with_score(scores: np.ndarray) -> int:
    return int((~np.isnan(scores)).sum())


def _tested(some: Sequence[Known], cuts: Cuts) -> Tested:
    first = some[0]
    fails, holds = _split(some)
    defines = sum(one.defines for one in some)
    enough = min(len(fails), len(holds)) >= FEWEST_FOR_FIGURES
    separation = separate(fails, holds, np.random.default_rng(SEED)) if enough else None
    power, false_alarms = _elsewhere(some) if separation is not None else (None, None)
    own = {kind: tests[first.test] for kind, tests in cuts.items() if first.test in tests}
    few = _with_score(fails), _with_score(holds)
    return Tested(
        first.question,
        first.test,
        len(fails),
        len(holds),
        defines,
        len(fails) + len(holds) - sum(few),
        separation,
        power,
        false_alarms,
        own,
        "" if own else _why_reported(first.test, separation, *few, defines),
    )


def _elsewhere(some: Sequence[Known]) -> tuple[Share, Share]:
    """Alarms on models that fail and that hold, each by the cut of the other half."""
    caught, alarmed, failing, holding = 0, 0, 0, 0
    for half in (1, 2):
        cut = best_cut(*_split(one for one in some if one.half != half))
        fails, holds = _split(one for one in some if one.half == half)
        caught, failing = caught + int((fails < cut).sum()), failing + len(fails)
        alarmed, holding = alarmed + int((holds < cut).sum()), holding + len(holds)
    return share(caught, failing), share(alarmed, holding)


def _why_reported(
    test: str, separation: Separation | None, fails: int, holds: int, defines: int
) -> str:
    """Why a test is not judged, in a sentence."""
    defined = audit_tests().get(test)
    if defined is not None and defined.dose:
        return "models of too few doses were audited to find its cut"
    if separation is None and defines and not (fails and holds):
        return "it measures what models were chosen by: it defines the truth"
    if separation is None:
        return f"asked of too few models: {fails} that fail, {holds} that hold"
    return "evidence only"
