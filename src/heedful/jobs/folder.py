"""Where a job's work is kept, and how one tells that it is done.

    job.json    the fingerprint of the work, written when it begins
    done.json   the same with the seconds it took, written last: with it the job is done
    error.txt   the traceback of a job that failed
    output.txt  what the work printed, if anything
    .lock       there while a process works here, which holds it

The work itself writes whatever else it likes.
"""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from heedful import storage
from heedful.errors import EnvironmentFailure, RunError
from heedful.jobs.fingerprint import Fingerprint
from heedful.jobs.job import Tell
from heedful.runs import RunFolder
from heedful.storage import environment_failures, write_atomically

JOB = "job.json"
DONE = "done.json"
ERROR = "error.txt"
OUTPUT = "output.txt"


@dataclass(frozen=True)
class Done:
    """What is kept of a job that was begun or done."""

    fingerprint: Fingerprint
    seconds: float = 0.0

    @classmethod
    def read(cls, folder: RunFolder, name: str = DONE) -> "Done":
        """What a folder keeps of its job."""
        return folder.read_record(name, cls, advice="Remove the folder to run the job again.")


@dataclass(frozen=True)
class JobFolder:
    """A folder and the fingerprint of the work that belongs there."""

    path: Path
    fingerprint: Fingerprint

    def check(self) -> None:
        """Refuse a folder in which other work was begun or done."""
        if (self.path.exists() or self.path.is_symlink()) and not self.path.is_dir():
            raise RunError(f"{self.path} is a file. Expected a folder for a job.")
        for name in (JOB, DONE):
            if not (self.path / name).is_file():
                continue
            before = Done.read(RunFolder(self.path), name).fingerprint
            if before != self.fingerprint:
                raise RunError(
                    f"{self.path} contains another job{_difference(before, self.fingerprint)}. "
                    "Choose another folder, or remove this one if it is not needed."
                )

    @property
    def is_done(self) -> bool:
        """Whether the work has been done, here or by another process."""
        return (self.path / DONE).is_file()

    @property
    def seconds(self) -> float:
        """How long the work took that is done."""
        return Done.read(RunFolder(self.path)).seconds

    def begin(self) -> None:
        """Say whose folder this is."""
        self.check()
        if not (self.path / JOB).is_file():
            RunFolder(self.path).write_json(JOB, {"fingerprint": asdict(self.fingerprint)})

    def finish(self, seconds: float) -> None:
        """Say that the work is done."""
        (self.path / ERROR).unlink(missing_ok=True)
        facts = {"fingerprint": asdict(self.fingerprint), "seconds": round(seconds, 3)}
        RunFolder(self.path).write_json(DONE, facts)

    def keep_traceback(self) -> None:
        """Write the exception at hand to error.txt."""
        text = traceback.format_exc().encode("utf-8", "backslashreplace")
        with suppress(EnvironmentFailure):  # a full disk may be what went wrong
            write_atomically(self.path / ERROR, text)

    @contextmanager
    def held(self, tell: Tell) -> Iterator[None]:
        """Keep all other processes out; wait for one that is in there.

        A worker whose parent was killed lives on for a moment, and may still be writing.
        """
        with storage.held(
            self.path, lambda: tell(0.0, "waits for another process that runs this job")
        ):
            yield

    @contextmanager
    def output(self) -> Iterator[None]:
        """Send whatever is printed, also by libraries, to output.txt."""
        place = self.path / OUTPUT
        with environment_failures(place):
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        try:
            yield
        finally:
            if not os.fstat(descriptor).st_size:
                place.unlink(missing_ok=True)
            os.close(descriptor)


def _difference(before: Fingerprint, now: Fingerprint) -> str:
    """': …', which part of two fingerprints differs."""
    if before.work != now.work:
        return f": {before.work}, not {now.work}"
    names = {**before.arguments, **now.arguments}
    other = [n for n in names if before.arguments.get(n) != now.arguments.get(n)]
    return f": the same function, but another {' and '.join(map(repr, other))}"
