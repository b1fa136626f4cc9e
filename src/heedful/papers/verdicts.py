"""Whether a claim holds: the one place that decides, from an interval and what was claimed."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from heedful.papers.expected import Claim
from heedful.papers.rows import Mean
from heedful.papers.smallest_effects import kind_of

Verdict = Literal["holds", "does not hold", "too small to matter", "open"]
MEANINGS: dict[Verdict, str] = {
    "holds": (
        "a difference is as large as the claim says and its interval excludes 0; where the claim "
        "is about a number itself, a bound or closeness, the whole interval complies (of more "
        "than two cells: the range of their means)"
    ),
    "does not hold": "the whole interval lies on the other side",
    "too small to matter": (
        "the whole interval of a difference lies inside the smallest effect that matters, "
        "whatever its sign"
    ),
    "open": "the seeds do not settle it, or it could not be tested, for the reason given",
}
EARLIER: dict[str, Verdict] = {
    "replicates": "holds",
    "does not": "does not hold",
    "cannot be compared": "open",
}
"""The names in files of earlier versions."""


def smallest_that_matters(claim: Claim) -> float | None:
    """The size below which a difference counts as none; None where the claim states its own."""
    if claim.cells is not None or claim.most is not None or claim.by:
        return None
    kind = kind_of(claim.number)
    return None if kind is None else kind.smallest


def decide(claim: Claim, found: Mean) -> Verdict:
    """What the interval says of a claim; `open` where it does not settle it."""
    if claim.cells is not None or claim.most is not None:
        return _bounded(claim, found)
    smallest = smallest_that_matters(claim)
    if smallest is not None and -smallest < found.low and found.high < smallest:
        return "too small to matter"
    is_level = claim.at is not None and not claim.than
    if found.low > 0 and (found.low if is_level else found.mean) >= claim.by:
        return "holds"
    return "does not hold" if found.high < claim.by or found.high < 0 else "open"


def _bounded(claim: Claim, found: Mean) -> Verdict:
    most = claim.spread if claim.most is None else claim.most
    least = -most if claim.cells is not None else -math.inf
    if math.isnan(found.low):  # the range of many means
        return "holds" if found.mean <= most else "does not hold"
    if least <= found.low and found.high <= most:
        return "holds"
    return "does not hold" if found.low > most or found.high < least else "open"


def in_words(verdicts: Iterable[Verdict]) -> str:
    """How many tests of one claim came out how: `holds`, or `holds 3, open 1`."""
    counts = Counter(verdicts)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} {counts[name]}" for name in MEANINGS if name in counts)
