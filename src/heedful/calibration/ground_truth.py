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
from heedful.calibration.zoo import EVIDENCE, Answer, ExactMember, Lies, Member, Truth

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
    architecture: str
    dose: float  # of what the test measures a dose of; NaN: not known, or it measures none
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
    lies: Lies  # whether its pictures do
    is_deep: bool
    quantities: Mapping[str, float]  # as checked on the dev part; doses, of exact models
    architecture: str = "classifier"
    left_out: str = ""  # why it is not scored

    @property
    def explains(self) -> bool:
        """Whether its attention may be shown."""
        return self.lies == "no"


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
        lies="no" if member.kind.explains else "fully",
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


def look_exact(member: ExactMember, doses: Mapping[str, float], left_out: str = "") -> Looked:
    """An exact model with its doses."""
    return Looked(
        member=member.name,
        kind=member.kind.name,
        setting=member.setting.name,
        half=member.setting.half,
        seed=member.seed,
        lies=member.lies(doses),
        is_deep=False,
        quantities=dict(doses),
        architecture=member.exact.architecture,
        left_out=left_out,
    )


def known_of(
    model: Looked, truths: Mapping[str, Truth], audit: Audit, doses: Mapping[str, float]
) -> Iterator[Known]:
    """Every test of an audit between controls, beside what is true of the model by question."""
    tests = audit_tests()
    for answer in audit.answers:
        for test in answer.tests:
            if test.name == GAIN_TEST:  # a gain in points has no controls and a rule of its own
                continue
            truth = truths.get(answer.question) if _is_settled(test.name) else None
            low, high = test.score.interval
            defined = tests.get(test.name)
            dose = doses.get(defined.dose, math.nan) if defined and defined.dose else math.nan
            yield Known(
                model.member, model.kind, model.setting, model.half, answer.question, test.name,
                truth.answer if truth else None, truth.by if truth else "",
                truth.is_defined_by(test.name) if truth else False,
                model.architecture, dose, test.score.score, low, high,
            )  # fmt: skip


def _is_settled(test: str) -> bool:
    """Whether what is known of a model says how a test must end; so it does of unknown tests."""
    known = audit_tests().get(test)
    return known is None or known.is_settled_in_zoo


def evidence_by_run(tables: Sequence[Row]) -> dict[str, Row]:
    """The rows of the evidence analysis, by run."""
    return {row["run"]: row for row in tables if row["table"] == f"{EVIDENCE}.evidence"}


def _number(value: float | None) -> float:
    return math.nan if value is None else value
