"""What is done of a cell: a training in its run folder; audits and analyses in folders within.

A large audit is measured in shares, side by side, and then put together.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.analysis.instruments import analyses
from heedful.analysis.instruments.base import OfAttention, OfHistory, OfRun
from heedful.auditing.run_audit import AuditPlan, PreparedAudit, new_documents, prepare_audit
from heedful.auditing.shares import TellingAudit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.other_model import TrainedJudge
from heedful.auditing.subjects.retrained import load_twins
from heedful.errors import ConfigError
from heedful.jobs.job import Tell
from heedful.jobs.training import train_run
from heedful.runs import RunFolder
from heedful.sweeps.steps import AnalysisStep, AuditStep
from heedful.text.documents import Documents
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.trained import Trained


def train_cell(
    folder: Path,
    tell: Tell,
    *,
    task: Task,
    settings: Settings,
    data: dict[str, Any],
    record: Mapping[str, Any],
    device: str,
) -> None:
    """Train a run in its folder, or resume it."""
    RunFolder(folder).write_json(runs.CELL, record)
    train_run(folder, tell, replace(task, data=data), settings, device)


def measure_cell(
    folder: Path,
    tell: Tell,
    *,
    documents: Documents,
    request: AuditStep,
    rationale_words: int | None,
    judge: str | None,
    twins: Sequence[str],
    share: int,
    shares: int,
    run: str,
    source: str,
    device: str,
) -> None:
    """Measure a share of an audit; what it finds is kept for the audit in the folder around."""
    asked = _prepared(
        folder.parent, run, source, documents, request, rationale_words, judge, twins, device
    )
    watcher = TellingAudit(tell, math.ceil(asked.total / shares))
    asked.measure_share(share, shares, watcher)


def audit_cell(
    folder: Path,
    tell: Tell,
    *,
    documents: Documents,
    request: AuditStep,
    rationale_words: int | None,
    judge: str | None,
    twins: Sequence[str],
    run: str,
    source: str,
    device: str,
) -> None:
    """Audit the run around this folder, or resume its audit."""
    asked = _prepared(
        folder, run, source, documents, request, rationale_words, judge, twins, device
    )
    result = asked.run(TellingAudit(tell, asked.total))
    result.save(folder)
    if request.report:
        result.to_html(folder / runs.REPORT)
    asked.clear()


def analyse_cell(
    folder: Path,
    tell: Tell,
    *,
    request: AnalysisStep,
    others: Mapping[str, str],
    documents: Documents,
    run: str,
    device: str,
) -> None:
    """Analyse the run around this folder; `others` are the runs of the variants it names."""
    place = _around(folder, run)
    places = {name: str((place.parent / other).absolute()) for name, other in others.items()}
    analysis = analyses.make(request.with_others(places))
    if isinstance(analysis, OfHistory):
        found = analysis.analyse(RunFolder.open(place).read_lines(runs.HISTORY))
    elif isinstance(analysis, OfRun):
        trained = Trained.load(place, device)
        if analysis.part == "test":
            documents = new_documents([trained], documents).documents
        found = analysis.analyse(trained, documents, seed=0)
    elif isinstance(analysis, OfAttention):
        trained = Trained.load(place, device)
        new = new_documents([trained], documents).documents
        found = analysis.analyse(ClassifierSubject(trained), new, seed=0)
    else:
        raise ConfigError(f"{request.name} trains its own models: it cannot analyse a run.")
    found.save(folder)


def _prepared(
    folder: Path,
    run: str,
    source: str,
    documents: Documents,
    request: AuditStep,
    rationale_words: int | None,
    judge: str | None,
    twins: Sequence[str],
    device: str,
) -> PreparedAudit:
    """The audit in a folder of the run's, with what was measured of it before."""
    place = _around(folder, run)
    trained = Trained.load(place, device)
    settings = request.settings.deepened() if request.deep else request.settings
    if settings.rationale_words is None:
        settings = replace(settings, rationale_words=rationale_words)
    plan = AuditPlan(
        settings, request.ask or None, request.documents, include_trained=request.part != "test"
    )
    by = Trained.load(place.parent / judge, device) if judge else None
    return prepare_audit(
        ClassifierSubject(trained),
        documents,
        plan,
        about={"name": run, "data": source, "judge": request.judge if judge else "self"},
        judge=TrainedJudge(by, trained.classes) if by else None,
        twins=load_twins(folder / runs.TWINS, twins, trained.settings, device),
    ).kept_in(folder)


def _around(folder: Path, run: str) -> Path:
    """The run that an audit's folder stands in."""
    return next(place for place in folder.parents if place.name == run)
