"""How a training goes, on standard error: a bar on a terminal, lines elsewhere."""

import time

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from heedful.errors import percent
from heedful.model.classifier import TextClassifier
from heedful.progress import Clock, Completed, RegularLines
from heedful.terminal import Terminal
from heedful.training.fit import COUNTED_TOO, READING, Epoch, Watcher
from heedful.training.recipe import Phase
from heedful.visible import one_line


class EpochLines(Watcher):
    """A bar per epoch on a terminal; elsewhere a line per epoch, and lines within a long one."""

    def __init__(
        self,
        title: str,
        console: Terminal | None = None,
        clock: Clock = time.monotonic,
        score: str = "dev accuracy",
    ) -> None:
        self.title = title
        self.score = score  # what agreement with the labels of the dev part is called
        self.console = console or Terminal(stderr=True)
        self.progress = documents_bar(self.console, is_shown=self.console.is_terminal)
        self.clock = clock
        self.lines = RegularLines(self._line, self._print, clock=clock)

    def __enter__(self) -> "EpochLines":
        self.progress.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.progress.stop()

    def turn_to(self, what: str) -> None:
        """Say so before each line."""
        self.title = f"{what}, " if what else ""

    def begin_reading(self, documents: int) -> None:
        """A bar of its own, which leaves no line behind."""
        self._begin(f"{self.title}{READING}", documents)

    def end_reading(self) -> None:
        """Remove it."""
        self.progress.remove_task(self.bar)
        self.lines.restart()

    def begin_epoch(self, phase: Phase, epoch: int, documents: int) -> None:
        """Start a bar."""
        name = f"{phase.name}, " if phase.name else ""
        self._begin(f"{self.title}{name}epoch {epoch + 1} of at most {phase.epochs}", documents)

    def _begin(self, text: str, documents: int) -> None:
        self.text = one_line(text)
        self.bar = self.progress.add_task(self.text, total=documents)
        self.completed = Completed(documents, self.clock)

    def advance(self, documents: int) -> None:
        """Move the bar."""
        self.progress.advance(self.bar, documents)
        self.completed.done += documents
        if not self.console.is_terminal:
            self.lines.look()

    def end_epoch(self, epoch: Epoch, model: TextClassifier) -> None:
        """Replace the bar by a line."""
        self.progress.remove_task(self.bar)
        dev = f", {self.score} {percent(epoch.dev.accuracy)}" if epoch.dev else ""
        # What counts as much as the score in choosing the best epoch, or "best so far" is a riddle.
        dev += "".join(
            f", from {name.removeprefix(COUNTED_TOO).replace('_', ' ')} {percent(value)}"
            for name, value in epoch.notes.items()
            if name.startswith(COUNTED_TOO)
        )
        best = "  best so far" if epoch.is_best else ""
        name = f"{epoch.name}, " if epoch.name else ""
        self._print(
            f"{self.title}{name}epoch {epoch.epoch}: loss {epoch.train_loss:.3f}{dev} "
            f"({epoch.seconds:.1f} s){best}"
        )
        self.lines.restart()

    def _line(self) -> str:
        return f"{self.text}: {self.completed.words}"

    def _print(self, line: str) -> None:
        self.console.say(line)


def documents_bar(console: Terminal, is_shown: bool) -> Progress:
    """A bar that counts documents and shows the time left; it leaves nothing behind."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} documents"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not is_shown,
    )
