"""What may be shown instead of attention: measures of importance, judged by the same rule.

A measure may be shown if its share of false pictures surely lies below what is tolerated. Of those,
the one whose top words the decision misses most is named first.
"""

from collections.abc import Mapping
from typing import Any

from heedful.auditing.results import Table
from heedful.auditing.verdict import Verdict

ATTENTION = "attention"


def what_instead(measures: Table, verdict: Verdict, tolerated: float) -> str:
    """A sentence from the ranking of all measures on comprehensiveness, best first."""
    by_name = {row["measure"]: row for row in measures}
    if ATTENTION not in by_name:
        return ""
    attention = by_name[ATTENTION]
    others = [row for row in measures if row["measure"] not in (ATTENTION, "random")]
    able = [row for row in others if row["false_high"] <= tolerated]
    if verdict == "may":
        better = [row for row in able if row["over_attention_low"] > 0]
        if not better:
            return f"No other measure does clearly better than attention ({_of(attention)})."
        return f"Attention may be shown; {_named(better)} does somewhat better ({_of(better[0])})."
    if not able:
        return (
            "No measure of importance may be shown instead: none is surely false on at most "
            f"{tolerated:.0%} of the documents."
        )
    return (
        f"What may be shown instead: {_named(able)}: {_of(able[0])}, where attention's is false on "
        f"{attention['false_pictures']:.0%}."
    )


def _named(rows: list[Mapping[str, Any]]) -> str:
    first, *others = [str(row["measure"]) for row in rows]
    return f"{first} (also: {', '.join(others[:3])})" if others else first


def _of(row: Mapping[str, Any]) -> str:
    ends = f"{row['false_low']:.0%} to {row['false_high']:.0%}"
    return f"its picture is false on {row['false_pictures']:.0%} of the documents ({ends})"
