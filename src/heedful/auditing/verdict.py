"""From scores to judgements to the verdict: all rules in one place, printed in every report."""

from collections.abc import Iterable, Mapping
from typing import Literal

from heedful.auditing import operating_points
from heedful.auditing.bootstrap import Interval, Score
from heedful.auditing.metrics.base import Better

Judgement = Literal["supported", "contradicted", "undecided", "reported"]
Verdict = Literal["may", "may-not", "not-safe"]

RULES = """\
A test is *judged* by a cut that was measured on models with a known answer (`heedful calibrate`;
the points ship with the package): of each question the test that did best there. A test that does
not reach useful power at 5% false alarms, that another test of its question surpasses, or that was
asked of too few models is *reported*: shown, never judged.
`needed` is a gain in points of accuracy, which means the same everywhere: its cut is 0.5 points.

    supported      the whole interval of the score lies above the cut
    contradicted   the whole interval lies below it
    undecided      otherwise, or when floor and ceiling do not separate (no power on this data), or
                   on fewer than 20 different documents

A question is contradicted if any judged test of it is, supported if at least one is and none
contradicts, else undecided. Attention "may not be shown" if decisive or telling is contradicted,
"may be shown" if both are supported, else it "has not been shown to be safe". Nothing is supported
for a model whose accuracy is not clearly above that of always giving the commonest label.
"""

DECIDING = ("decisive", "telling")  # the questions that the verdict rests on
GAIN = 0.005  # of accuracy over twins with uniform weights: what attention must be worth
GAIN_TEST = "accuracy over uniform"  # the one test without controls

FEWEST = 20  # different documents: an interval over fewer says little

SENTENCES: dict[Verdict, str] = {
    "may": "The attention of this model may be shown as an explanation.",
    "may-not": "The attention of this model may not be shown as an explanation.",
    "not-safe": "The attention of this model has not been shown to be safe as an explanation.",
}


def judge_test(
    test: str,
    score: Score,
    better: Better,
    distinct: int,
    *,
    cannot_move: bool = False,
    cuts: Mapping[str, float] | None = None,
) -> Judgement:
    """The judgement on one test over so many different documents.

    `cannot_move`: no weights at all move the prediction. Attention then decides nothing, and that
    is an answer, not a lack of power. `cuts` by test: those that came with the package, if none.
    """
    cuts = operating_points.shipped().cuts if cuts is None else cuts
    if test not in cuts:
        return "reported"
    if min(distinct, score.documents) < FEWEST:
        return "undecided"
    if cannot_move:
        return "contradicted"
    if not score.separates(better):
        return "undecided"
    return compared(score.interval, cuts[test])


def compared(interval: Interval, cut: float) -> Judgement:
    """The judgement on an interval by a cut; undecided without an interval."""
    low, high = interval
    if low > cut:
        return "supported"
    return "contradicted" if high < cut else "undecided"


def judge_gain(interval: Interval, distinct: int) -> Judgement:
    """The judgement on the gain in accuracy over uniform weights: it needs no controls."""
    low, high = interval
    if distinct < FEWEST or not (low > GAIN or high < GAIN):
        return "undecided"
    return "supported" if low > GAIN else "contradicted"


def judge_question(judgements: Iterable[Judgement]) -> Judgement:
    """What the judgements on a question's tests come to."""
    judged = [judgement for judgement in judgements if judgement != "reported"]
    if not judged:
        return "reported"
    if "contradicted" in judged:
        return "contradicted"
    return "supported" if "supported" in judged else "undecided"


def reach_verdict(by_question: Mapping[str, Judgement | None]) -> Verdict:
    """Whether the attention may be shown; a question that was not asked supports nothing."""
    deciding = [by_question.get(name) for name in DECIDING]
    if "contradicted" in deciding:
        return "may-not"
    return "may" if set(deciding) == {"supported"} else "not-safe"
