"""Workers of Ray: on a cluster that is there, or on one that is started here and ended again.

Each job is a Ray task of one core. The folder of the jobs must be one that all machines see, at the
same path; how far a job has come stands in a small file there, so no process is needed to pass it
on. A worker that is gone is reported, and `run.py` decides what then: as with workers of our own.
"""

import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from heedful.errors import ConfigError, EnvironmentFailure
from heedful.jobs.budget import GIB, Budget
from heedful.jobs.engine import Died, Ended, Event, Told
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job, Tell
from heedful.jobs.local import ONE_THREAD
from heedful.jobs.worker import perform

SECONDS_BETWEEN_LOOKS = 0.1  # at what has ended and how far the others are
SECONDS_BETWEEN_WORDS = 0.5  # a file is written each time
SECONDS_TO_ANSWER = 5.0  # for a cluster at an address
OBJECT_STORE = 200 * 2**20  # bytes: jobs write files and send nothing back
TOLD = ".told.json"


class RayWorkers:
    """An engine: jobs as Ray tasks. `budget` is what the cluster has, within what was asked for."""

    def __init__(
        self, address: str | None = None, budget: Budget | None = None, has_gpu: bool = False
    ) -> None:
        self.ray = import_ray()
        self.running: dict[Any, tuple[str, JobFolder]] = {}  # by the reference of a task
        self.told: dict[str, str] = {}  # by job, the last words heard
        budget = budget or Budget()
        self.was_there = bool(self.ray.is_initialized())
        if not self.was_there:
            _connect(self.ray, address, budget)
        try:
            self.budget, self.most_memory, gpus = self._found(budget)
            if has_gpu and not gpus:
                raise ConfigError("Ray finds no GPU in this cluster. Use --device cpu.")
        except BaseException:
            self.stop()
            raise
        share = min(1.0, gpus / (self.budget.cores or 1)) if has_gpu else 0.0
        self.task = self.ray.remote(num_cpus=1, num_gpus=share, max_retries=0)(do)

    def start(self, job: Job, folder: JobFolder) -> None:
        """Give the job to Ray."""
        (folder.path / TOLD).unlink(missing_ok=True)
        memory = int(min(job.memory, self.most_memory) * GIB)  # or it would wait for ever
        task = self.task.options(memory=memory, name=f"heedful {job.name}")
        paths = [path or str(Path.cwd()) for path in sys.path]
        reference = task.remote(pickle.dumps(job), folder, paths, str(Path.cwd()))
        self.running[reference] = (job.name, folder)

    def wait(self) -> list[Event]:
        """What has ended since the last call, and how far the others are."""
        waited = list(self.running)
        # Ray's own waiting turns an exception of a signal handler into one about Ray.
        time.sleep(SECONDS_BETWEEN_LOOKS)
        ended, _ = self.ray.wait(waited, num_returns=len(waited), timeout=0)
        words = [event for reference in waited for event in self._words(reference)]
        return [*words, *map(self._end, ended)]

    def stop(self) -> None:
        """End all tasks at once, and the cluster if it was started here."""
        for reference, (_, folder) in self.running.items():
            with suppress(self.ray.exceptions.RayError):
                self.ray.cancel(reference, force=True)
            (folder.path / TOLD).unlink(missing_ok=True)
        self.running.clear()
        if not self.was_there:
            self.ray.shutdown()

    def _found(self, asked: Budget) -> tuple[Budget, float, float]:
        """Cores and memory of the cluster, the memory of its largest machine, and its GPUs."""
        there = self.ray.cluster_resources()
        machines = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        cores, memory = int(there.get("CPU", 0)), there.get("memory", 0.0) / GIB
        if cores < 1 or not memory:
            raise EnvironmentFailure("the Ray cluster has no free cores or no free memory.")
        budget = Budget(min(asked.cores or cores, cores), min(asked.memory or memory, memory))
        largest = max(machine.get("memory", 0.0) for machine in machines) / GIB
        return budget, largest, float(there.get("GPU", 0.0))

    def _end(self, reference: Any) -> Event:
        name, folder = self.running.pop(reference)
        (folder.path / TOLD).unlink(missing_ok=True)
        failures = self.ray.exceptions
        try:
            return Ended(name, self.ray.get(reference))
        except (failures.RayTaskError, failures.RuntimeEnvSetupError) as error:
            reason = str(error).strip().splitlines()[-1]
            return Ended(name, f"a Ray worker could not start it: {reason}")
        except failures.RayError as error:
            return Died(name, f"died ({type(error).__name__} in Ray)")

    def _words(self, reference: Any) -> Iterator[Told]:
        name, folder = self.running[reference]
        try:
            said = (folder.path / TOLD).read_text()
            if said != self.told.get(name):
                self.told[name] = said
                heard = json.loads(said)
                yield Told(name, heard["fraction"], heard["words"])
        except (OSError, ValueError):
            return  # nothing said yet


def do(pickled: bytes, folder: JobFolder, paths: list[str], place: str) -> str | None:
    """Do a job in a Ray worker: where the caller stands, with what the caller can import."""
    sys.path += [path for path in paths if path not in sys.path]
    with suppress(OSError):  # another machine need not have it
        os.chdir(place)
    return perform(pickled, folder, _teller(folder.path))


def _teller(folder: Path) -> Tell:
    last_words, last_written = "", 0.0

    def tell(fraction: float, words: str) -> None:
        nonlocal last_words, last_written
        now = time.monotonic()
        if words != last_words or now - last_written >= SECONDS_BETWEEN_WORDS:
            said = {"fraction": min(max(float(fraction), 0.0), 1.0), "words": words}
            beside = folder / f"{TOLD}.{os.getpid()}"
            with suppress(OSError):
                beside.write_text(json.dumps({**said, "process": os.getpid()}))
                beside.replace(folder / TOLD)
            last_words, last_written = words, now

    return tell


def import_ray() -> Any:
    """The package, or a sentence about how to get it."""
    # Read when Ray is imported or started: nothing is sent anywhere, and a task that asks for no
    # GPU leaves the choice of device alone.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ConfigError(
            "Ray is not installed. Install it with pip install 'heedful[ray]', or use --on local."
        ) from None
    return ray


def _connect(ray: Any, address: str | None, budget: Budget) -> None:
    """Connect to a cluster, or start one here: no dashboard, quiet, with little shared memory."""
    options: dict[str, Any] = {"address": address}
    if address is None:
        cores, memory = budget.resolved()
        options = {
            "address": "local",
            "num_cpus": cores,
            "_memory": int(memory * GIB),
            "object_store_memory": OBJECT_STORE,
            "include_dashboard": False,
        }
    with _own_signals():
        try:
            _knock(address)
            ray.init(
                **options,
                log_to_driver=False,
                logging_level="error",
                runtime_env={"env_vars": ONE_THREAD},
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            what = f"at {address} could be reached" if address else "could be started here"
            said = str(error).strip().splitlines() or ["no reason given"]
            raise EnvironmentFailure(
                f"no Ray cluster {what} ({said[0].rstrip('.')}). Start one with `ray start "
                "--head`, leave out --address to start one on this machine, or use --on local."
            ) from None


def _knock(address: str | None) -> None:
    """Find out in seconds that nobody answers at an address; Ray takes minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_ANSWER).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep our answers to signals, which Ray replaces when it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, answer in ours.items():
            signal.signal(number, answer)
