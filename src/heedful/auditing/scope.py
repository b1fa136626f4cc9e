"""A verdict in a paragraph: what is claimed, where it stops, and what other tolerances give.

Made from a saved audit alone, so that report, terminal and page say the same.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.auditing.bootstrap import score_share
from heedful.auditing.operating_points import (
    BYPASS,
    FALSE_DOCUMENTS,
    WRITTEN_CHOICE,
    OperatingPoint,
)
from heedful.auditing.results import Audit, TestResult
from heedful.auditing.verdict import (
    FEWEST,
    Judgement,
    Verdict,
    compared,
    judge_pictures_of,
    judge_question,
    reach_verdict,
)
from heedful.errors import counted
from heedful.intervals import wilson

LENGTHS = 3  # parts of the documents, by their number of words, that are looked at by themselves
TOLERANCES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)  # that a report shows the verdict at
CLAIM = "As a ranking of words for the predicted class, on documents like these"
WORST = 2  # classes or lengths are named where the verdict is no yes


@dataclass(frozen=True)
class AtTolerance:
    """The verdict if so large a share of false pictures were tolerated."""

    tolerated: float
    verdict: Verdict


def scope(audit: Audit) -> str:
    """What the verdict claims and where it stops; nothing of an audit by earlier rules."""
    pictures = find_test(audit, FALSE_DOCUMENTS)
    if pictures is None:
        return ""
    return " ".join(_sentences(audit, *pictures))


def verdicts_by_tolerance(audit: Audit) -> tuple[AtTolerance, ...]:
    """The verdict as a function of the share of false pictures that is tolerated."""
    pictures = find_test(audit, FALSE_DOCUMENTS)
    if pictures is None or pictures[0].judgement == "reported":
        return ()
    return tuple(AtTolerance(share, _verdict_at(audit, share)) for share in TOLERANCES)


def exceptions(audit: Audit) -> list[str]:
    """Classes and lengths with surely more false pictures than is tolerated, the worst first."""
    named = [(str(row["class"]), row) for row in audit.evidence.get("classes", ())]
    tolerated = tolerated_share(audit)
    rows = sorted(
        (*named, *_by_length(audit)), key=lambda pair: -(pair[1]["false_pictures"] or 0.0)
    )
    return [
        f"{name} (false on {row['false_pictures']:.0%} of {row['documents']:,})"
        for name, row in rows
        if None not in (row["low"], row["false_pictures"])
        and row["documents"] >= FEWEST
        and row["low"] > tolerated
    ]


def _by_length(audit: Audit) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """False pictures of the shortest, the middle and the longest third of the documents."""
    is_true = audit.columns.get("is_true_picture")
    if is_true is None:
        return
    words, judged = audit.columns["words"][~np.isnan(is_true)], is_true[~np.isnan(is_true)]
    if not len(words):
        return
    part = np.searchsorted(np.quantile(words, np.arange(1, LENGTHS) / LENGTHS), words)
    for number in np.unique(part).tolist() if part.any() else ():
        some = part == number
        found = score_share(judged[some])
        ends = dict.fromkeys(f"{end:.0f}" for end in (words[some].min(), words[some].max()))
        yield (
            f"texts of {' to '.join(ends)} words",
            {
                "false_pictures": 1 - found.value,
                "low": 1 - found.interval[1],
                "documents": found.documents,
            },
        )


def _sentences(audit: Audit, pictures: TestResult, point: OperatingPoint) -> Iterator[str]:
    opening = f"{CLAIM}: its" if audit.verdict == "may" else "Its"
    limit = f"{tolerated_share(audit):.0%} is tolerated"
    yield f"{opening} picture is false on {_share(pictures)}; {limit}."
    if pictures.judgement == "undecided" and not is_mostly_silent(audit):
        yield "That is too close to the limit to be sure: audit more documents."
    for repeated, _ in _tests_of(audit, FALSE_DOCUMENTS):
        if {repeated.judgement, pictures.judgement} == {"supported", "contradicted"}:
            yield (
                f"With {repeated.note} instead of deleted, it is false on {_share(repeated)}: the "
                "answer depends on how words are removed."
            )
    bypass = find_test(audit, BYPASS)
    if bypass and bypass[0].judgement in ("contradicted", "undecided"):
        test, of_bypass = bypass
        past = min(max(1 - test.score.score, 0.0), 1.0)
        yield (
            f"{past:.0%} of the decision bypasses the attention weights; at most "
            f"{of_bypass.tolerated:.0%} is tolerated."
        )
    choice = find_test(audit, WRITTEN_CHOICE)
    if choice and choice[0].judgement == "contradicted":
        yield "The choice of the top word reveals the label, even through uninformative words."
    if named := exceptions(audit):
        is_may = audit.verdict == "may"
        listed = ", ".join(named if is_may else named[:WORST])
        yield f"{'Except for' if is_may else 'Worst for'}: {listed}."
    if silent := _silent(audit):
        on, mostly = counted(len(silent), "document"), _mostly(audit, silent)
        yield f"On {on}{mostly} no words carry the decision: show no picture there."
        if is_mostly_silent(audit):
            yield "That is most of them, so a heat map of this model usually shows nothing."
    if withheld := _withheld(audit):
        yield withheld


def _withheld(audit: Audit) -> str:
    """How often a run that another model decides for shows no picture."""
    is_withheld = audit.columns.get("is_withheld")
    if is_withheld is None:
        return ""
    count, of = int((is_withheld == 1).sum()), len(is_withheld)
    low, high = wilson(count, of)
    return (
        f"On {count:,} of {of:,} documents ({low:.0%} to {high:.0%} of such documents) attention "
        "disagrees with the model that decides: no picture is shown there."
    )


def silent_documents(audit: Audit) -> int:
    """The number of documents whose decision no words carry."""
    return len(_silent(audit))


def is_mostly_silent(audit: Audit) -> bool:
    """Whether surely more than half of all documents are silent, so that no picture is safe."""
    return _unless_silent(audit, "supported") != "supported"


def _silent(audit: Audit) -> list[int]:
    """The places of documents whose decision no words carry."""
    silent = audit.columns.get("is_silent")
    return [] if silent is None else np.flatnonzero(silent == 1).tolist()


def _unless_silent(audit: Audit, judgement: Judgement) -> Judgement:
    """A judgement on true pictures, with the silent documents taken into account."""
    silent = audit.columns.get("is_silent", np.empty(0))
    return judge_pictures_of(judgement, len(_silent(audit)), int((~np.isnan(silent)).sum()))


def _mostly(audit: Audit, silent: list[int]) -> str:
    """Classes that are decided by the absence of words: most of their documents are silent."""
    of_class = Counter(audit.predictions)
    quiet = Counter(audit.predictions[place] for place in silent)
    named = [name for name, count in quiet.items() if count > of_class[name] / 2]
    return f" (most of those predicted {' or '.join(named)})" if named else ""


def _share(test: TestResult) -> str:
    """'7% of 300 documents (4% to 10%)'."""
    low, high = test.score.interval
    ends = f"{max(1 - high, 0.0):.0%} to {max(1 - low, 0.0):.0%}"
    return f"{1 - test.score.value:.0%} of {test.score.documents:,} documents ({ends})"


def tolerated_share(audit: Audit) -> float:
    """The share of false pictures that an audit tolerates."""
    chosen = audit.settings.get("tolerate")
    usual = audit.calibration.tolerated(FALSE_DOCUMENTS)
    return float(usual or 0.0) if chosen is None else float(chosen)


def find_test(audit: Audit, dose: str) -> tuple[TestResult, OperatingPoint] | None:
    """The test of an audit that measures a dose, with its operating point."""
    return next(_tests_of(audit, dose), None)


def _tests_of(audit: Audit, dose: str) -> Iterator[tuple[TestResult, OperatingPoint]]:
    """All of them, in the order of the questions: the one that others repeat comes first."""
    points = {point.test: point for point in audit.calibration.points if point.dose == dose}
    for answer in audit.answers:
        for test in answer.tests:
            if test.name in points:
                yield test, points[test.name]


def _verdict_at(audit: Audit, tolerated: float) -> Verdict:
    cuts = audit.calibration.cuts_for(audit.architecture, tolerated)
    by_share = {test.name for test, _ in _tests_of(audit, FALSE_DOCUMENTS)} & set(cuts)
    judgements = {}
    for answer in audit.answers:
        found = [
            _unless_silent(audit, compared(one.score.interval, cuts[one.name]))
            if one.name in by_share
            else one.judgement
            for one in answer.tests
        ]
        if audit.chance:  # nothing is supported of a model at chance
            found = ["undecided" if one == "supported" else one for one in found]
        judgements[answer.question] = judge_question(found) if found else answer.judgement
    return reach_verdict(judgements)
