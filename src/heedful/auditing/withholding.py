"""Whether the heat map of a single text is shown: every reason to withhold one comes together here.

    audit, subject ──> reasons ──> Withholding ── texts ──> Showing: show it or not, and why

A reason looks at texts as a subject reads them and says of each, in a sentence, why its heat map is
withheld; nothing where it has no objection. A heat map is shown if no reason objects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from heedful.auditing.alternatives import usual_measures
from heedful.auditing.conformal import RISK, ConformalRule
from heedful.auditing.folder import audits_near
from heedful.auditing.nearness import nearness_of
from heedful.auditing.results import Audit, StoredAudit
from heedful.auditing.sampling import grouped
from heedful.auditing.subjects.base import Reading, Subject
from heedful.errors import RunError, UsageError
from heedful.importance import importances
from heedful.importance.explanation import USUAL_MEASURES, Explanation
from heedful.model.precision import in_full
from heedful.runs import RunFolder
from heedful.text.documents import Document, Documents

SILENT = "Deleting words hardly changes this decision, so there is nothing to show."
MISSES = "Words that decide have almost no weight."
MINOR = "The words with the most weight matter less than half as much as others."
STRANGE = "The text contains no word that the model knows."
OTHER_SIDE = "Most of the weight is on words that oppose the decision."


@dataclass(frozen=True)
class Showing:
    """Whether a text's heat map is shown, and why."""

    is_shown: bool
    why: str


@runtime_checkable
class Reason(Protocol):
    """A reason to withhold heat maps."""

    @property
    def guarantee(self) -> str:
        """What holds of the heat maps that it lets pass, in a clause; empty: nothing is known."""

    def objections(self, subject: Subject, reading: Reading) -> list[str]:
        """For each text of a reading, why its heat map is withheld; empty where it is not."""


@dataclass(frozen=True)
class ByScore:
    """The rule of an audit: the words with weight come near to the best words, or nothing does."""

    rule: ConformalRule
    shares: tuple[float, ...]  # of the words, that the audit deletes

    @property
    def guarantee(self) -> str:
        """That of the rule."""
        return self.rule.guarantee

    def objections(self, subject: Subject, reading: Reading) -> list[str]:
        """What is wrong with a picture, or with all of them."""
        threshold = self.rule.threshold
        if threshold is None:
            return [self.rule.why_none] * len(reading.texts)
        near = nearness_of(subject, reading, self.shares)
        found = []
        for row, score in enumerate(near.score.tolist()):
            sentence = (
                f"The words with the most weight matter {score:.0%} as much as the best words; "
                f"the rule requires more than {threshold:.0%}."
            )
            if score > threshold:
                sentence = ""
            elif near.is_silent[row]:
                sentence = SILENT
            elif near.defects.misses_words[row]:
                sentence = MISSES
            elif near.defects.shows_the_other_side[row]:
                sentence = OTHER_SIDE
            elif near.defects.leads_with_minor_words[row]:
                sentence = MINOR
            found.append(sentence)
        return found


@dataclass(frozen=True)
class ByVocabulary:
    """A text of unknown words is like no document that was audited."""

    guarantee = ""

    def objections(self, subject: Subject, reading: Reading) -> list[str]:
        """Where the subject knows no word."""
        return [STRANGE if is_strange else "" for is_strange in subject.is_strange(reading.texts)]


@dataclass(frozen=True)
class Withholding:
    """All reasons to withhold heat maps of one subject."""

    subject: Subject
    reasons: tuple[Reason, ...]

    @classmethod
    def by_audit(
        cls, audit: Audit, subject: Subject, risk: float = RISK, also: Sequence[Reason] = ()
    ) -> "Withholding":
        """By the rule of an audit of this very subject, which is refused if it is of another one.

        `also` are further reasons.
        """
        name = audit.about.get("name", "this")
        rule = audit.single_texts(risk)
        if rule is None:
            raise RunError(
                f"the audit of {name} has no rule for single texts: it was made by an earlier "
                "version, by another judge, or without the question telling. Audit again."
            )
        if not is_of(audit.about, subject):
            raise RunError(
                f"the audit of {name} is of another model: its weights differ from this one's. "
                "Audit this model, or give an audit of it."
            )
        shares = tuple(float(share) for share in audit.settings["fractions"])
        return cls(subject, (ByScore(rule, shares), ByVocabulary(), *also))

    @in_full()
    def decide(self, texts: Sequence[str]) -> list[Showing]:
        """Whether the heat map of each text is shown; texts of like length are read together."""
        documents = Documents(map(Document, texts))
        found: dict[int, Showing] = {}
        for group in grouped(documents, np.arange(len(texts))):
            reading = self.subject.read([texts[place] for place in group.tolist()])
            objections = [reason.objections(self.subject, reading) for reason in self.reasons]
            for place, said in zip(group.tolist(), zip(*objections, strict=True), strict=True):
                why = " ".join(filter(None, said))
                found[place] = Showing(not why, why or self._guarantee)
        return [found[place] for place in range(len(texts))]

    def explained(self, explanation: Explanation) -> Explanation:
        """An explanation that says whether its heat map of attention is shown."""
        if explanation.withheld:  # there is none
            return replace(explanation, shown=False, why=explanation.withheld)
        (showing,) = self.decide([explanation.text])
        return replace(explanation, shown=showing.is_shown, why=showing.why)

    @property
    def _guarantee(self) -> str:
        said = "; ".join(filter(None, (reason.guarantee for reason in self.reasons)))
        return f"{said[:1].upper()}{said[1:]}." if said else ""


def measures_by_default(audit: Audit) -> tuple[str, ...]:
    """The measures that explain a text of the audited model unless others are asked for."""
    rows, instead = audit.evidence.get("measures", ()), audit.evidence.get("instead", ())
    usual = usual_measures(USUAL_MEASURES, rows, instead)
    return tuple(name for name in usual if name in importances)


def is_of(about: Mapping[str, object], subject: Subject) -> bool:
    """Whether an audit about this is of this very subject: the same weights, read in the same way.

    Nothing tells one plain function from another: there it is up to the caller.
    """
    return _told_apart(about.get("identity")) == _told_apart(subject.identity)


def find_audit(run: Path, subject: Subject) -> Path | None:
    """The audit in or beside a run's folder that is of this very model; of several, the largest.

    Whatever cannot be read, or has no rule for single texts, is passed over.
    """
    sizes: dict[Path, int] = {}
    for folder in audits_near(run):
        try:
            stored = StoredAudit.read(RunFolder(folder))
            if is_of(stored.about, subject) and Audit.load(folder).single_texts() is not None:
                sizes[folder] = stored.documents
        except (UsageError, OSError):
            continue
    return max(sizes, key=lambda folder: sizes[folder], default=None)


def _told_apart(identity: object) -> dict[str, object]:
    known = dict(identity) if isinstance(identity, Mapping) else {}
    return {name: value for name, value in known.items() if name != "precision"}
