"""The jobs of a cell: its training, the twins and shares of its audit, the audit, its analyses."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.auditing.deep import twins_wanted
from heedful.auditing.subjects.retrained import twin_job
from heedful.errors import ConfigError
from heedful.jobs.job import Job
from heedful.runs import folder_name
from heedful.sweeps.cells import Cell
from heedful.sweeps.steps import AnalysisStep, AuditStep
from heedful.sweeps.tasks import analyse_cell, audit_cell, measure_cell, train_cell

# An audit of more is measured by several jobs: a minute or so of work each.
DOCUMENTS_PER_SHARE = 1000


@dataclass(frozen=True)
class Plan:
    """Everything that a sweep does, cell by cell."""

    cells: list[Cell]
    folder: Path
    device: str

    def jobs(self) -> list[tuple[Cell, list[Job]]]:
        """The cells in order, each with its jobs, the training first."""
        return [(cell, list(self._jobs(cell))) for cell in self.cells]

    def _jobs(self, cell: Cell) -> Iterator[Job]:
        yield Job(
            cell.name,
            train_cell,
            {"task": cell.source.task, "settings": cell.settings},
            beside={"data": cell.source.facts, "record": cell.record, "device": self.device},
        )
        if cell.attends:  # a model that pools has nothing to look at
            if cell.audit is not None:
                yield from self._audit(cell, cell.audit)
            for request in cell.analyse:
                yield self._analysis(cell, request)

    def _audit(self, cell: Cell, request: AuditStep) -> Iterator[Job]:
        """Twins if it is deep; shares if it is large; then the audit itself."""
        judge = None if request.judge in (None, cell.variant) else self._other(cell, request.judge)
        twins = list(self._twins(cell, request, judge)) if request.deep else []
        yield from twins
        documents = cell.source.part(request.part)
        name, place = f"{cell.name}-audit", f"{cell.name}/{request.folder}"
        arguments: dict[str, Any] = {
            "documents": documents,
            "request": request,
            "rationale_words": cell.source.rationale_words,
            "judge": judge and judge.name,
            "twins": [job.place.rpartition("/")[2] for job in twins],
        }
        beside = {"run": cell.name, "source": cell.source.data.source, "device": self.device}
        before = tuple(job.name for job in twins) or (cell.name,)
        before += (judge.name,) if judge else ()
        count = min(len(documents), request.documents or len(documents))
        shares = math.ceil(count / DOCUMENTS_PER_SHARE)
        measuring = [
            Job(
                f"{name}-{share + 1}-of-{shares}",
                measure_cell,
                {**arguments, "share": share, "shares": shares},
                before,
                beside=beside,
                folder=f"{place}/share-{share + 1}-of-{shares}",
            )
            for share in range(shares if shares > 1 else 0)
        ]
        yield from measuring
        after = tuple(job.name for job in measuring) or before
        yield Job(name, audit_cell, arguments, after, beside=beside, folder=place)

    def _twins(self, cell: Cell, request: AuditStep, judge: Cell | None) -> Iterator[Job]:
        place = f"{cell.name}/{request.folder}/{runs.TWINS}"
        run = self.folder / cell.name
        answers = self.folder / judge.name if judge else run
        for twin in twins_wanted(request.settings, cell.settings, request.ask or None):
            job = twin_job(
                twin,
                cell.settings,
                run,
                cell.source.task,
                request.settings.chosen_words,
                answers,
                self.device,
            )
            after = [cell.name, *(_twin_name(cell, name) for name in job.after)]
            after += [judge.name] if judge else []
            name = _twin_name(cell, job.name)
            yield replace(job, name=name, after=tuple(after), folder=f"{place}/{job.name}")

    def _analysis(self, cell: Cell, request: AnalysisStep) -> Job:
        others = {name: self._other(cell, name).name for name in request.others}
        arguments = {"request": request, "others": others}
        return Job(
            f"{cell.name}-{request.folder}",
            analyse_cell,
            {**arguments, "documents": request.part_of(cell.source.corpus)},
            (cell.name, *(name for name in others.values() if name != cell.name)),
            beside={"run": cell.name, "device": self.device},
            folder=f"{cell.name}/{request.folder}",
        )

    def _other(self, cell: Cell, variant: str | None) -> Cell:
        """The cell of another variant that is alike in everything else."""
        for other in self.cells:
            is_like = (other.source, other.axes, other.seed) == (cell.source, cell.axes, cell.seed)
            if other.variant == variant and is_like:
                return other
        raise ConfigError(
            f"({cell.label}) is judged by variant {variant!r}, which has no cell with the same "
            "documents, axes and seed."
        )


def label_of(job: Job, cell: Cell) -> str:
    """What a person calls a job of a cell."""
    what = job.name.removeprefix(cell.name).replace("-", " ").strip()
    return f"{cell.label}, {what}" if what else cell.label


def _twin_name(cell: Cell, twin: str) -> str:
    return folder_name(f"{cell.name}-twin-{twin}")
