"""What may be shown instead of attention: the measures of importance ranked by what they tell."""

from collections.abc import Mapping
from typing import Any

from heedful.auditing.results import Table
from heedful.auditing.verdict import Verdict

ATTENTION = "attention"


def what_instead(measures: Table, verdict: Verdict) -> str:
    """A sentence from the ranking of all measures on comprehensiveness, best first."""
    by_name = {row["measure"]: row for row in measures}
    if ATTENTION not in by_name or "random" not in by_name:
        return ""
    attention, chance = by_name[ATTENTION], by_name["random"]
    best = next(row for row in measures if row["measure"] != "random")
    if not best["low"] > chance["high"]:
        return (
            "No measure of importance tells clearly more than a random ranking of the words here: "
            "show none as an explanation."
        )
    if best is attention or not best["over_attention_low"] > 0:
        return f"No other measure tells clearly more than attention does ({_of(attention)})."
    level = [
        str(row["measure"])
        for row in measures
        if row is not best and row["high"] >= best["comprehensiveness"]
    ][:3]
    beside = f" (as good: {', '.join(level)})" if level else ""
    name = f"{best['measure']}{beside}"
    opening = f"What may be shown instead: {name}"
    if verdict == "may":
        opening = f"Attention may be shown; {name} tells somewhat more"
    return (
        f"{opening}. Without its top words the "
        f"probability of the prediction falls by {_of(best)}, without attention's by "
        f"{_of(attention)}."
    )


def _of(row: Mapping[str, Any]) -> str:
    return f"{row['comprehensiveness']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
