"""Audits as the work of jobs, for the tables that take many models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.judge import TrainedJudge
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects import ClassifierSubject
from heedful.auditing.twins import Twins
from heedful.jobs.job import Job, Tell
from heedful.jobs.training import train_run
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.trained import Trained


def training(
    name: str, corpus: str, settings: Settings, device: str, after: Sequence[str] = ()
) -> Job:
    """A run of a corpus as a job."""
    task = Task.from_corpus(heedful.load(corpus), {"source": corpus})
    arguments = {"task": task, "settings": settings, "device": device}
    return Job(name, train_run, arguments, tuple(after))


def audit_run(
    folder: Path,
    tell: Tell,
    *,
    run: str,
    corpus: str,
    asked: Sequence[str] | None = None,
    judge: str | None = None,
    twins: Mapping[str, str] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> None:
    """Audit a run on the test part of a corpus and save the audit in the job's folder."""
    trained = Trained.load(run)
    result = audit(
        ClassifierSubject(trained),
        heedful.load(corpus).test,
        AuditSettings(**(changes or {})),
        asked,
        judge=TrainedJudge(Trained.load(judge), trained.classes) if judge else None,
        twins=Twins({n: ClassifierSubject(Trained.load(p)) for n, p in (twins or {}).items()}),
        about={"name": Path(run).name, "data": corpus, "judge": judge or "self"},
    )
    result.save(folder / "audit")
