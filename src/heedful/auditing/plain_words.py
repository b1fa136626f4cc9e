"""The verdict in plain words: one paragraph for people who have read no paper.

    Audit ──> PlainWords: what was asked, what came out, what it means, what to do next

Terminal, report, page, model card and Python show the same sentences.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heedful.auditing.alternatives import has_share
from heedful.auditing.bootstrap import Score
from heedful.auditing.next_step import next_steps
from heedful.auditing.operating_points import (
    BYPASS,
    FALSE_DOCUMENTS,
    WRITTEN_CHOICE,
    OperatingPoint,
)
from heedful.auditing.results import Audit, TestResult
from heedful.auditing.scope import (
    exceptions,
    find_test,
    is_mostly_silent,
    silent_documents,
    tolerated_share,
)
from heedful.auditing.terms import QUESTIONS
from heedful.auditing.verdict import DECIDING, NEVER_WITHOUT, VETOING, Verdict
from heedful.errors import counted

FAR_BELOW, FAR_ABOVE = -1.0, 2.0  # scores beyond are marked
SCALE = "on a scale from 0, worthless, to 1, the best that can be had"
# Of doses, what may happen at most; {} is the dose at the cut.
AT_MOST = {
    FALSE_DOCUMENTS: "at most {} of the heat maps may be false",
    BYPASS: "at most {} of a decision may be made without regard to the attention",
    WRITTEN_CHOICE: "in at most {} of the texts the choice of the word may give the label away",
}
# What a failed question means for the reader of a heat map.
FAILED = {
    "telling": "the heat map points at words that the decision does not rest on",
    "decisive": "much of the decision is made without regard to the attention",
    "leak-free": "which word gets the most weight gives the label away, although the word itself "
    "says nothing",
    "needed": "the model would be about as accurate if its attention were spread evenly",
}
MEANS: dict[Verdict, str] = {
    "may": "You may show this heat map as the reason for a decision, for texts like these. It says "
    "which words the model used, not that the model is right.",
    "may-not": "Do not show this heat map as the reason for a decision: it would mislead the "
    "people who read it.",
    "not-safe": "Do not show this heat map as the reason for a decision yet: the tests neither "
    "support it clearly nor refute it.",
}


@dataclass(frozen=True)
class PlainWords:
    """A verdict in four steps, each one or more whole sentences."""

    asked: str
    found: str
    means: str
    next: str

    @property
    def paragraph(self) -> str:
        """All four steps in one paragraph."""
        return " ".join(filter(None, (self.asked, self.found, self.means, self.next)))

    def __str__(self) -> str:
        return self.paragraph


def in_plain_words(audit: Audit, commands_follow: bool = True) -> PlainWords:
    """What an audit asked and found, what that means for showing the heat map, what to do next.

    `commands_follow`: the commands to run next are listed below the paragraph.
    """
    return PlainWords(
        asked=_asked(audit),
        found=" ".join(_found(audit)),
        means=" ".join(_means(audit)),
        next=" ".join(_next(audit, commands_follow)),
    )


def several_in_plain_words(sentence: str, audits: Mapping[str, Audit]) -> PlainWords:
    """The same of several readings of one model, of which `sentence` says which may be shown."""
    first = next(iter(audits.values()))
    passed = [name for name, audit in audits.items() if audit.verdict == "may"]
    shares = ", ".join(
        f"{name} {1 - pictures.score.value:.0%}"
        for name, audit in audits.items()
        if (pictures := _pictures(audit)) is not None
    )
    found = f"The share of false heat maps was: {shares}; " if shares else ""
    tolerated = f"{tolerated_share(first):.0%} is tolerated." if shares else ""
    steps = " The commands below make a model whose heat map may be shown."
    wanted = steps if next_steps(*audits.values()) else ""
    return PlainWords(
        asked=f"{_asked(first)} This model has many attention weights for each word, so they were "
        f"read in {counted(len(audits), 'way')}.",
        found=f"{found}{tolerated}",
        means=sentence if passed else f"{sentence} Do not show them as the reason for a decision.",
        next=f"Show the heat map of {passed[0]}, and no other one." if passed else wanted.strip(),
    )


def far_outside(score: Score) -> str:
    """What to think of a score that lies far outside of the scale; nothing of any other."""
    if math.isnan(score.score) or FAR_BELOW <= score.score <= FAR_ABOVE:
        return ""
    return (
        f"outside {FAR_BELOW:g} to {FAR_ABOVE:g}: floor and ceiling are close together here, so "
        "the size of this number says little"
    ).replace("-", "−")


def cut_in_words(test: TestResult, audit: Audit) -> str:
    """A judged test's score on the scale with its cut, and what the cut means; else nothing."""
    cut, point = audit.cuts.get(test.name), audit.calibration.of(test.name)
    if cut is None or test.judgement == "reported" or math.isnan(test.score.score):
        return ""
    score = f"{test.score.score:.2f} {SCALE}; it must exceed {cut:.2f}"
    return f"{score}{_meaning_of(point, audit)}."


