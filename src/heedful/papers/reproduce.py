"""A paper in, our numbers beside its own out."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.auditing.results import plain
from heedful.jobs.progress import JobWatcher
from heedful.papers.claims import test_claims
from heedful.papers.comparing import compare, points_of
from heedful.papers.measures import Measured, measures
from heedful.papers.paper import Experiment, Paper, with_vectors
from heedful.papers.record import Reproduction
from heedful.papers.rows import RUNS, Row
from heedful.papers.setup import setup_of
from heedful.runs import RunFolder
from heedful.storage import make_folder
from heedful.sweeps.results import TIMES
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
            with_vectors(plan), folder, on=on, cores=cores, device=device, max_cells=10_000,
            watcher=watcher,
        )  # fmt: skip
        tables[RUNS], states = list(swept.own), dict(swept.states)
        for row in swept.tables:
            tables.setdefault(row["table"], []).append(row)
        setup = setup_of(folder, tables[RUNS])
    else:
        measured = _measured(experiment, plan, folder)
        tables[RUNS], setup = list(measured.rows), measured.setup
        states = {"measured": len(tables[RUNS])}
    published = paper.published.get(experiment.key, ())
    numbers = compare(tables, published)
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        experiment=experiment.key,
        says=experiment.title,
        numbers=tuple(numbers),
        claims=tuple(test_claims(tables, paper.claims.get(experiment.key, ()))),
        pictures=tuple(
            (picture, tuple(points))
            for picture in paper.pictures.get(experiment.key, ())
            if (points := points_of(tables, picture))
        ),
        rows=tuple(tables[RUNS]),
        about={
            **environment(),
            "plan": plan,
            "is_quick": is_quick,
            "cells": states,
            **_work(folder, tables[RUNS]),
            "setup": setup,
            "left_out": len(published) - len(numbers),
            "seconds": round(time.monotonic() - started, 1),
        },
    )


@dataclass(frozen=True)
class _Kept:
    """What was measured the last time, and of what."""

    plan: dict[str, Any]
    rows: tuple[dict[str, Any], ...]
    setup: dict[str, dict[str, str]]


def _measured(experiment: Experiment, plan: Mapping[str, Any], folder: Path) -> Measured:
    """What a measurement says, from the last time if that was of the same."""
    kept, name = RunFolder(folder), f"measured-{experiment.key}.json"
    asked = plain(dict(plan))
    if (folder / name).is_file():
        before = kept.read_record(name, _Kept, advice="Remove it to measure again.")
        if before.plan == asked:
            return Measured(list(before.rows), before.setup)
    found = measures[str(experiment.measure)](plan)
    make_folder(folder)
    kept.write_json(name, plain({"plan": asked, "rows": found.rows, "setup": found.setup}))
    return found


def _work(folder: Path, rows: Sequence[Row]) -> dict[str, Any]:
    """Where the runs were trained, and how long that took if one had run after the other."""
    places = [folder / row["run"] for row in rows if row.get("state") == "done"]
    facts = [RunFolder(place).read_json(runs.PROVENANCE) for place in places]
    machines = Counter(
        f"{one.get('device')}, PyTorch {one['versions']['torch']}, Python "
        f"{one['versions']['python']}"
        for one in facts
    )
    spent = sum(float(row.get(name) or 0.0) for row in rows for name in TIMES)
    return {"trained_on": dict(machines), "seconds_of_all_work": round(spent)}
