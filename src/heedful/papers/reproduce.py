"""A paper in, our numbers beside its own out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful import runs
from heedful.auditing.record import plain
from heedful.jobs.progress import JobWatcher
from heedful.papers.comparing import Compared, Row, Tested, Verdict, compare, test_claims
from heedful.papers.measures import measures
from heedful.papers.paper import SOURCES, Experiment, Paper
from heedful.runs import RunFolder
from heedful.sweeps.sweep import sweep
from heedful.training.trained import environment


@dataclass(frozen=True)
class Reproduction:
    """One experiment of a paper, done again."""

    paper: str
    title: str
    experiment: str
    says: str  # the experiment's title
    numbers: tuple[Compared, ...]
    claims: tuple[Tested, ...]
    rows: tuple[Row, ...]  # what was measured, run by run
    about: dict[str, Any]

    def count(self, verdict: Verdict) -> int:
        """How many numbers and claims came out so."""
        found: list[Compared | Tested] = [*self.numbers, *self.claims]
        return sum(one.verdict == verdict for one in found)

    @property
    def sentence(self) -> str:
        """What came of it, in words."""
        judged = [one for one in self.numbers if one.verdict != "cannot be compared"]
        near = sum(one.verdict == "replicates" for one in judged)
        parts = []
        if judged:
            parts.append(f"{near} of {len(judged)} published numbers replicate")
        tested = [one for one in self.claims if one.verdict != "cannot be compared"]
        if tested:
            held = sum(one.verdict == "replicates" for one in tested)
            parts.append(f"{held} of {len(tested)} claims do")
        left = self.count("cannot be compared")
        parts += [f"{left} cannot be compared"] if left else []
        return f"{self.experiment}: {'; '.join(parts) or 'nothing could be compared'}."

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "paper": self.paper,
            "experiment": self.experiment,
            "title": self.says,
            "sentence": self.sentence,
            "numbers": [_number(one) for one in self.numbers],
            "claims": [_claim(one) for one in self.claims],
            "about": self.about,
        }

    def save(self, folder: Path) -> None:
        """Write reproduction.json."""
        with runs.environment_failures(folder):
            folder.mkdir(parents=True, exist_ok=True)
        RunFolder(folder).write_json(runs.REPRODUCTION, plain(self.to_dict()))


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
        rows = [row for row in swept.own if row["state"] == "done"]
        states = dict(swept.states)
    else:
        rows = measures[experiment.measure](plan)
        states = {"done": len(rows)}
    return Reproduction(
        paper=paper.name,
        title=paper.title,
        experiment=experiment.key,
        says=experiment.title,
        numbers=tuple(compare(rows, paper.published.get(experiment.key, ()))),
        claims=tuple(test_claims(rows, paper.claims.get(experiment.key, ()))),
        rows=tuple(rows),
        about={
            **environment(),
            "plan": plan,
            "is_quick": is_quick,
            "cells": states,
            "seconds": round(time.monotonic() - started, 1),
        },
    )


def _number(one: Compared) -> dict[str, Any]:
    return {
        "where": dict(one.where),
        "published": one.published.value,
        "source": SOURCES[one.published.source],
        "tolerance": one.published.tolerance,
        "ours": None if one.ours is None else asdict(one.ours),
        "difference": one.difference,
        "verdict": one.verdict,
        "why": one.why,
    }


def _claim(one: Tested) -> dict[str, Any]:
    wanted: Mapping[str, Any] = {"by": one.claim.by, "spread": one.claim.spread}
    return {
        "says": one.claim.says,
        "where": dict(one.where),
        "wanted": {name: value for name, value in wanted.items() if value},
        "found": None if one.found is None else asdict(one.found),
        "verdict": one.verdict,
        "why": one.why,
    }
