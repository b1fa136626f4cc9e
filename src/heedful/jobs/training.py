"""Training as the work of a job."""

from pathlib import Path

from heedful.errors import percent
from heedful.jobs.job import Tell
from heedful.model.classifier import TextClassifier
from heedful.runs import RunFolder
from heedful.training.fit import READING, Epoch, Watcher
from heedful.training.recipe import Phase
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import check_same_training, train


def train_run(
    folder: Path, tell: Tell, task: Task, settings: Settings, device: str = "cpu"
) -> None:
    """Train a run in the job's folder, which is then a run folder: begin it, or resume it."""
    run = RunFolder(folder)
    if run.is_finished:  # but the process was killed before it could say so
        check_same_training(RunFolder.open(folder), settings, task)
        run.drop_checkpoints()
        return
    train(task, settings, folder=run, device=device, watcher=Telling(tell))


class Telling(Watcher):
    """Passes on how far the training is, as if each phase took all the epochs that it may."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.turn_to("")

    def turn_to(self, what: str) -> None:
        """Say so first."""
        self.what = what
        self.score = ""
        self.phase: Phase | None = None
        self.begun = self.before = 0  # epochs begun so far, and those of earlier phases

    def begin_reading(self, documents: int) -> None:
        """What a frozen encoder makes of the texts comes first."""
        self.seen, self.total = 0, documents
        self.words = ", ".join(filter(None, (self.what, READING)))
        self.advance(0)

    def begin_epoch(self, phase: Phase, epoch: int, documents: int) -> None:
        """A new epoch."""
        if phase is not self.phase:
            self.phase, self.before = phase, self.begun
        self.begun = self.before + epoch + 1
        self.seen = (self.begun - 1) * documents
        self.total = (self.before + phase.epochs + phase.epochs_to_come) * documents
        words = (self.what, phase.name, f"epoch {epoch + 1} of at most {phase.epochs}", self.score)
        self.words = ", ".join(filter(None, words))
        self.advance(0)

    def advance(self, documents: int) -> None:
        """So many more documents."""
        self.seen += documents
        self.tell(self.seen / self.total, self.words)

    def end_epoch(self, epoch: Epoch, model: TextClassifier) -> None:
        """Its score stays in sight during the next one."""
        self.score = f"dev accuracy {percent(epoch.dev.accuracy)}" if epoch.dev else ""
