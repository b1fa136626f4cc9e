"""One way to audit, for every caller: which documents are new to the model, what is asked, what of
it is kept.

The command line, Python, sweeps, `compare` and the demo all come through `prepare_audit`, so the
same model, documents and plan give the same numbers everywhere.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from heedful.auditing.audit import audit, measure_share
from heedful.auditing.checkpoints import PartsInFolder
from heedful.auditing.given_scores import GIVEN, GivenScores
from heedful.auditing.measuring import MEASUREMENTS, AuditOptions
from heedful.auditing.progress import AuditWatcher
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit, plain
from heedful.auditing.subjects.base import Judge, Subject
from heedful.auditing.subjects.retrained import Twins
from heedful.errors import DataError, counted
from heedful.text.documents import Documents
from heedful.training.trained import Exposure


@dataclass(frozen=True)
class AuditPlan:
    """What is asked of a subject, and on how much."""

    settings: AuditSettings = field(default_factory=AuditSettings)
    questions: Sequence[str] | None = None  # their names; None: all ten
    sample: int | None = None  # a random sample of this size; None: all documents
    budget: float | None = None  # seconds: as many documents as fit in this time
    include_trained: bool = False  # also audit documents that the model met in training


@dataclass(frozen=True)
class NewDocuments:
    """The documents that an audit looks at, and how many the model met in training."""

    documents: Documents
    trained_on: int  # of these documents
    left_out_trained_on: int = 0
    left_out_dev: int = 0
    left_out_unscored: int = 0

    @property
    def note(self) -> str:
        """A sentence about the documents that were left out; empty if none were."""
        reasons = [
            f"{count:,} {why}"
            for count, why in (
                (self.left_out_trained_on, "used to train the model"),
                (self.left_out_dev, "used to choose its best epoch"),
            )
            if count
        ]
        left_out = self.left_out_trained_on + self.left_out_dev
        return f"{counted(left_out, 'document')} left out: {', '.join(reasons)}" if reasons else ""

    @property
    def unscored_note(self) -> str:
        """A sentence about the documents without given scores; empty if all have them."""
        if not self.left_out_unscored:
            return ""
        return f"{counted(self.left_out_unscored, 'document')} left out: no given scores"

    def describe(self) -> dict[str, int]:
        """The counts, for the record."""
        counts = {
            "documents_trained_on": self.trained_on,
            "left_out_trained_on": self.left_out_trained_on,
            "left_out_dev": self.left_out_dev,
            "left_out_unscored": self.left_out_unscored,
        }
        return {name: count for name, count in counts.items() if count}


@runtime_checkable
class Exposed(Protocol):
    """Whatever knows which documents it met in training: a subject, a trained run."""

    def exposure(self, texts: Sequence[str]) -> Exposure:
        """Which texts it met."""


def new_documents(
    models: Sequence[Exposed], documents: Documents, include_trained: bool = False
) -> NewDocuments:
    """The documents that no model met in training; all of them if `include_trained`.

    A model knows the documents that it was trained on, and how well it does on dev documents chose
    its best epoch: neither says how it treats new text. Where nothing else is left, refuse.
    """
    met = [model.exposure(documents.texts) for model in models]
    was_trained_on = np.any([one.was_trained_on for one in met], axis=0)
    is_new = np.all([one.is_new for one in met], axis=0)
    if include_trained or is_new.all():
        return NewDocuments(documents, int(was_trained_on.sum()))
    if not is_new.any():
        raise DataError(
            f"all {counted(len(documents), 'document')} were used to train the model or to choose "
            "its best epoch, so an audit on them would say little about new text. Give other "
            "documents, or include these with --include-trained (in Python: include_trained=True)."
        )
    trained_on = int(was_trained_on.sum())
    left = documents.take(np.flatnonzero(is_new).tolist())
    return NewDocuments(left, 0, trained_on, len(documents) - len(left) - trained_on)


@dataclass(frozen=True)
class PreparedAudit:
    """An audit that has been checked and can be run, at once or in shares."""

    subject: Subject
    chosen: NewDocuments
    plan: AuditPlan
    about: Mapping[str, Any]
    judge: Judge | None = None
    twins: Twins = field(default_factory=Twins)
    parts: PartsInFolder | None = None  # where unfinished work is kept; None: in memory

    @property
    def total(self) -> int:
        """The number of documents that will be audited, unless a budget ends first."""
        return min(len(self.chosen.documents), self.plan.sample or len(self.chosen.documents))

    def kept_in(self, folder: Path, **also: object) -> "PreparedAudit":
        """The same; unfinished work is kept in a folder, and continued from what is there.

        `also` is what else must be the same for an audit to be continued.
        """
        return replace(self, parts=PartsInFolder(folder, {**self._asked(), **also}))

    def clear(self) -> None:
        """Remove unfinished work: the audit is saved."""
        if self.parts is not None:
            self.parts.clear()

    def run(self, watcher: AuditWatcher | None = None, is_written: bool = False) -> Audit:
        """Ask the questions; a report that `is_written` afterwards is part of a budget."""
        return audit(
            self.subject,
            self.chosen.documents,
            self.plan.settings,
            self.plan.questions,
            judge=self.judge,
            twins=self.twins,
            request=self._request(watcher, is_written),
            about={**self.about, **self.subject.describe(), **self.chosen.describe()},
        )

    def measure_share(self, share: int, shares: int, watcher: AuditWatcher) -> None:
        """Measure one of several shares into the folder of parts, for `run` to put together."""
        measure_share(
            self.subject,
            self.chosen.documents,
            self.plan.settings,
            self.plan.questions,
            self._request(watcher),
            share,
            shares,
            judge=self.judge,
            twins=self.twins,
        )

    def _asked(self) -> dict[str, Any]:
        """What is audited and how: an interrupted audit is continued only with the same."""
        said = [(d.text, d.label, d.rationale) for d in self.chosen.documents]
        further = self.subject.further
        given = {name: one.digest for name, one in further.items() if one.digest}
        measures = [name for name in further if name not in given]
        digest = hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()
        return {
            **self.subject.identity,
            "measurements": MEASUREMENTS,
            "documents": digest[:16],
            "sample": self.plan.sample,
            "budget": self.plan.budget is not None,
            "judge": self.about["judge"],
            "questions": list(self.plan.questions) if self.plan.questions else "all",
            "twins": sorted(self.twins.subjects),
            "masked_judge": self.twins.judge is not None,
            **plain(asdict(self.plan.settings)),
            **({GIVEN: given} if given else {}),
            **({"measures": measures} if measures else {}),
        }

    def _request(self, watcher: AuditWatcher | None, is_written: bool = False) -> AuditOptions:
        return AuditOptions(
            self.plan.sample, self.plan.budget, self.parts, watcher or AuditWatcher(), is_written
        )


def prepare_audit(
    subject: Subject,
    documents: Documents,
    plan: AuditPlan | None = None,
    *,
    about: Mapping[str, Any] | None = None,
    judge: Judge | None = None,
    twins: Twins | None = None,
    given: GivenScores | None = None,
) -> PreparedAudit:
    """An audit of a subject on the documents that are new to it.

    `judge` decides whose predictions telling looks at (default: the subject's own), `twins` are
    retrained models for the questions that need them. `given` are scores of somebody else's, which
    are judged beside the subject's own readings, on the documents that have them.
    """
    plan = plan or AuditPlan()
    chosen = new_documents([subject], documents, plan.include_trained)
    known = dict(about or {})
    if given is not None and given.attributions:
        given.check_asked(plan.questions)
        scored, unscored = given.on(chosen.documents)
        chosen = replace(chosen, documents=scored, left_out_unscored=unscored)
        subject, known[GIVEN] = given.beside(subject), given.names
    known.setdefault("judge", "self")
    return PreparedAudit(subject, chosen, plan, known, judge, twins or Twins())


def run_audit(
    subject: Subject,
    documents: Documents,
    plan: AuditPlan | None = None,
    *,
    about: Mapping[str, Any] | None = None,
    judge: Judge | None = None,
    twins: Twins | None = None,
    watcher: AuditWatcher | None = None,
) -> Audit:
    """`prepare_audit`, then run it."""
    return prepare_audit(subject, documents, plan, about=about, judge=judge, twins=twins).run(
        watcher
    )
