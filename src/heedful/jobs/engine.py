"""What runs jobs: told to start them, it says what becomes of them.

An engine knows nothing of order, dependencies, budgets or second tries; `run.py` does. There
are two: `local.LocalWorkers` and `ray_workers.RayWorkers`.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job


@dataclass(frozen=True)
class Told:
    """A job says how far it is."""

    name: str
    fraction: float
    words: str


@dataclass(frozen=True)
class Ended:
    """A job came to its end: done, or failed with a sentence."""

    name: str
    failure: str | None


@dataclass(frozen=True)
class Died:
    """The process that did a job is gone, and how: 'was killed by SIGKILL'."""

    name: str
    how: str


Event = Told | Ended | Died


@runtime_checkable
class Engine(Protocol):
    """Processes somewhere that do jobs."""

    def start(self, job: Job, folder: JobFolder) -> None:
        """Start a job and return at once."""

    def wait(self) -> list[Event]:
        """What happened since the last call; may wait a while, and may be nothing."""

    def stop(self) -> None:
        """End all processes at once, whatever they are doing."""
