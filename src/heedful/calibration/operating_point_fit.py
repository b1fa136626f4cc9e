"""Tests of models with a known answer -> operating points, and how they do elsewhere.

Cuts are fitted on all models for the file that ships. How often a test and the verdict are right is
measured across: fitted on one half of the settings, counted on the other, both ways round.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heedful.auditing.operating_points import OperatingPoint, Share
from heedful.auditing.verdict import (
    DECIDING,
    Judgement,
    Verdict,
    compared,
    judge_question,
    reach_verdict,
)
from heedful.calibration.ground_truth import Known, Looked
from heedful.calibration.roc import (
    FALSE_ALARMS,
    Separation,
    alarms,
    auc,
    best_cut,
    scores_of,
    separate,
    share,
)

USEFUL = 0.5  # power at 5% false alarms below which a test is only reported
FEWEST = 10  # models of either kind that a judged test has been asked of; half as many in a half
QUICK_FEWEST = 4  # in a quick calibration, which is for trying out
FEWEST_FOR_FIGURES = 3
SEED = 0


@dataclass(frozen=True)
class Tested:
    """One test: how it separates, its cut, and how it does on settings it was not fitted on."""

    question: str
    test: str
    fails: int  # models that it should catch, not counting those where it defines the truth
    holds: int
    defines: int  # models whose truth was checked by what it measures
    silent: int  # models that fail or hold on which it has no score: it catches none of them
    separation: Separation | None  # None: too few models of one kind
    power_elsewhere: Share | None  # with the cut of the other half
    false_alarms_elsewhere: Share | None
    is_judged: bool
    note: str

    @property
    def point(self) -> OperatingPoint:
        """What ships of it: the cut from all models, the rates from where it was not fitted."""
        found = self.separation
        return OperatingPoint(
            self.question,
            self.test,
            None if found is None or np.isnan(found.cut) else found.cut,
            self.is_judged,
            self.power_elsewhere,
            self.false_alarms_elsewhere,
            None if found is None else found.auc,
            self.note,
        )


@dataclass(frozen=True)
class Judged:
    """What the verdict says of a model, by cuts fitted on the other half of the settings."""

    member: str
    explains: bool
    verdict: Verdict
    decisive: Judgement
    telling: Judgement


def rate_tests(known: Sequence[Known], fewest: int = FEWEST) -> list[Tested]:
    """Every test, in the order of the audit; judged from so many models of either kind on."""
    judged = choose(known, fewest)
    return [_tested(some, judged, fewest) for some in by_test(known).values()]


def judge_elsewhere(
    known: Sequence[Known], models: Iterable[Looked], fewest: int = FEWEST
) -> list[Judged]:
    """The verdict on every model, with tests chosen and cut on the other half of the settings."""
    fitted = {
        half: choose([one for one in known if one.half != half], fewest // 2) for half in (1, 2)
    }
    return judge_models(known, models, fitted)


def judge_models(
    known: Sequence[Known], models: Iterable[Looked], cuts: Mapping[int, Mapping[str, float]]
) -> list[Judged]:
    """The verdict on every model that was not left out, by the cuts for its half."""
    of_member: dict[str, list[Known]] = {}
    for one in known:
        of_member.setdefault(one.member, []).append(one)
    return [
        judge_model(model, of_member.get(model.member, []), cuts[model.half])
        for model in models
        if not model.left_out
    ]


def judge_model(model: Looked, known: Sequence[Known], cuts: Mapping[str, float]) -> Judged:
    """The verdict on one model by these cuts, without tests that measure what it was chosen by."""
    found = {
        question: judge_question(
            compared((one.low, one.high), cuts[one.test])
            for one in known
            if one.question == question and one.test in cuts and not one.defines
        )
        for question in DECIDING
    }
    return Judged(
        model.member,
        model.explains,
        reach_verdict(found),
        found["decisive"],
        found["telling"],
    )


def choose(known: Sequence[Known], fewest: int = FEWEST) -> dict[str, float]:
    """The tests that are judged, with their cuts: of each question the most powerful one.

    One alone, so that false alarms do not add up. The two questions of the verdict are taken
    together: an alarm on either is one of the verdict, and both may raise 5% at most.
    """
    cuts: dict[str, float] = {}
    for question, tests in _by_question(known).items():
        for test, some in sorted(tests.items(), key=lambda item: _merit(item[1])):
            fails, holds = _split(some)
            if min(_with_score(fails), _with_score(holds)) < fewest:
                continue
            cut = best_cut(fails, holds)
            if alarms(fails, cut) < USEFUL:
                continue
            tried = {**cuts, test: cut}
            together = DECIDING if question in DECIDING else (question,)
            if joint_false_alarms(known, together, tried) <= FALSE_ALARMS:
                cuts = tried
                break
    return cuts


def joint_false_alarms(
    known: Sequence[Known], questions: Sequence[str], cuts: Mapping[str, float]
) -> float:
    """The share of models that hold on some questions on which any of the tests raises an alarm."""
    alarmed: dict[str, bool] = {}
    for one in known:
        if one.question in questions and one.is_scored and not one.fails and one.test in cuts:
            alarmed[one.member] = alarmed.get(one.member, False) or one.score < cuts[one.test]
    return float(np.mean(list(alarmed.values()))) if alarmed else 0.0


def by_test(known: Sequence[Known]) -> dict[str, list[Known]]:
    """The models that each test was asked of, tests in the order of the audit."""
    found: dict[str, list[Known]] = {}
    for one in known:
        found.setdefault(one.test, []).append(one)
    return found


def _by_question(known: Sequence[Known]) -> dict[str, dict[str, list[Known]]]:
    found: dict[str, dict[str, list[Known]]] = {}
    for test, some in by_test(known).items():
        found.setdefault(some[0].question, {})[test] = some
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


def _merit(some: Sequence[Known]) -> tuple[float, float, float]:
    """What tests of a question are sorted by: most power, then fewest false alarms, then AUC."""
    fails, holds = _split(some)
    if not (len(fails) and len(holds)):
        return (0.0, 0.0, 0.0)
    cut = best_cut(fails, holds)
    return (-alarms(fails, cut), alarms(holds, cut), -auc(fails, holds))


def _tested(some: Sequence[Known], judged: Mapping[str, float], fewest: int) -> Tested:
    first = some[0]
    fails, holds = _split(some)
    defines = sum(one.defines for one in some)
    enough = min(len(fails), len(holds)) >= FEWEST_FOR_FIGURES
    separation = separate(fails, holds, np.random.default_rng(SEED)) if enough else None
    power, false_alarms = _elsewhere(some) if separation is not None else (None, None)
    is_judged = first.test in judged
    few = _with_score(fails), _with_score(holds)
    note = "" if is_judged else _why_reported(separation, *few, defines, fewest)
    return Tested(
        first.question,
        first.test,
        len(fails),
        len(holds),
        defines,
        len(fails) + len(holds) - _with_score(fails) - _with_score(holds),
        separation,
        power,
        false_alarms,
        is_judged,
        note,
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
    separation: Separation | None, fails: int, holds: int, defines: int, fewest: int
) -> str:
    """Why a test is not judged, in a sentence."""
    if separation is None and defines and not (fails and holds):
        return "it measures what models were chosen by: it defines the truth"
    if separation is None or min(fails, holds) < fewest:
        return f"asked of too few models: {fails} that fail, {holds} that hold"
    if separation.power.value < USEFUL:
        return f"power {separation.power.value:.0%} at 5% false alarms: too little to judge by"
    return "another test of its question does better"
