"""The other end of `local.py`: a process that does one job after the other.

It is started with one thread per library (see `local.py`), before anything is imported, and it ends
when its parent does.
"""

import os
import pickle
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection

from heedful.errors import OUT_OF_MEMORY, HeedfulError, is_out_of_memory
from heedful.jobs.engine import Ended, Event, Told
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job, Tell

SECONDS_BETWEEN_LOOKS = 0.5  # at whether the parent still lives
SECONDS_BETWEEN_WORDS = 0.1  # so that a job that tells of every batch floods nobody


def serve(descriptor: int, parent: int) -> None:
    """Do the jobs that come through the pipe until it is closed."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    pipe = Connection(descriptor)
    while True:
        try:
            name, folder, pickled = pipe.recv()
        except (EOFError, OSError):
            return
        _send(pipe, Ended(name, perform(pickled, folder, _teller(pipe, name))))


def perform(pickled: bytes, folder: JobFolder, tell: Tell) -> str | None:
    """Do a job in its folder unless it is done; the sentence of its failure, if it failed."""
    try:
        with folder.held(tell):
            folder.begin()
            if folder.is_done:  # another process was faster
                return None
            with folder.output():
                started = time.monotonic()
                job: Job = pickle.loads(pickled)  # from our own parent, through a pipe
                job.work(folder.path, tell, **job.arguments, **job.beside)
            folder.finish(time.monotonic() - started)
    except HeedfulError as error:
        folder.keep_traceback()
        return str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a failed job must not fail others)
        folder.keep_traceback()
        if is_out_of_memory(error):
            return f"{OUT_OF_MEMORY} Or run fewer at the same time (--cores)."
        return f"unexpected {type(error).__name__}: {error}"
    finally:
        _release_gpu_memory()
    return None


def _release_gpu_memory() -> None:
    """Leave to other workers the GPU memory that PyTorch keeps for a next job, if there is any.

    A GPU that has failed cannot do this either; the job has said so, or the next one will.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        with suppress(RuntimeError):
            torch.cuda.empty_cache()


def _teller(pipe: Connection, name: str) -> Tell:
    last = Told(name, 0.0, "")
    last_sent = 0.0

    def tell(fraction: float, words: str) -> None:
        nonlocal last, last_sent
        now = time.monotonic()
        told = Told(name, min(max(float(fraction), 0.0), 1.0), words)
        if told.words != last.words or now - last_sent >= SECONDS_BETWEEN_WORDS:
            _send(pipe, told)
            last, last_sent = told, now

    return tell


def _send(pipe: Connection, event: Event) -> None:
    try:
        pipe.send(event)
    except OSError:  # nobody listens any more
        os._exit(1)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