def _meaning_of(point: OperatingPoint | None, audit: Audit) -> str:
    """What a cut stands for, after its number."""
    if point is None or point.dose not in AT_MOST or point.tolerated is None:
        return ", the score that separates honest models from others in the calibration"
    dose = tolerated_share(audit) if point.dose == FALSE_DOCUMENTS else point.tolerated
    return f", because {AT_MOST[point.dose].format(f'{dose:.0%}')}"


def _asked(audit: Audit) -> str:
    claim = "A heat map claims that the highlighted words are the reason for a decision."
    texts = counted(audit.documents, "text")
    if _judgement(audit, NEVER_WITHOUT) is None:
        return f"{claim} This audit tested a part of the claim on {texts}."
    is_own = audit.about.get("judge", "self") == "self"
    whose = "the model still decides the same" if is_own else "another model still decides the same"
    return (
        f"{claim} This audit tested the claim on {texts}: it deleted words, the highlighted ones "
        f"first, and looked at whether {whose}."
    )


def _found(audit: Audit) -> Iterator[str]:
    if audit.chance:
        yield f"{audit.chance[0].upper()}{audit.chance[1:]}."
    if pictures := _pictures(audit):
        limit, silent = tolerated_share(audit), silent_documents(audit)
        of = "the other texts" if silent else "the texts"
        if silent:
            yield (
                f"On {silent:,} of {counted(audit.documents, 'text')} no words carry the decision, "
                "so a heat map shows nothing there."
            )
        yield (
            f"In {1 - pictures.score.value:.0%} of {of} the heat map is false: its highlighted "
            "words matter less than half as much as the best words that were found, or it hides "
            f"words that decide. At most {limit:.0%} is tolerated{_closeness(pictures, audit)}."
        )
    for question in (*DECIDING, *VETOING):
        judgement = _judgement(audit, question)
        if question == NEVER_WITHOUT and pictures:
            continue
        if judgement == "contradicted":
            yield f"{FAILED[question][0].upper()}{FAILED[question][1:]}."
        elif judgement == "undecided" and not audit.chance:
            asked = QUESTIONS[question]
            yield f"It could not be decided {asked[0].lower()}{asked[1:]}"


def _pictures(audit: Audit) -> TestResult | None:
    """The test that counts false heat maps, if it was made and has a number."""
    found = find_test(audit, FALSE_DOCUMENTS)
    return None if found is None or math.isnan(found[0].score.value) else found[0]


def _closeness(test: TestResult, audit: Audit) -> str:
    """Why a share that is on the right side of the limit may not be enough."""
    if test.judgement != "undecided" or is_mostly_silent(audit):
        return ""
    return f", and with {counted(test.score.documents, 'text')} that is too close to be sure"


def _means(audit: Audit) -> Iterator[str]:
    yield MEANS[audit.verdict]
    if audit.verdict != "may":
        return
    if named := exceptions(audit):
        yield f"Except for: {', '.join(named)}."
    for answer in audit.answers:
        if answer.judgement == "contradicted":
            yield (
                f"The answer to “{answer.question}” below is no: "
                f"{FAILED.get(answer.question, QUESTIONS.get(answer.question, answer.asks))}. "
                "That does not change the verdict, because a heat map makes no claim about it."
            )


def _next(audit: Audit, commands_follow: bool) -> Iterator[str]:
    if audit.verdict == "may":
        if audit.single_texts() is not None:
            yield (
                "Next: `heedful explain RUN TEXT --audit DIR` says for each text whether its heat "
                "map may be shown."
            )
        return
    if audit.chance:
        yield "Next: train a model that is better than chance, then audit it."
        return
    best = next(iter(audit.evidence.get("instead", ())), None)
    if best is not None and best["judgement"] == "supported" and has_share(best):
        measures = str(best["measure"]).split(" or ")
        options = " ".join(f"--measure {measure}" for measure in measures)
        whose = "their heat maps are" if len(measures) > 1 else "its heat map is"
        yield (
            f"Show {best['measure']} instead (`heedful explain RUN TEXT {options}`): {whose} false "
            f"for {best['false_pictures']:.0%} of the texts."
        )
    if commands_follow and next_steps(audit):
        yield "To get a model whose heat map may be shown, run the commands below."
    elif audit.verdict == "not-safe" and audit.documents < audit.available:
        yield f"Next: audit more texts; {audit.available:,} are available."


def _judgement(audit: Audit, question: str) -> str | None:
    return next((a.judgement for a in audit.answers if a.question == question), None)
