"""How jobs go, on standard error: one live view on a terminal, lines elsewhere."""

import time
from collections import Counter
from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from heedful.errors import counted
from heedful.jobs.job import Outcome
from heedful.progress import Clock, RegularLines, about
from heedful.terminal import Terminal
from heedful.visible import one_line


class JobWatcher:
    """Told how jobs go; the default looks away."""

    def begin(self, names: Sequence[str], done_before: Sequence[str]) -> None:
        """All jobs, and those among them that an earlier call has done."""

    def begin_job(self, name: str) -> None:
        """A job begins, perhaps for the second time."""

    def tell(self, name: str, fraction: float, words: str) -> None:
        """A job says how far it is, 0 to 1."""

    def lose_job(self, name: str, reason: str) -> None:
        """A job's worker is gone; the job waits again."""

    def end_job(self, outcome: Outcome) -> None:
        """A job is done, has failed or is left out."""

    def note(self, sentence: str) -> None:
        """Something worth knowing."""


class JobLines(JobWatcher):
    """On a terminal a bar for all jobs and one for each that runs; elsewhere a line per event, and
    one with the state of all jobs when nothing was printed for ten seconds."""

    tells_beginnings = True  # where there is no terminal

    def __init__(self, console: Terminal | None = None, clock: Clock = time.monotonic) -> None:
        self.console = console or Terminal(stderr=True)
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[words]}", markup=False, table_column=Column(no_wrap=True)),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.bars: dict[str, TaskID] = {}
        self.fractions: dict[str, float] = {}  # of the jobs that run
        self.states: Counter[str] = Counter()
        self.jobs = self.done_before = 0
        self.clock, self.started = clock, clock()
        self.lines = RegularLines(self.summary, self._line, clock=clock)

    def __enter__(self) -> "JobLines":
        self.progress.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.progress.stop()

    def begin(self, names: Sequence[str], done_before: Sequence[str]) -> None:
        """Start the bar for all."""
        self.jobs, self.done_before = len(names), len(done_before)
        self.states["done"] = self.done_before
        self.started = self.clock()
        self.all = self.progress.add_task(counted(self.jobs, "job"), total=self.jobs, words="")
        if done_before:
            self._line(f"{self.done_before:,} of {counted(self.jobs, 'job')} already done")
        self._draw()

    def label(self, name: str) -> str:
        """What a job is called in what is shown."""
        return name

    def begin_job(self, name: str) -> None:
        """Start a bar."""
        self.fractions[name] = 0.0
        self.bars[name] = self.progress.add_task(
            one_line(self.label(name)), total=1.0, words="started"
        )
        self._draw()
        if self.tells_beginnings and not self.console.is_terminal:
            self._line(f"{self.label(name)} started")

    def tell(self, name: str, fraction: float, words: str) -> None:
        """Move a bar."""
        self.fractions[name] = fraction
        self.progress.update(self.bars[name], completed=fraction, words=one_line(words))
        self._draw()
        if not self.console.is_terminal:
            self.lines.look()

    def lose_job(self, name: str, reason: str) -> None:
        """Remove the bar until the job begins again."""
        self._remove(name)
        self._line(f"{self.label(name)}: {reason}")

    def end_job(self, outcome: Outcome) -> None:
        """Remove the bar; on a terminal a job that is done leaves no line."""
        self.states[outcome.state] += 1
        self._remove(outcome.name)
        if outcome.state != "done" or not self.console.is_terminal:
            self._line(self.told(outcome))

    def told(self, outcome: Outcome) -> str:
        """The line of a job that has come to its end."""
        said = f"{self.label(outcome.name)} {outcome.state}"
        if outcome.state == "done":
            return f"{said} ({outcome.seconds:.1f} s)"
        return f"{said}: {outcome.reason}"

    def note(self, sentence: str) -> None:
        """A line."""
        self._line(sentence)

    def summary(self) -> str:
        """'3 of 20 done, 2 running, 1 failed, 14 waiting, about 4 min left'."""
        waiting = self.jobs - self.states.total() - len(self.fractions)
        counts = {"running": len(self.fractions), **self.states, "waiting": waiting}
        done = f"{counts.pop('done', 0)} of {self.jobs} done"
        parts = [done, *(f"{count} {state}" for state, count in counts.items() if count)]
        ended = self.states.total() - self.done_before + sum(self.fractions.values())
        left = self.jobs - self.done_before - ended
        if ended and left:
            parts.append(f"{about((self.clock() - self.started) * left / ended)} left")
        return ", ".join(parts)

    def _remove(self, name: str) -> None:
        self.fractions.pop(name, None)
        if name in self.bars:  # a job that is left out has none
            self.progress.remove_task(self.bars.pop(name))
        self._draw()

    def _draw(self) -> None:
        ended = self.states.total() + sum(self.fractions.values())
        self.progress.update(self.all, completed=ended, words=self.summary())

    def _line(self, text: str) -> None:
        self.console.say(one_line(text))
        self.lines.restart()
