"""Jobs in, outcomes out: order, dependencies, budget and second tries.

The processes that do the work belong to an engine; this module only says what starts when.
"""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from heedful.jobs.budget import Budget
from heedful.jobs.engine import Died, Ended, Engine, Event, Told
from heedful.jobs.fingerprint import fingerprint
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job, Outcome, check_jobs
from heedful.jobs.local import LocalWorkers
from heedful.jobs.progress import JobWatcher

DEATHS = 2  # of its worker, after which a job counts as failed


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    budget: Budget | None = None,
    watcher: JobWatcher | None = None,
    engine: Engine | None = None,
) -> dict[str, Outcome]:
    """Do all jobs that are not done yet, each in its place in `folder`; what became of each.

    A job that fails leaves out those that come after it; all others continue. Called again after a
    kill it does what is left.
    """
    check_jobs(jobs)
    known: dict[int, str] = {}
    folders = {
        job.name: JobFolder(folder.absolute() / job.place, fingerprint(job, known)) for job in jobs
    }
    for place in folders.values():
        place.check()
    cores, memory = (budget or Budget()).resolved()
    schedule = _Schedule(jobs, folders, cores, memory, watcher or JobWatcher())
    engine = engine or LocalWorkers()
    try:
        schedule.run(engine)
    finally:
        engine.stop()
    return {job.name: schedule.outcomes[job.name] for job in jobs}


class _Schedule:
    """Which jobs wait, which run, and what became of the others."""

    def __init__(
        self,
        jobs: Sequence[Job],
        folders: dict[str, JobFolder],
        cores: int,
        memory: float,
        watcher: JobWatcher,
    ) -> None:
        self.jobs = {job.name: job for job in jobs}
        self.folders = folders
        self.cores = cores
        self.memory = memory
        self.watcher = watcher
        self.started: dict[str, float] = {}  # of the jobs that run
        self.deaths: Counter[str] = Counter()
        self.outcomes: dict[str, Outcome] = {
            name: Outcome(name, "done", seconds=place.seconds, was_done_before=True)
            for name, place in folders.items()
            if place.is_done
        }

    def run(self, engine: Engine) -> None:
        """Until every job has an outcome."""
        self.watcher.begin(list(self.jobs), list(self.outcomes))
        while len(self.outcomes) < len(self.jobs):
            while job := self._next():
                self.started[job.name] = time.monotonic()
                self.watcher.begin_job(job.name)
                engine.start(job, self.folders[job.name])
            for event in engine.wait() if self.started else ():
                self._hear(event)

    def _next(self) -> Job | None:
        """The first job in the given order that is ready, if there is room for it.

        No smaller one overtakes it: it might never find room.
        """
        ready = (job for job in self._waiting() if self.outcomes.keys() >= set(job.after))
        job = next(ready, None)
        if job is None or len(self.started) >= self.cores:
            return None
        taken = sum(self.jobs[name].memory for name in self.started)
        if self.started and taken + job.memory > self.memory + 1e-9:
            return None
        if job.memory > self.memory:
            self.watcher.note(
                f"{job.name} may need {job.memory:.3g} GiB, more than the {self.memory:.3g} GiB "
                "available to all jobs, so it runs alone."
            )
        return job

    def _waiting(self) -> list[Job]:
        return [
            job
            for name, job in self.jobs.items()
            if name not in self.outcomes and name not in self.started
        ]

    def _hear(self, event: Event) -> None:
        if isinstance(event, Told):
            self.watcher.tell(event.name, event.fraction, event.words)
            return
        seconds = time.monotonic() - self.started.pop(event.name)
        if isinstance(event, Died) and not self.folders[event.name].is_done:
            self._lose(event, seconds)
        elif isinstance(event, Ended) and event.failure is not None:
            self._end(Outcome(event.name, "failed", event.failure, seconds))
        else:
            self._end(Outcome(event.name, "done", seconds=seconds))

    def _lose(self, event: Died, seconds: float) -> None:
        """Once may be bad luck; twice is the job's own doing."""
        self.deaths[event.name] += 1
        if self.deaths[event.name] < DEATHS:
            self.watcher.lose_job(event.name, f"its worker {event.how}; the job is restarted")
            return
        sentence = (
            f"its worker {event.how} on the second attempt. If memory ran out, run fewer jobs at "
            "once or a smaller one."
        )
        self._end(Outcome(event.name, "failed", sentence, seconds))

    def _end(self, outcome: Outcome) -> None:
        self.outcomes[outcome.name] = outcome
        self.watcher.end_job(outcome)
        if outcome.state == "done":
            return
        reason = f"{outcome.name} failed" if outcome.state == "failed" else outcome.reason
        for job in self._waiting():
            if outcome.name in job.after and job.name not in self.outcomes:
                self._end(Outcome(job.name, "not run", reason))
