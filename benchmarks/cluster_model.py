"""Wall time of an audit on a cluster: measured task times, a check of the scheduler, a forecast.

    OMP_NUM_THREADS=1 python benchmarks/cluster_model.py RUN DATA [--documents 1000] [--sampled 20]
        [--million 10] [--workers 64] [--replay-seconds 40] [--ray]

1. *Task times*: an audit in this process; CPU seconds of every group of documents, of what each
   share does first (documents unpickled, digest, plan) and of putting everything together, each for
   two numbers of documents, so that a constant and a slope are known.
2. *Check*: the same groups as jobs that sleep, done by the real scheduler with 1 and 2 workers, and
   with 2 of which one is killed; beside it what the simulation says. Sleeping needs no processor,
   so other work on the machine does not blur it.
3. *Forecast*: groups drawn from the measured ones. docs/scale.md lists the assumptions.
"""

import argparse
import os
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import cluster_simulation
import machine
import numpy as np
import torch
from cluster_simulation import Costs, Simulated, shares_of, simulate

from heedful.auditing import measuring
from heedful.auditing.questions import AuditSettings
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.auditing.sampling import planned
from heedful.auditing.shares import number_of_shares
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.cli.audit_input import documents_to_audit
from heedful.jobs.budget import Budget
from heedful.jobs.engine import Engine
from heedful.jobs.job import Job
from heedful.jobs.local import LocalWorkers
from heedful.jobs.scheduler import run_jobs
from heedful.training.trained import Trained

SPREAD_OF_SPEED = 0.1  # workers are this much faster or slower than the measured one
SLOW_SHARE, SLOW_BY = 0.05, 2.0  # stragglers
DEATHS_PER_HOUR = 0.05  # of a worker


@dataclass
class Tasks:
    """What was measured, in CPU seconds."""

    seconds: list[float] = field(default_factory=list)  # of each group without sampled documents
    documents: list[int] = field(default_factory=list)
    sampled_seconds: float = 0.0
    sampled_documents: int = 0


def measured_tasks(run: str, data: str, documents: int, sampled: int) -> tuple[Tasks, float]:
    """Groups of an audit in this process, and the seconds after the last of them."""
    trained = Trained.load(run, "cpu")
    found, words = documents_to_audit(data, None, None, None)
    settings = AuditSettings(
        rationale_words=words, sampled_documents=sampled, replaced_documents=min(sampled, 100)
    )
    plan = AuditPlan(settings, None, documents)
    prepared = prepare_audit(ClassifierSubject(trained), trained.with_own_labels(found), plan)
    tasks, usual = Tasks(), measuring._measure_group

    def timed(audit, group, number):
        started = time.process_time()
        part = usual(audit, group, number)
        spent = time.process_time() - started
        if audit.sampled.of(group).is_costly.any():
            tasks.sampled_seconds += spent
            tasks.sampled_documents += len(group)
        else:
            tasks.seconds.append(spent)
            tasks.documents.append(len(group))
        return part

    measuring._measure_group = timed
    started = time.process_time()
    try:
        result = prepared.run()
    finally:
        measuring._measure_group = usual
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "audit")
        result.to_html(Path(folder) / "report.html")
    all_seconds = time.process_time() - started
    return tasks, all_seconds - sum(tasks.seconds) - tasks.sampled_seconds


def loading(run: str, data: str, documents: int) -> float:
    """What a share of an audit of this many documents does before its first group."""
    trained = Trained.load(run, "cpu")
    found, words = documents_to_audit(data, None, None, None)
    found = trained.with_own_labels(found).take(range(documents))
    settings = AuditSettings(rationale_words=words)
    given = pickle.dumps(found)
    started = time.process_time()
    trained = Trained.load(run, "cpu")
    plan = AuditPlan(settings, None, None, include_trained=True)
    asked = prepare_audit(ClassifierSubject(trained), pickle.loads(given), plan)
    with tempfile.TemporaryDirectory() as folder:
        asked.kept_in(Path(folder))
        sampled = measuring.Sampled(asked.chosen.documents, settings)
        for wave in planned(asked.chosen.documents, settings, None):
            sampled.add(wave)
    return time.process_time() - started


def line_through(few: tuple[int, float], many: tuple[int, float]) -> tuple[float, float]:
    """A constant and a slope; neither is below 0."""
    slope = max(0.0, (many[1] - few[1]) / (many[0] - few[0]))
    return max(0.0, few[1] - slope * few[0]), slope


def replayed(
    shares: Sequence[Sequence[float]], load: float, engine: Engine, workers: int, *, kills: bool
) -> float:
    """Seconds that the real scheduler takes for shares that only sleep."""
    jobs = [
        Job(f"share-{number}", cluster_simulation.replayed, {"load": load, "groups": list(groups)})
        for number, groups in enumerate(shares)
    ]
    total = load * len(jobs) + sum(map(sum, shares))
    killer = threading.Timer(total / workers / 2, _kill_first, [engine])
    started = time.monotonic()
    if kills:
        killer.start()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = run_jobs(jobs, Path(folder), Budget(cores=workers), engine=engine)
    killer.cancel()
    assert {outcome.state for outcome in outcomes.values()} == {"done"}
    return time.monotonic() - started


