"""Several readings of one Hugging Face model audited side by side, on the same documents."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heedful.auditing.audit import audit_within
from heedful.auditing.given_scores import GivenScores
from heedful.auditing.measuring import AuditOptions
from heedful.auditing.progress import AuditWatcher
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit, Table
from heedful.auditing.run_audit import AuditPlan, NewDocuments, PreparedAudit, prepare_audit
from heedful.auditing.subjects.huggingface.loading import LoadedTransformer
from heedful.auditing.subjects.huggingface.ranking import rank_readings, told_by_heads
from heedful.auditing.subjects.huggingface.readings import ReadingAudits, folders_of
from heedful.auditing.subjects.huggingface.subject import TransformerSubject
from heedful.auditing.subjects.retrained import Twins
from heedful.text.documents import Documents

POSITIONS = {
    "first": "the first position",
    "last": "the last position",
    "all": "the mean over all positions",
}
LONGER = {
    "cut": "only their beginning is read, as by a pipeline with truncation",
    "windows": "read in overlapping windows whose logits are averaged",
}
TOLD = "comprehensiveness_attention"
BY_CHANCE = "comprehensiveness_random"


@dataclass(frozen=True)
class PreparedReadings:
    """An audit of each reading that has been checked and can be run."""

    audits: Mapping[str, PreparedAudit]  # with wider intervals, so that all hold together
    settings: AuditSettings  # with intervals for one
    every_head: bool = False  # rank all heads beside the readings

    @property
    def total(self) -> int:
        """The number of documents that each reading will be audited on, unless a budget ends."""
        return self._first.total

    @property
    def chosen(self) -> NewDocuments:
        """The documents that are audited, the same for all readings."""
        return self._first.chosen

    @property
    def _first(self) -> PreparedAudit:
        return next(iter(self.audits.values()))

    def kept_in(self, folder: Path) -> "PreparedReadings":
        """The same; unfinished work is kept in folders within this one, and continued from there.

        With a budget nothing is kept: how many documents it came to is not known again later.
        """
        if self._first.plan.budget is not None:
            return self
        asked = {"readings": list(self.audits), "heads": self.every_head}
        places = folders_of(folder, self.audits)
        kept = {name: one.kept_in(places[name], **asked) for name, one in self.audits.items()}
        return replace(self, audits=kept)

    def run(self, watcher: AuditWatcher | None = None, is_written: bool = False) -> ReadingAudits:
        """Audit every reading; a report that `is_written` afterwards is part of a budget."""
        watcher = watcher or AuditWatcher()
        subject = self._first.subject
        assert isinstance(subject, TransformerSubject)
        if self._first.plan.budget is None:
            audits = {name: one.run(watcher) for name, one in self.audits.items()}
        else:
            audits = self._run_within(self._first.plan.budget, subject, watcher, is_written)
        first = next(iter(audits.values()))
        ranking: Table = ()
        if BY_CHANCE in first.columns:
            told_by = {name: found.columns[TOLD] for name, found in audits.items()}
            if self.every_head:
                watcher.begin_phase("ranking every head")
                told_by |= _heads(subject, first, self.settings)
            rng = np.random.default_rng([self.settings.seed, len(told_by)])
            bootstrap = self.settings.bootstrap
            ranking = rank_readings(told_by, first.columns[BY_CHANCE], rng, bootstrap)
        ranked = {name: _with_ranking(found, name, ranking) for name, found in audits.items()}
        return ReadingAudits(ranked, ranking)

    def clear(self) -> None:
        """Remove unfinished work: the audits are saved."""
        for one in self.audits.values():
            one.clear()

    def _run_within(
        self, seconds: float, subject: TransformerSubject, watcher: AuditWatcher, is_written: bool
    ) -> dict[str, Audit]:
        """All readings within one time, on as many documents as fit."""
        plan = self._first.plan
        rank = partial(told_by_heads, subject, settings=self.settings)
        return audit_within(
            seconds,
            {name: one.subject for name, one in self.audits.items()},
            self._first.chosen.documents,
            plan.settings,
            plan.questions,
            request=AuditOptions(plan.sample, seconds, None, watcher, is_written),
            about={name: dict(one.about) for name, one in self.audits.items()},
            later=rank if self.every_head else None,
            twins=self._first.twins,
        )


def prepare_readings(
    loaded: LoadedTransformer,
    subjects: Mapping[str, TransformerSubject],
    documents: Documents,
    plan: AuditPlan | None = None,
    *,
    every_head: bool = False,
    about: Mapping[str, Any] | None = None,
    twins: Twins | None = None,
    given: GivenScores | None = None,
) -> PreparedReadings:
    """An audit of every reading on the same documents; a budget is that of all together.

    Scores that were `given` are judged in each of them.
    """
    plan = plan or AuditPlan()
    bootstrap = plan.settings.bootstrap
    level = 1 - (1 - bootstrap.level) / len(subjects)  # Bonferroni: verdicts hold together
    wider = replace(plan.settings, bootstrap=replace(bootstrap, level=level))
    each = replace(plan, settings=wider)
    audits = {
        name: prepare_audit(
            subject,
            documents,
            each,
            about={**(about or {}), **_described(loaded, name, len(subjects), level)},
            twins=twins,
            given=given,
        )
        for name, subject in subjects.items()
    }
    return PreparedReadings(audits, plan.settings, every_head)


def audit_readings(
    loaded: LoadedTransformer,
    subjects: Mapping[str, TransformerSubject],
    documents: Documents,
    plan: AuditPlan | None = None,
    *,
    every_head: bool = False,
    about: Mapping[str, Any] | None = None,
    given: GivenScores | None = None,
) -> ReadingAudits:
    """`prepare_readings`, then run them."""
    return prepare_readings(
        loaded, subjects, documents, plan, every_head=every_head, about=about, given=given
    ).run()


def _heads(subject: TransformerSubject, found: Audit, settings: AuditSettings) -> dict[str, Any]:
    """Comprehensiveness of every head, on a sample of the documents; NaN on the others."""
    known = np.flatnonzero(~np.isnan(found.columns[BY_CHANCE]))
    rng = np.random.default_rng([settings.seed, 2**29])
    sample = np.sort(rng.permutation(known)[: settings.sampled_documents])
    told = told_by_heads(subject, [found.texts[place] for place in sample.tolist()], settings)
    columns = {}
    for name, values in told.items():
        columns[name] = np.full(len(found.texts), np.nan)
        columns[name][sample] = values
    return columns


def _with_ranking(found: Audit, name: str, ranking: Table) -> Audit:
    """The audit with its place among all readings beside its tests."""
    facts = tuple(
        {
            "question": "telling", "name": "comprehensiveness over random rankings",
            "mean": row["over_random"], "low": row["low"], "high": row["high"],
            "documents": row["documents"],
            "note": f"number {place} of {len(ranking)} readings; intervals hold together",
        }
        for place, row in enumerate(ranking, start=1)
        if row["reading"] == name
    )  # fmt: skip
    evidence = {**found.evidence, "readings": ranking}
    evidence["facts"] = (*found.evidence.get("facts", ()), *facts)
    return replace(found, evidence=evidence)


def _described(loaded: LoadedTransformer, name: str, count: int, level: float) -> dict[str, Any]:
    model = loaded.model
    return {
        "name": f"{loaded.name} · {name}",
        "model": loaded.name,
        "architecture": type(model.model).__name__,
        "readout": name,
        "layers_and_heads": f"{model.layers} × {model.heads}",
        "classifier_reads": POSITIONS[model.reads],
        "judge": "self",
        "readings_looked_at": count,
        "interval_level": level,
        "longest_input": model.cutter.most,
        "longer_texts": LONGER[model.cutter.long_texts],
    }
