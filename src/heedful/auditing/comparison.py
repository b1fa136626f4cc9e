"""Several audits on the same documents: their scores side by side, and paired differences."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from heedful.auditing.bootstrap import DEFAULT_BOOTSTRAP, BootstrapSettings, paired_difference
from heedful.auditing.questions import audit_tests
from heedful.auditing.results import Audit, Table, plain
from heedful.errors import DataError

ACCURACY = (
    "accuracy",
    "is_right",
    "higher",
)  # no test of attention, but what it is weighed against


@dataclass(frozen=True)
class Comparison:
    """What several audits say beside each other.

    `scores`: run, accuracy, verdict, question, test, better, value, score, low, high, judgement.
    `differences`: first, second, test, better, difference (first - second), low, high, documents,
    favours (a run, or nothing when the interval reaches 0).
    """

    audits: dict[str, Audit]
    scores: Table
    differences: Table

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "verdicts": {name: audit.verdict for name, audit in self.audits.items()},
            "scores": plain(list(self.scores)),
            "differences": plain(list(self.differences)),
        }


def compare(
    audits: Mapping[str, Audit], seed: int = 0, settings: BootstrapSettings = DEFAULT_BOOTSTRAP
) -> Comparison:
    """Compare audits made on the same documents."""
    if len(audits) < 2:
        raise DataError("a comparison needs at least two audits.")
    (first, of_first), *others = audits.items()
    for name, audit in others:
        if audit.texts != of_first.texts:
            raise DataError(
                f"{first} and {name} were audited on different documents ({of_first.documents:,} "
                f"and {audit.documents:,}), so they cannot be compared in pairs. "
                "Audit both on the same data with the same seed."
            )
        if audit.about.get("judge", "self") != of_first.about.get("judge", "self"):
            raise DataError(
                f"{first} and {name} were judged by different models, so their numbers measure "
                "different things. Audit both with the same --judge."
            )
    rng = np.random.default_rng(seed)
    differences = []
    paired = [
        ACCURACY,
        *((t.name, t.column, t.better) for t in audit_tests().values() if t.is_compared),
    ]
    for one, other in combinations(audits, 2):
        for test, column, better in paired:
            values = [audits[name].columns.get(str(column)) for name in (one, other)]
            if values[0] is None or values[1] is None:
                continue
            found = paired_difference(values[0], values[1], rng, settings)
            if not found.documents:
                continue
            low, high = found.interval
            favours = ""
            if low > 0 or high < 0:
                favours = one if (low > 0) == (better == "higher") else other
            differences.append(
                {
                    "first": one, "second": other, "test": test, "better": better,
                    "difference": found.mean, "low": low, "high": high,
                    "documents": found.documents, "favours": favours,
                }
            )  # fmt: skip
    return Comparison(dict(audits), _scores(audits), tuple(differences))


def _scores(audits: Mapping[str, Audit]) -> Table:
    return tuple(
        {
            "run": name, "accuracy": audit.about.get("accuracy"), "verdict": audit.verdict,
            "question": answer.question, "test": test.name, "better": test.better,
            "value": test.score.value, "score": test.score.score,
            "low": test.score.interval[0], "high": test.score.interval[1],
            "judgement": test.judgement,
        }
        for name, audit in audits.items()
        for answer in audit.answers
        for test in answer.tests
    )  # fmt: skip
