"""From scores to judgements to the verdict: all rules in one place, printed in every report."""

from collections.abc import Iterable, Mapping
from typing import Literal

from heedful.auditing.bootstrap import Interval, Score
from heedful.auditing.metrics.base import Better
from heedful.intervals import wilson

Judgement = Literal["supported", "contradicted", "undecided", "reported"]
Verdict = Literal["may", "may-not", "not-safe"]

RULES = """\
A heat map claims that the decision is based on these words, in this order. Three tests are
*judged*. The cut of each is a tolerable dose, found on models with a known answer
(`heedful calibrate`; the cuts ship with the package):

    true pictures   telling    in at most 15% of the documents the top words matter less than half
                               as much as the best words that could be found (--tolerate), words
                               deleted, and on a sample also replaced by an unknown word, hidden
                               from the attention of a Transformer, and, in deep audits, replaced
                               for a judge that was trained on such texts
    look away       decisive   at most 45% of the decision, in log-odds, bypasses the weights;
                               measured where a model can decide with other weights, and judged for
                               attention over the words' own states, not for readings of a
                               Transformer, where one layer's weights are one path of many
    word choice     leak-free  the label is not written into which word gets the most weight

All other tests are *reported*: shown, never judged, except `needed` (a gain of 0.5 points of
accuracy, in deep audits).

    supported      the whole interval of the score lies above the cut
    contradicted   the whole interval lies below it
    undecided      otherwise, or when floor and ceiling do not separate (no power on this data), or
                   on fewer than 20 different documents, or, of true pictures, when surely most
                   decisions are carried by no words; a question is undecided if its judged tests
                   contradict each other, or if its first one is undecided and none contradicts it

Attention "may not be shown" if telling, decisive or leak-free is contradicted. It "may be shown" if
telling is supported and so is decisive, wherever decisive is judged. Otherwise it "has not been
shown to be safe". A reading other than attention (a measure of importance, or given scores) "may be
shown" if its pictures are supported by the same test and cut, it ranks words differently on a model
whose weights were shuffled (mean rank agreement below 0.5, where this can be measured), and its
scores add up where they should (to 10%). Classes, and texts of some lengths, whose own share of
false pictures is surely above the tolerated share are named as exceptions. Nothing is supported for
a model whose accuracy is not clearly above that of always predicting the most common label.
"""

DECIDING = ("decisive", "telling")  # the questions that must be supported, where they are judged
VETOING = ("leak-free",)  # the questions that can only refuse
NEVER_WITHOUT = "telling"  # no verdict in favour unless it is supported
GAIN = 0.005  # of accuracy over twins with uniform weights: what attention must be worth
GAIN_TEST = "accuracy over uniform"  # the one test without controls

LIKE_RANDOM = 0.5  # rank agreement with the same reading of a model with random weights
INCOMPLETE = 0.1  # of the scores: what they lack to the sum that they should have

MOSTLY_SILENT = 0.5  # of the documents: of the others alone, no heat map is said to be safe
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
    cuts: Mapping[str, float],
    cannot_move: bool = False,
) -> Judgement:
    """The judgement on one test over this number of different documents, by cuts by test.

    `cannot_move`: no weights at all move the prediction. Attention then decides nothing, and that
    is an answer, not a lack of power.
    """
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


def judge_pictures_of(judgement: Judgement, silent: int, documents: int) -> Judgement:
    """The judgement on true pictures: not supported where surely most documents have none to show.

    `silent`: how many of the documents are decided by no words.
    """
    is_rare = documents > 0 and wilson(silent, documents)[0] > MOSTLY_SILENT
    return "undecided" if judgement == "supported" and is_rare else judgement


def judge_check(interval: Interval, cut: float, documents: int) -> Judgement:
    """The judgement on a mean that must lie below a cut, over this number of documents."""
    low, high = interval
    if documents < FEWEST or not (high < cut or low > cut):
        return "undecided"
    return "supported" if high < cut else "contradicted"


def judge_gain(interval: Interval, distinct: int) -> Judgement:
    """The judgement on the gain in accuracy over uniform weights: it needs no controls."""
    low, high = interval
    if distinct < FEWEST or not (low > GAIN or high < GAIN):
        return "undecided"
    return "supported" if low > GAIN else "contradicted"


def judge_question(judgements: Iterable[Judgement]) -> Judgement:
    """What the judgements on a question's tests come to; nothing, where they say the opposite.

    Tests that repeat the first one in another way can contradict it, but not support in its place.
    """
    judged = [judgement for judgement in judgements if judgement != "reported"]
    if not judged:
        return "reported"
    if {"contradicted", "supported"} <= set(judged):
        return "undecided"
    return "contradicted" if "contradicted" in judged else judged[0]


def reading_verdict(telling: Judgement, *checks: Judgement | None) -> Verdict:
    """Whether a reading that is no attention may be shown: nothing decides by it, so telling does.

    `checks` can only refuse; one that is not defined for the reading (None) says nothing.
    """
    found = [telling, *(check for check in checks if check is not None)]
    if "contradicted" in found:
        return "may-not"
    return "may" if set(found) == {"supported"} else "not-safe"


def reach_verdict(by_question: Mapping[str, Judgement | None]) -> Verdict:
    """Whether the attention may be shown.

    A question that the verdict rests on and that was left out (it is not in `by_question`) supports
    nothing. One that cannot be asked of the model (None), or that is not judged for its kind
    (reported), leaves the verdict to the others; telling cannot be replaced.
    """
    found = [by_question.get(name, "undecided") for name in (*DECIDING, *VETOING)]
    if "contradicted" in found:
        return "may-not"
    is_told = by_question.get(NEVER_WITHOUT) == "supported"
    is_left_out = any(name not in by_question for name in VETOING)
    judged = {by_question.get(name, "undecided") for name in DECIDING} - {None, "reported"}
    return "may" if is_told and judged == {"supported"} and not is_left_out else "not-safe"
