"""A job: work with a name, kept in a folder of its own, done once.

Nothing here imports torch, so a worker imports it only when its work does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from heedful.config import above
from heedful.errors import ConfigError, UnknownName, nearest
from heedful.runs import folder_name

Tell = Callable[[float, str], None]  # how far along (0 to 1), and a few words


@dataclass(frozen=True)
class Job:
    """Work to be done in another process: `work(folder, tell, **arguments)`.

    The work writes into its folder. If it is cut off it is called again with the same folder, so it
    should resume from what it finds there. What is `beside` comes as arguments too, but does not
    tell this work from other work: a device, or where the data came from.
    """

    name: str  # unique among the jobs, and harmless as a folder name
    work: Callable[..., None]  # a function that another process can import
    arguments: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()  # jobs that must be done first
    memory: float = 1.0  # GiB that it may need at most
    beside: Mapping[str, Any] = field(default_factory=dict)  # arguments that are not its content
    folder: str = ""  # where it is kept: its name, unless it is said: 'run/audit'

    def __post_init__(self) -> None:
        if folder_name(self.name) != self.name:
            raise ConfigError(
                f"a job has the name of its folder, and {self.name!r} is not a valid folder name. "
                f"Use {folder_name(self.name)!r}."
            )
        if any(folder_name(part) != part for part in self.place.split("/")):
            raise ConfigError(f"job {self.name!r}: {self.folder!r} is not a valid folder name.")
        above(0, **{f"the memory of job {self.name!r}": self.memory})

    @property
    def place(self) -> str:
        """Its folder, within that of all jobs."""
        return self.folder or self.name


@dataclass(frozen=True)
class Outcome:
    """What became of a job."""

    name: str
    state: Literal["done", "failed", "not run"]
    reason: str = ""  # a sentence, unless it is done
    seconds: float = 0.0  # of work, in the call that brought it to its end
    was_done_before: bool = False  # by an earlier call


def check_jobs(jobs: Sequence[Job]) -> None:
    """Refuse jobs that share a name, wait for one that is not there, or for each other."""
    by_name: dict[str, Job] = {}
    for job in jobs:
        if job.name in by_name:
            raise ConfigError(f"two jobs are named {job.name!r}. Give each job its own name.")
        by_name[job.name] = job
    by_place = {job.place: job.name for job in jobs}
    for job in jobs:
        if by_place[job.place] != job.name:
            raise ConfigError(
                f"the jobs {job.name!r} and {by_place[job.place]!r} have the same folder, "
                f"{job.place}. Give each job its own folder."
            )
        for name in job.after:
            if name not in by_name:
                raise UnknownName(
                    f"job {job.name!r} comes after {name!r}, but no job has that name."
                    f"{nearest(name, by_name)}"
                )
    if circle := _circle(by_name):
        raise ConfigError(
            f"these jobs wait for each other, so none could start: {' after '.join(circle)}."
        )


def _circle(jobs: Mapping[str, Job]) -> list[str]:
    """Names that lead back to the first one, or nothing."""
    free: set[str] = set()
    while found := {n for n, job in jobs.items() if n not in free and free.issuperset(job.after)}:
        free |= found
    path = [name for name in jobs if name not in free][:1]
    while path:  # every job that is not free waits for another such job
        name = next(name for name in jobs[path[-1]].after if name not in free)
        if name in path:
            return [*path[path.index(name) :], name]
        path.append(name)
    return []
