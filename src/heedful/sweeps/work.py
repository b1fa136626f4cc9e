"""What is done of a cell: a training in its run folder, and an audit in a folder within.

A large audit is measured in shares, side by side, and then put together.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.auditing.audit import Request, audit, measure_share
from heedful.auditing.of_run import described, request_of, unseen
from heedful.auditing.parts import PartsInFolder
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects import ClassifierSubject
from heedful.errors import counted
from heedful.jobs.fingerprint import digest
from heedful.jobs.job import Job, Tell
from heedful.jobs.training import train_run
from heedful.runs import RunFolder
from heedful.sweeps.cells import Cell
from heedful.sweeps.grid import AuditRequest
from heedful.text.documents import Documents
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.trained import Trained

# An audit of more is measured by several jobs: a minute or so of work each.
DOCUMENTS_PER_SHARE = 1000


def audit_folder(request: AuditRequest) -> str:
    """The folder of an audit within its run; another request has another."""
    return f"audit-{digest(request).hex()[:8]}"


def jobs_of(cell: Cell, request: AuditRequest | None, device: str) -> list[Job]:
    """The training of a cell, and the audit after it; a large audit is measured in shares first."""
    training = Job(
        cell.name,
        train_cell,
        {"task": cell.source.task, "settings": cell.settings},
        beside={"data": cell.source.facts, "record": cell.record, "device": device},
    )
    if request is None or not cell.attends:
        return [training]
    documents = cell.source.part(request)
    name, place = f"{cell.name}-audit", f"{cell.name}/{audit_folder(request)}"
    arguments = {
        "documents": documents,
        "request": request,
        "rationale_words": cell.source.rationale_words,
    }
    beside = {"run": cell.name, "source": cell.source.data.source, "device": device}
    count = min(len(documents), request.documents or len(documents))
    shares = math.ceil(count / DOCUMENTS_PER_SHARE)
    measuring = [
        Job(
            f"{name}-{share + 1}-of-{shares}",
            measure_cell,
            {**arguments, "share": share, "shares": shares},
            after=(cell.name,),
            beside=beside,
            folder=f"{place}/share-{share + 1}-of-{shares}",
        )
        for share in range(shares if shares > 1 else 0)
    ]
    after = tuple(job.name for job in measuring) or (cell.name,)
    auditing = Job(name, audit_cell, arguments, after, beside=beside, folder=place)
    return [training, *measuring, auditing]


def label_of(job: Job, cell: Cell) -> str:
    """What a person calls a job of a cell."""
    what = job.name.removeprefix(cell.name).replace("-", " ").strip()
    return f"{cell.label}, {what}" if what else cell.label


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
    """Train a run in its folder, or go on with it."""
    RunFolder(folder).write_json(runs.CELL, record)
    train_run(folder, tell, replace(task, data=data), settings, device)


def measure_cell(
    folder: Path,
    tell: Tell,
    *,
    documents: Documents,
    request: AuditRequest,
    rationale_words: int | None,
    share: int,
    shares: int,
    run: str,
    source: str,
    device: str,
) -> None:
    """Measure a share of an audit; what it finds is kept for the audit in the folder around."""
    trained = Trained.load(_around(folder, run), device)
    asked = _asked(folder.parent, trained, documents, request, rationale_words)
    total = math.ceil(asked.total / shares)
    measure_share(
        ClassifierSubject(trained),
        asked.documents,
        asked.settings,
        request.ask or None,
        Request(request.documents, None, asked.parts, _advance(tell, total)),
        share,
        shares,
    )


def audit_cell(
    folder: Path,
    tell: Tell,
    *,
    documents: Documents,
    request: AuditRequest,
    rationale_words: int | None,
    run: str,
    source: str,
    device: str,
) -> None:
    """Audit the run around this folder, or go on with its audit."""
    trained = Trained.load(_around(folder, run), device)
    asked = _asked(folder, trained, documents, request, rationale_words)
    result = audit(
        ClassifierSubject(trained),
        asked.documents,
        asked.settings,
        request.ask or None,
        request=Request(request.documents, None, asked.parts, _advance(tell, asked.total)),
        about={
            "name": run,
            "data": source,
            "judge": "self",
            "documents_trained_on": asked.trained_on,
            **described(trained),
        },
    )
    result.save(folder)
    if request.report:
        result.to_html(folder / runs.REPORT)
    asked.parts.clear()


@dataclass(frozen=True)
class _Asked:
    """What is audited, and where what was measured is kept."""

    documents: Documents
    trained_on: int  # of the documents
    settings: AuditSettings
    parts: PartsInFolder
    total: int  # documents that will be audited


def _asked(
    folder: Path,
    trained: Trained,
    documents: Documents,
    request: AuditRequest,
    rationale_words: int | None,
) -> _Asked:
    settings = AuditSettings(seed=request.seed, rationale_words=rationale_words)
    chosen, trained_on = unseen(trained, documents, include_trained=request.part == "train")
    said = request_of(trained, chosen, settings, request.ask or None, request.documents)
    total = min(len(chosen), request.documents or len(chosen))
    return _Asked(chosen, trained_on, settings, PartsInFolder(folder, said), total)


def _around(folder: Path, run: str) -> Path:
    """The run that an audit's folder stands in."""
    return next(place for place in folder.parents if place.name == run)


def _advance(tell: Tell, total: int) -> Callable[[int], None]:
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        tell(done / total, f"audited {done:,} of {counted(total, 'document')}")

    return advance
