"""What a sweep of the zoo left on disk -> tests of models whose answer is known.

A model that failed, or that does not pass the checks of its kind, is left out with a reason. A test
that measures what the truth was checked by is kept, marked, and never scored.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.auditing.questions import audit_tests
from heedful.auditing.results import Audit
from heedful.auditing.verdict import GAIN_TEST
from heedful.calibration.zoo import EVIDENCE, Answer, Member, Truth

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """One test of one model, beside what is true of the model."""

    member: str
    kind: str
    setting: str
    half: int
    question: str
    test: str
    truth: Answer | None  # None: not known
    by: str
    defines: bool  # the test measures what the truth was checked by: it is not scored
    score: float  # NaN: floor and ceiling do not separate, so the test says nothing
    low: float
    high: float

    @property
    def fails(self) -> bool:
        """Whether the model is one that the test should catch."""
        return self.truth == "fails"

    @property
    def has_score(self) -> bool:
        """Whether the test says anything of the model."""
        return not math.isnan(self.score)

    @property
    def is_scored(self) -> bool:
        """Whether it counts as right or wrong."""
        return self.truth is not None and not self.defines


@dataclass(frozen=True)
class Looked:
    """A model of the zoo: what was checked, and whether it is what its kind says."""

    member: str
    kind: str
    setting: str
    half: int
    seed: int
    explains: bool
    is_deep: bool
    quantities: Mapping[str, float]  # as checked on the dev part
    left_out: str = ""  # why it is not scored


def look(member: Member, row: Row, evidence: Row | None) -> Looked:
    """A member with its checks, from its row of the sweep and the analysis of its evidence."""
    found: dict[str, float] = {}
    if row["state"] != "done" or evidence is None:
        reason = f"{row['state']}: {row['error'] or 'its evidence was not looked at'}"
    else:
        found = quantities_of(evidence, member.setting.noise)
        reason = "; ".join(member.kind.failed_checks(found))
    return Looked(
        member=member.name,
        kind=member.kind.name,
        setting=member.setting.name,
        half=member.setting.half,
        seed=member.seed,
        explains=member.kind.explains,
        is_deep=member.is_deep,
        quantities=found,
        left_out=reason,
    )


def quantities_of(evidence: Row, noise: float) -> dict[str, float]:
    """What truths are checked by, from one row of the analysis."""
    mass, even = evidence["evidence_mass"], evidence["even_share"]
    return {
        "accuracy": evidence["accuracy"] / (1 - noise),
        "evidence_mass": mass,
        "relative_mass": mass / even,
        "own_influence": _number(evidence["own_influence"]),
        "moved": _number(evidence["moved"]),
    }


def known_of(member: Member, audit: Audit) -> Iterator[Known]:
    """Every test of an audit between controls."""
    truths = member.kind.truth_in(member.setting)
    for answer in audit.answers:
        truth = truths.get(answer.question)
        for test in answer.tests:
            if test.name == GAIN_TEST:  # a gain in points has no controls and a rule of its own
                continue
            low, high = test.score.interval
            known = truth if _is_settled(test.name) else None
            yield _known(member, known, answer.question, test.name, test.score.score, low, high)


def _is_settled(test: str) -> bool:
    """Whether what is known of a model says how a test must end; so it does of unknown tests."""
    known = audit_tests().get(test)
    return known is None or known.is_settled_in_zoo


def evidence_by_run(tables: Sequence[Row]) -> dict[str, Row]:
    """The rows of the evidence analysis, by run."""
    return {row["run"]: row for row in tables if row["table"] == f"{EVIDENCE}.evidence"}


def _known(
    member: Member,
    truth: Truth | None,
    question: str,
    test: str,
    score: float,
    low: float,
    high: float,
) -> Known:
    setting = member.setting
    return Known(
        member.name,
        member.kind.name,
        setting.name,
        setting.half,
        question,
        test,
        truth.answer if truth else None,
        truth.by if truth else "",
        truth.is_defined_by(test) if truth else False,
        score,
        low,
        high,
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
