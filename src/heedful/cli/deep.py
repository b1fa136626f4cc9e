"""What `heedful audit --deep` does first: train the models that its questions take."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.subjects.retrained import Twins
    from heedful.jobs.budget import Budget
    from heedful.training.settings import Settings
    from heedful.training.task import Task
    from heedful.training.trained import Trained


@dataclass(frozen=True)
class Deep:
    """Where and on what twins are trained: checked before anything is done."""

    run: Path
    settings: "Settings"
    task: "Task"
    folder: Path
    budget: "Budget"
    device: str

    @classmethod
    def checked(
        cls,
        run: Path,
        trained: "Trained",
        train_data: str | None,
        data_dir: Path | None,
        output: Path | None,
        cores: int | None,
        memory: float | None,
        device: str,
    ) -> "Deep":
        """The plan, or a sentence about what is missing."""
        from heedful import runs
        from heedful.jobs.budget import Budget

        if output is None:
            raise UsageError("--deep trains models and saves them: give a folder with -o.")
        if trained.original is not None:
            raise UsageError(
                "--deep retrains models on labelled documents, but a healed run learned from the "
                f"decisions of {trained.original.name}. Audit it without --deep."
            )
        task = task_of(run, trained, train_data, data_dir)
        budget = Budget(cores=cores, memory=memory)
        return cls(run, trained.settings, task, output / runs.TWINS, budget, device)

    def twins(
        self,
        settings: "AuditSettings",
        asked: Sequence[str] | None,
        judge: Path | None,
        quiet: bool,
    ) -> "Twins":
        """All twins that the questions take, trained or found done."""
        from heedful.auditing.deep import twins_wanted
        from heedful.auditing.subjects.retrained import train_twins
        from heedful.cli import show
        from heedful.jobs.progress import JobLines, JobWatcher

        wanted = twins_wanted(settings, self.settings, asked)
        if not quiet:
            models = counted(len(wanted), "model")
            show.note(f"training {models} for the tests that need retrained models")
        arguments: dict[str, Any] = {
            "chosen_words": settings.chosen_words,
            "answers": judge,
            "budget": self.budget,
            "device": "cpu" if self.device == "auto" else self.device,
        }
        if quiet:
            return train_twins(
                wanted, self.run, self.task, self.folder, watcher=JobWatcher(), **arguments
            )
        with JobLines() as watcher:
            return train_twins(
                wanted, self.run, self.task, self.folder, watcher=watcher, **arguments
            )


def task_of(run: Path, trained: "Trained", train_data: str | None, data_dir: Path | None) -> "Task":
    """The documents that a run was trained on, or a sentence that says how to give them."""
    from heedful.auditing.deep import check_same_documents
    from heedful.training.task import Task, find_corpus

    about = trained.provenance.get("data", {})
    source = train_data or about.get("source")
    if source is None:
        raise UsageError(
            f"{run} does not say which documents it was trained on. Give them with --train."
        )
    try:
        corpus = find_corpus(
            source,
            text=about.get("text"),
            label=about.get("label"),
            data_dir=data_dir,
            dev_share=about.get("dev_share", 0.1),
            test_share=about.get("test_share", 0.1),
        )
    except DataError as error:
        raise DataError(
            f"--deep needs the documents that {run} was trained on, but they cannot be read: "
            f"{error} Give them with --train."
        ) from None
    task = Task.from_corpus(corpus, {"source": source})
    check_same_documents(trained, task)
    return task
