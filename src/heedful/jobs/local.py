"""Worker processes on this machine, one pipe each.

A worker does one job after the other, so it imports torch once. Losing one costs its job and no
other: pools of the standard library and of joblib (loky) break as a whole when a worker is killed,
and have no channel for progress. A worker is a Python of its own, not a fork and not
multiprocessing's spawn: it gets its environment before its first import, and never runs the script
or notebook that started it a second time.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path

from heedful.jobs.engine import Died, Ended, Event
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job

SECONDS_BETWEEN_LOOKS = 0.5  # at whether workers still live, should a pipe not say so
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",  # tokenizers
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass
class Worker:
    """A process, our end of its pipe, and the name of the job it does."""

    process: subprocess.Popen[bytes]
    pipe: Connection
    job: str | None = None


class LocalWorkers:
    """An engine: as many worker processes as there are jobs at a time."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []

    def start(self, job: Job, folder: JobFolder) -> None:
        """Give the job to a worker that has none, or to a new one."""
        idle = [worker for worker in self.workers if worker.job is None]
        for worker in idle:
            if worker.process.poll() is None:
                break
            self._dismiss(worker)  # it died with nothing to do, which is no job's fault
        else:
            worker = self._hire()
        worker.job = job.name
        with suppress(OSError):  # it has died; `wait` will say so
            worker.pipe.send((job.name, folder, pickle.dumps(job)))

    def wait(self) -> list[Event]:
        """What the workers said since the last call, and who is gone."""
        busy = [worker for worker in self.workers if worker.job is not None]
        wait([worker.pipe for worker in busy], timeout=SECONDS_BETWEEN_LOOKS)
        return [event for worker in busy for event in self._hear(worker)]

    def stop(self) -> None:
        """Kill all workers: what they keep is written atomically."""
        while self.workers:
            self._dismiss(self.workers[-1])

    def _hear(self, worker: Worker) -> Iterator[Event]:
        is_gone = worker.process.poll() is not None  # asked first: its last words still count
        try:
            while worker.job is not None and worker.pipe.poll():
                event = worker.pipe.recv()
                if isinstance(event, Ended):
                    worker.job = None
                    if event.failure is not None:  # who knows in what state it is
                        self._dismiss(worker)
                yield event
        except (EOFError, OSError):
            is_gone = True
        if is_gone and worker.job is not None:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(timeout=5)
            self._dismiss(worker)
            yield Died(worker.job, _how(worker.process.returncode))

    def _hire(self) -> Worker:
        ours, theirs = Pipe()
        number = theirs.fileno()
        code = f"from heedful.jobs.worker import serve; serve({number}, {os.getpid()})"
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        # Workers inherit the mask: Ctrl-C reaches the whole terminal, but only we answer to it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-u", "-X", "faulthandler", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # standard output is for results
                pass_fds=[number],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": paths},
            )
            self.workers.append(Worker(process, ours))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        return self.workers[-1]

    def _dismiss(self, worker: Worker) -> None:
        worker.process.kill()
        worker.process.wait()
        worker.pipe.close()
        self.workers.remove(worker)


def _how(code: int) -> str:
    """How a process ended, from its return code."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
