"""A paper in, our numbers beside its own out."""

import time
from collections.abc import Sequence
from pathlib import Path

from heedful.jobs.progress import JobWatcher
from heedful.papers.comparing import Row, compare, test_claims
from heedful.papers.measures import measures
from heedful.papers.paper import Experiment, Paper
from heedful.papers.record import Reproduction
from heedful.sweeps.sweep import sweep
from heedful.training.trained import environment


def reproduce(
    paper: Paper,
    experiment: Experiment,
    output: Path,
    *,
    is_quick: bool = False,
    seeds: tuple[int, ...] | None = None,
    data: tuple[str, ...] | None = None,
    on: str = "local",
    cores: int | None = None,
    device: str = "cpu",
    watcher: JobWatcher | None = None,
) -> Reproduction:
    """Run what an experiment needs that has not been run yet, and compare."""
    started = time.monotonic()
    plan = experiment.asked(is_quick, seeds, data)
    rows: Sequence[Row]
    if experiment.measure is None:
        folder = output / "runs"
        swept = sweep(
            plan, folder, on=on, cores=cores, device=device, max_cells=10_000, watcher=watcher
        )
        rows, states = swept.own, dict(swept.states)
    else:
        rows = measures[experiment.measure](plan)
        states = {"done": len(rows)}
    published = paper.published.get(experiment.key, ())
    numbers = compare(rows, published)
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        experiment=experiment.key,
        says=experiment.title,
        numbers=tuple(numbers),
        claims=tuple(test_claims(rows, paper.claims.get(experiment.key, ()))),
        rows=tuple(rows),
        about={
            **environment(),
            "plan": plan,
            "is_quick": is_quick,
            "cells": states,
            "left_out": len(published) - len(numbers),
            "seconds": round(time.monotonic() - started, 1),
        },
    )
