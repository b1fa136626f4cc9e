"""How a sweep goes: cells in words, and after each one how many are left and for how long."""

from collections.abc import Mapping

from heedful.jobs.job import Outcome
from heedful.jobs.progress import JobLines
from heedful.terminal import Terminal


class SweepLines(JobLines):
    """As jobs go, with cells named by what is special about them and not by their digests."""

    tells_beginnings = False

    def __init__(self, console: Terminal | None = None) -> None:
        super().__init__(console)
        self.labels: Mapping[str, str] = {}

    def label(self, name: str) -> str:
        """What a person calls a job."""
        return self.labels.get(name, name)

    def told(self, outcome: Outcome) -> str:
        """Where there is no live view, also how many are done and how long the rest takes."""
        beside = "" if self.console.is_terminal else f"; {self.summary()}"
        return super().told(outcome).rstrip("." if beside else "") + beside
