"""What may be shown instead of attention: measures of importance, judged with words deleted.

A measure may be shown if its share of false pictures surely lies below what is tolerated, and no
check refuses it. Pictures of attention and of given scores are judged with words replaced or hidden
too; those of our own measures are not, and the sentence about them says so. The one that is named
was chosen on other documents than it was judged on.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.auditing.verdict import Verdict

ATTENTION = "attention"
SIGNED = "contribution"  # attention with a sign: weight x polarity
SHARE = ("false_pictures", "false_low", "false_high")  # of the documents, with its interval
Rows = Sequence[Mapping[str, Any]]
READINGS: dict[Verdict, str] = {
    "may": "may be shown",
    "may-not": "may not be shown",
    "not-safe": "have not been shown to be safe",
}


def usual_measures(usual: Sequence[str], rows: Rows, chosen: Rows) -> tuple[str, ...]:
    """The usual measures without those that an audit refuses, and with the one that it names.

    `rows` are all measures of the audit, `chosen` the reading that may be shown instead. Attention
    stays: a rule of its own withholds it.
    """
    refused = {row["measure"] for row in rows if row.get("verdict") == "may-not"} - {ATTENTION}
    kept = [name for name in usual if name not in refused]
    best = next((row for row in chosen if row["judgement"] == "supported"), None)
    named = [] if best is None else str(best["measure"]).split(" or ")
    return tuple(dict.fromkeys((*kept, *named)))


def refused_measures(asked: Sequence[str], rows: Rows) -> list[str]:
    """A sentence for each measure that is asked for although an audit refuses it."""
    return [
        f"the audit found that the heat map of {row['measure']} may not be shown: {_of(row)}"
        for row in rows
        if row["measure"] in asked and row["measure"] != ATTENTION
        if row.get("verdict") == "may-not"
    ]


def what_instead(measures: Rows, chosen: Rows, verdict: Verdict, tolerated: float) -> str:
    """A sentence from all measures, best first, and from the one that was chosen elsewhere.

    `chosen` is the row of the reading that was chosen on other documents than it was judged on.
    Where attention is not allowed, another says what was found of attention with a sign.
    """
    with_sign = "" if verdict == "may" else _with_sign(measures)
    return _instead(measures, chosen, verdict, tolerated) + with_sign


def _instead(measures: Rows, chosen: Rows, verdict: Verdict, tolerated: float) -> str:
    by_name = {row["measure"]: row for row in measures}
    if ATTENTION not in by_name:
        return ""
    attention = by_name[ATTENTION]
    able = [row for row in measures if row["verdict"] == "may"]
    if verdict == "may":
        better = [row for row in able if row["over_attention_low"] > 0]
        if not better:
            return f"No other measure does clearly better than attention ({_of(attention)})."
        return (
            "Attention may be shown; the decision falls somewhat more without the top words of "
            f"{_named(better)} ({_of(better[0])})."
        )
    best = next((row for row in chosen if row["judgement"] == "supported"), None)
    if best is None:
        return (
            "No measure of importance may be shown instead: none is certain to have a false "
            f"picture on at most {tolerated:.0%} of the documents{_refused(measures)}."
        )
    others = [
        str(row["measure"]) for row in able if row["measure"] not in best["measure"].split(" or ")
    ]
    also = f" (also passed: {', '.join(others[:3])})" if others else ""
    return (
        f"What may be shown instead: {best['measure']}{also}: chosen on other documents, "
        f"{_of(best)}, where attention's is false on {attention['false_pictures']:.0%}. "
        "It was tested only by deleting words."
    )


def _with_sign(measures: Rows) -> str:
    """Of attention with a sign, which is one reading, fixed beforehand: it needs no choice."""
    row = next((row for row in measures if row["measure"] == SIGNED), None)
    if row is None or row["verdict"] is None or not has_share(row):
        return ""
    found = row["verdict"] == "may"
    return (
        f" Attention with a sign ({SIGNED}: weight × polarity, with words for the decision first "
        f"and words against it last) {READINGS[row['verdict']].replace('have', 'has')}"
        f"{'' if found else ' either'}: {_of(row)}."
    )


def _refused(measures: Rows) -> str:
    """Which readings have true pictures and fail a check."""
    names = [
        str(row["measure"])
        for row in measures
        if row["verdict"] is not None
        and row["verdict"] != "may"
        and row["judgement"] == "supported"
    ]
    return f", or it fails a check ({', '.join(names)})" if names else ""


def of_given(row: Mapping[str, Any], tolerated: float) -> str:
    """What was found of scores that were given, in a sentence."""
    return (
        f"The scores of {row['measure']} {READINGS[row['verdict']]} as an explanation: "
        f"{_of(row, 'their')}; "
        f"{row.get('otherwise') or 'they were tested only by deleting words'}; "
        f"at most {tolerated:.0%} are tolerated."
    )


def other_readings(measures: Rows) -> list[tuple[str, str, str, str, str]]:
    """Of each reading that is no attention, in words: name, false pictures, rank agreement with a
    model with random weights, what its sum lacks, verdict. None of audits of earlier versions."""
    return [
        (
            str(row["measure"]),
            f"{row['false_pictures']:.0%} ({row['false_low']:.0%} to {row['false_high']:.0%})",
            "not asked" if row["random_model"] is None else f"{row['random_model']:.2f}",
            "not defined" if row["incompleteness"] is None else f"{row['incompleteness']:.0%}",
            READINGS[row["verdict"]].replace("have", "has"),
        )
        for row in measures
        if row.get("verdict") and has_share(row)
    ]


def _named(rows: list[Mapping[str, Any]]) -> str:
    first, *others = [str(row["measure"]) for row in rows]
    return f"{first} (also: {', '.join(others[:3])})" if others else first


def has_share(row: Mapping[str, Any]) -> bool:
    """Whether any picture could be judged; a saved row has null where it had no number."""
    shares = [row.get(name) for name in SHARE]
    return not any(share is None or math.isnan(share) for share in shares)


def _of(row: Mapping[str, Any], whose: str = "its") -> str:
    if not has_share(row):
        return f"none of {whose} pictures could be judged"
    ends = f"{row['false_low']:.0%} to {row['false_high']:.0%}"
    return f"{whose} picture is false on {row['false_pictures']:.0%} of the documents ({ends})"
