"""Which single texts to show the picture of: a threshold on a score, with a guarantee.

A picture is shown where its score lies above the threshold: the smallest one with

    (false pictures shown + 1) / (pictures shown + 1) <= risk

on the audited documents. The 1 counts the next text, as if its picture were false.

Guaranteed: of texts that come from where the documents came from (exchangeable with them), at most
a share `risk` is shown with a false picture, on average over audits and texts. Conformal risk
control (arXiv:2208.02814) guarantees that for thresholds with

    (false pictures shown + 1) / (documents + 1) <= risk

which are never larger than ours: more is withheld here, so no more is shown with a false picture.
Theirs would use the whole allowance, and show pictures that are more often false than true wherever
most others are true. Aimed at, but not guaranteed: that no more than `risk` of the *shown* pictures
are false. Where few are shown, or the score says little, it can be more.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.auditing.bootstrap import Interval
from heedful.config import above, within
from heedful.errors import counted
from heedful.intervals import wilson

RISK = 0.05  # share of texts that may be shown with a false picture


@dataclass(frozen=True)
class ConformalRule:
    """Show the picture of a text whose score lies above the threshold; None: of no text."""

    risk: float
    threshold: float | None
    documents: int  # that it was fitted on
    shown: int  # of them
    false_shown: int  # of those
    why_none: str = ""  # a sentence, where no picture is shown

    @property
    def false_interval(self) -> Interval:
        """Wilson's interval of the share of false pictures among those shown."""
        return wilson(self.false_shown, self.shown)

    @property
    def guarantee(self) -> str:
        """What holds of texts like those audited."""
        share = f"{100 * self.risk:g}%"
        return f"a false picture is shown for at most {share} of texts like those audited"

    @property
    def sentence(self) -> str:
        """The rule in words."""
        if self.threshold is None:
            return f"For single texts: show no picture. {self.why_none}"
        low, high = self.false_interval
        least = f"{self.threshold:.2f}" if self.threshold else "0"
        return (
            f"For single texts: show the picture only where its score is above {least}, as "
            f"for {self.shown:,} of {counted(self.documents, 'document')}, of which "
            f"{self.false_shown:,} are false ({low:.0%} to {high:.0%}). "
            f"{_capital(self.guarantee)}."
        )

    def refused(self, why: str) -> "ConformalRule":
        """The same, showing nothing, for a reason that the scores know nothing of."""
        return ConformalRule(self.risk, None, self.documents, 0, 0, why)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, with its sentence."""
        return {**asdict(self), "sentence": self.sentence}


def fit_rule(
    scores: Float[ndarray, " documents"],
    is_false: Bool[ndarray, " documents"],
    risk: float = RISK,
) -> ConformalRule:
    """The rule for documents with these scores, of which some have a false picture.

    Nothing is shown at a score of 0.
    """
    above(0, risk=risk)
    within(0, 1, risk=risk)
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    # What is shown if every score down to this one is: with equal scores, up to the last of them.
    is_last = np.append(descending[1:] < descending[:-1], True)[: len(scores)] & (descending > 0)
    shown = np.flatnonzero(is_last) + 1
    false_shown = is_false[order].cumsum()[shown - 1]
    qualifies = np.flatnonzero(false_shown + 1 <= risk * (shown + 1) * (1 + 1e-12))
    if not len(qualifies):
        return ConformalRule(risk, None, len(scores), 0, 0, _why_none(len(scores), risk))
    most = qualifies[-1]
    count = int(shown[most])
    threshold = float(descending[count]) if count < len(scores) else 0.0
    return ConformalRule(risk, max(threshold, 0.0), len(scores), count, int(false_shown[most]))


def fewest_documents(risk: float) -> int:
    """Documents without which no rule can hold a risk, even if all their pictures are true."""
    return math.ceil(1 / risk - 1e-9) - 1


def _why_none(documents: int, risk: float) -> str:
    needed = fewest_documents(risk)
    if documents < needed:
        return (
            f"To guarantee at most {100 * risk:g}% false pictures, an audit needs at least "
            f"{counted(needed, 'document')} with more than one word; this one has {documents:,}."
        )
    return (
        f"No score separates {counted(needed, 'document')} or more of these from those with a "
        f"false picture well enough to guarantee at most {100 * risk:g}% false pictures."
    )


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
