"""A paper in, our numbers beside its own out."""

import time
from pathlib import Path

from heedful.jobs.progress import JobWatcher
from heedful.papers.comparing import RUNS, Row, compare, test_claims
from heedful.papers.measures import measures
from heedful.papers.paper import Experiment, Paper
from heedful.papers.record import Reproduction
from heedful.sweeps.sweep import sweep
from heedful.training.trained import environment


def reproduce(
    paper: Paper,
    experiment: Experiment,
    folder: Path,
    *,
    is_quick: bool = False,
    seeds: tuple[int, ...] | None = None,
    data: tuple[str, ...] | None = None,
    on: str = "local",
    cores: int | None = None,
    device: str = "cpu",
    watcher: JobWatcher | None = None,
) -> Reproduction:
    """Run what an experiment needs that has not been run yet in `folder`, and compare."""
    started = time.monotonic()
    plan = experiment.asked(is_quick, seeds, data)
    tables: dict[str, list[Row]] = {}
    if experiment.measure is None:
        swept = sweep(
            plan, folder, on=on, cores=cores, device=device, max_cells=10_000,
            watcher=watcher,
        )  # fmt: skip
        tables[RUNS], states = list(swept.own), dict(swept.states)
        for row in swept.tables:
            tables.setdefault(row["table"], []).append(row)
    else:
        tables[RUNS] = list(measures[experiment.measure](plan))
        states = {"done": len(tables[RUNS])}
    published = paper.published.get(experiment.key, ())
    numbers = compare(tables, published)
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        experiment=experiment.key,
        says=experiment.title,
        numbers=tuple(numbers),
        claims=tuple(test_claims(tables, paper.claims.get(experiment.key, ()))),
        rows=tuple(tables[RUNS]),
        about={
            **environment(),
            "plan": plan,
            "is_quick": is_quick,
            "cells": states,
            "left_out": len(published) - len(numbers),
            "seconds": round(time.monotonic() - started, 1),
        },
    )
