"""`heedful sweep`: a grid of settings in, run folders and one table of results out."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import DataDir, Engine, Quiet

if TYPE_CHECKING:
    from heedful.sweeps.results import Row
    from heedful.sweeps.sweep import Sweep

MOST_LINES = 40  # of a table in a terminal; all of it stands in the file


def sweep(
    grid: Annotated[Path, typer.Argument(help="TOML file: data, axes, seeds; see docs/sweep.md.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the runs and results.parquet.")
    ],
    on: Engine = "local",
    address: Annotated[
        str | None,
        typer.Option(help="With --on ray: the cluster's address, or auto. Default: a new one."),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(help="Number of cells that run at the same time. Default: one per core."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(help="Memory limit of all cells together, in GiB. Default: all memory."),
    ] = None,
    max_cells: Annotated[int, typer.Option(help="Maximum number of cells in the grid.")] = 500,
    device: Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1 or auto.")] = "cpu",
    data_dir: DataDir = None,
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train and audit every cell of a grid of settings.

    Run it again to resume: finished cells are skipped, failed cells are retried. Exits with code 1
    if a cell failed.
    """
    from heedful.auditing.results import plain
    from heedful.cli import show
    from heedful.jobs.progress import JobWatcher
    from heedful.sweeps.progress import SweepLines
    from heedful.sweeps.sweep import sweep

    def call(watcher: JobWatcher) -> "Sweep":
        return sweep(
            grid, output, on=on, address=address, cores=cores, memory=memory,
            max_cells=max_cells, device=device, data_dir=data_dir, watcher=watcher,
        )  # fmt: skip

    if quiet:
        swept = call(JobWatcher())
    else:
        with SweepLines() as watcher:
            swept = call(watcher)
    states = swept.states
    if json:
        counts = {state.replace(" ", "_"): states[state] for state in ("done", "failed", "not run")}
        about = {"results": str(swept.path), "was_done_before": swept.was_done_before, **counts}
        show.as_json(plain({**about, "cells": swept.own}))
    else:
        for line in _told(swept, quiet):
            show.result(line)
    if states["done"] < states.total():
        raise typer.Exit(1)


def _told(swept: "Sweep", quiet: bool) -> Iterator[str]:
    """What came of each combination, over its seeds; then where everything stands."""
    from heedful.errors import counted

    states = swept.states
    cells = counted(states.total(), "cell")
    if swept.was_done_before:
        yield f"nothing to do: {cells} already done; results in {swept.path}"
        return
    if not quiet:
        lines = list(_table(swept.own))
        yield from lines[:MOST_LINES]
        if len(lines) > MOST_LINES:
            yield f"… {len(lines) - MOST_LINES:,} more lines"
        yield ""
    others = "".join(f", {states[s]:,} {s}" for s in ("failed", "not run") if states[s])
    again = "; run again to retry the failed cells" if states["failed"] else ""
    yield f"{cells}: {states['done']:,} done{others}{again}; results in {swept.path}"


def _table(rows: "list[Row]") -> Iterator[str]:
    """A line per combination: its values, its mean test accuracy over seeds, its verdicts."""
    about = [name for name in rows[0] if name not in ("run", "in_grid", "seed")]
    about = about[: about.index("state")]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(str(row[name]) for name in about), []).append(row)
    table = [(*about, "cells", "test accuracy", "verdicts")]
    table += [
        (*key, str(len(some)), _accuracy(some), _verdicts(some)) for key, some in groups.items()
    ]
    table = table if any(line[-1] for line in table[1:]) else [line[:-1] for line in table]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(
            f"{word:<{width}}" for word, width in zip(line, widths, strict=True)
        ).rstrip()


def _accuracy(rows: "list[Row]") -> str:
    """'84.1% (83.0% to 85.2%)': mean and range over seeds."""
    from heedful.errors import percent

    part = "test" if any("test.accuracy" in row for row in rows) else "dev"
    known = [row[f"{part}.accuracy"] for row in rows if f"{part}.accuracy" in row]
    if not known:
        return "none" if all(row["state"] == "done" for row in rows) else "failed"
    mean = percent(sum(known) / len(known)) + (" on dev" if part == "dev" else "")
    few = f" ({percent(min(known))} to {percent(max(known))})" if len(known) > 1 else ""
    return mean + few


def _verdicts(rows: "list[Row]") -> str:
    """'2 may, 1 may-not'."""
    from collections import Counter

    verdicts = Counter(row["verdict"] for row in rows if "verdict" in row)
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