def _kill_first(engine: Engine) -> None:
    assert isinstance(engine, LocalWorkers)
    os.kill(engine.workers[0].process.pid, signal.SIGKILL)


def check(tasks: Tasks, total: float, with_ray: bool) -> None:
    """The table of the real scheduler beside the simulation."""
    scale = total / sum(tasks.seconds)
    groups = [seconds * scale for seconds in tasks.seconds]
    shares, load = shares_of(groups, 5), 0.5
    print("\n| workers | the scheduler, s | simulated, s | difference |\n|---|---|---|---|")
    once = simulate([[0.0]], 1).seconds + replayed([[0.0]], 0.0, LocalWorkers(), 1, kills=False)
    rows: list[tuple[str, Engine, int, bool]] = [
        ("1", LocalWorkers(), 1, False),
        ("2", LocalWorkers(), 2, False),
        ("2, one killed half way", LocalWorkers(), 2, True),
    ]
    if with_ray:
        from heedful.jobs.ray_workers import RayWorkers

        rows.append(("2 on Ray", RayWorkers(None, Budget(cores=2)), 2, False))
    for name, engine, workers, kills in rows:
        found = replayed(shares, load, engine, workers, kills=kills)
        death = {0: [(sum(groups) + load * len(shares)) / workers / 2]} if kills else {}
        expected = simulate(shares, workers, once, load, deaths=death).seconds
        print(
            f"| {name} | {found:.1f} | {expected:.1f} | {found / expected - 1:+.1%} |", flush=True
        )
    print(f"\nstart of a worker: {once:.2f} s")


def forecast(tasks: Tasks, costs: Costs, documents: int, workers: int, seed: int) -> Simulated:
    """Groups drawn from the measured ones, on machines that differ, fail and are late."""
    rng = np.random.default_rng(seed)
    mean = float(np.mean(tasks.documents))
    drawn = rng.choice(tasks.seconds, round(documents / mean))
    # The sampled documents come first, in groups of their own.
    first = round(tasks.sampled_documents / mean)
    drawn[:first] = tasks.sampled_seconds / max(first, 1)
    pace = rng.normal(1, SPREAD_OF_SPEED, workers).clip(0.7, 1.3)
    pace[rng.random(workers) < SLOW_SHARE] *= SLOW_BY
    shares = shares_of(drawn.tolist(), number_of_shares(documents, workers))
    load = costs.loading(documents)
    horizon = 4 * (drawn.sum() + load * len(shares)) / workers
    count = rng.poisson(DEATHS_PER_HOUR * horizon / 3600, workers)
    deaths = {w: rng.uniform(0, horizon, n).tolist() for w, n in enumerate(count.tolist())}
    slowness = dict(enumerate(pace.tolist()))
    return simulate(shares, workers, costs.start, load, deaths=deaths, slowness=slowness)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("data")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--sampled", type=int, default=20)
    parser.add_argument("--sample-seconds", type=float, help="of 300 sampled documents, if known")
    parser.add_argument("--merge", type=float, nargs=2, help="of putting together, if known from a "
                        "larger audit: seconds, and seconds for each document")  # fmt: skip
    parser.add_argument("--million", type=float, nargs="+", default=[0.025, 1, 10])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 64])
    parser.add_argument("--replay-seconds", type=float, default=40)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--start", type=float, default=10.0, help="seconds until a worker is ready")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    half = options.documents // 2
    _, few = measured_tasks(options.run, options.data, half, options.sampled)
    tasks, many = measured_tasks(options.run, options.data, options.documents, options.sampled)
    merge = line_through((half, few), (options.documents, many))
    sizes = (options.documents, 10 * options.documents)
    load = line_through(*((size, loading(options.run, options.data, size)) for size in sizes))
    costs = Costs(options.start, *load, *(options.merge or merge))
    each = sum(tasks.seconds) / sum(tasks.documents)
    print(f"\n{1e3 * each:.2f} ms a document beyond the sample; {costs}")
    check(tasks, options.replay_seconds, options.ray)
    if options.sample_seconds is not None:
        tasks = replace(tasks, sampled_seconds=options.sample_seconds, sampled_documents=300)
    print("\n| documents | workers | measured, min | merged, min | share of the work |")
    print("|---|---|---|---|---|")
    for million in options.million:
        documents = round(1e6 * million)
        for workers in options.workers:
            runs = [forecast(tasks, costs, documents, workers, seed) for seed in range(3)]
            seconds = [run.seconds / 60 for run in runs]
            useful = each * documents + tasks.sampled_seconds
            share = useful / (np.mean(seconds) * 60 * workers)
            print(
                f"| {documents:,} | {workers} | {min(seconds):.1f} to {max(seconds):.1f} | "
                f"{costs.merging(documents) / 60:.1f} | {share:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
