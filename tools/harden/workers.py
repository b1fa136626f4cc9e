"""Workers of sweeps that start at once: copies of this process, or this process itself."""

import os
import pickle
import signal
import subprocess
from multiprocessing.connection import Pipe

from heedful.jobs import local
from heedful.jobs.engine import Ended, Event
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job
from heedful.jobs.worker import perform, serve

MOST_FILES = 1024


class Copy:
    """A forked worker, seen as `subprocess` shows a process."""

    def __init__(self, descriptor: int) -> None:
        self.returncode: int | None = None
        parent = os.getpid()
        self.process = os.fork()
        if not self.process:
            os.closerange(3, descriptor)  # locks among them, which end with their process
            os.closerange(descriptor + 1, MOST_FILES)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            try:
                serve(descriptor, parent)
            finally:
                os._exit(0)

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._look(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int | None:
        """Its exit code, once it has ended."""
        return self._look(0)

    def kill(self) -> None:
        """As kill -9 does."""
        if self.poll() is None:
            os.kill(self.process, signal.SIGKILL)

    def _look(self, how: int) -> int | None:
        if self.returncode is None:
            done, status = os.waitpid(self.process, how)
            self.returncode = os.waitstatus_to_exitcode(status) if done else None
        return self.returncode


def fork_workers() -> None:
    """From now on, let workers be copies of this process."""

    def hire(self: local.LocalWorkers) -> local.Worker:
        ours, theirs = Pipe()
        copy: subprocess.Popen[bytes] = Copy(theirs.fileno())  # type: ignore[assignment]
        theirs.close()
        self.workers.append(local.Worker(copy, ours))
        return self.workers[-1]

    local.LocalWorkers._hire = hire  # type: ignore[method-assign]


def work_here() -> None:
    """From now on, do all jobs in this process, so that it sees all that is flushed."""
    ended: list[Event] = []

    def begin(self: local.LocalWorkers, job: Job, folder: JobFolder) -> None:
        streams = [os.dup(number) for number in (1, 2)]  # which a job sends elsewhere
        try:
            failure = perform(pickle.dumps(job), folder, lambda fraction, words: None)
            ended.append(Ended(job.name, failure))
        finally:
            for number, stream in enumerate(streams, start=1):
                os.dup2(stream, number)
                os.close(stream)

    def wait(self: local.LocalWorkers) -> list[Event]:
        found = [*ended]
        ended.clear()
        return found

    local.LocalWorkers.start = begin  # type: ignore[method-assign]
    local.LocalWorkers.wait = wait  # type: ignore[method-assign]
