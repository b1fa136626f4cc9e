"""A grid in, run folders and one table out; called again, it does what is left."""

import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful import runs, storage
from heedful.errors import RunError, UsageError, nearest
from heedful.jobs.budget import Budget
from heedful.jobs.engine import Engine
from heedful.jobs.folder import DONE
from heedful.jobs.job import Outcome
from heedful.jobs.local import LocalWorkers
from heedful.jobs.progress import JobWatcher
from heedful.jobs.ray_workers import RayWorkers, import_ray
from heedful.jobs.scheduler import run_jobs
from heedful.runs import RunFolder
from heedful.storage import make_folder
from heedful.sweeps.cells import Cell, cells_of
from heedful.sweeps.grid import Grid
from heedful.sweeps.plan import Plan, label_of
from heedful.sweeps.progress import SweepLines
from heedful.sweeps.results import TIMES, Row, rows_of, tables_of, write_rows
from heedful.training.trained import choose_device

if TYPE_CHECKING:
    from pandas import DataFrame

ENGINES = ("local", "ray")
MOST_CELLS = 500


@dataclass(frozen=True)
class Sweep:
    """What became of a grid."""

    folder: Path
    rows: list[Row]  # one per cell; those of the grid first, in its order
    tables: list[Row]  # those of every analysis, and what audits lean on, by `table`
    was_done_before: bool  # nothing was left to do

    @property
    def path(self) -> Path:
        """Where the table stands."""
        return self.folder / runs.RESULTS

    @cached_property
    def own(self) -> list[Row]:
        """The rows of this grid."""
        return [row for row in self.rows if row["in_grid"]]

    @property
    def states(self) -> Counter[str]:
        """How many cells of the grid are done, failed or not run."""
        return Counter(row["state"] for row in self.own)

    def to_frame(self) -> "DataFrame":
        """The table as it stands in results.parquet."""
        import pandas

        # From memory: a path with a colon in it would be taken for an address.
        return pandas.read_parquet(io.BytesIO(self.path.read_bytes()))


def sweep(
    grid: str | Path | Mapping[str, Any] | Grid,
    output: str | Path,
    *,
    on: str = "local",
    address: str | None = None,
    cores: int | None = None,
    memory: float | None = None,
    max_cells: int = MOST_CELLS,
    device: str = "cpu",
    data_dir: str | Path | None = None,
    watcher: JobWatcher | None = None,
) -> Sweep:
    """Train (and audit) every cell of a grid that is not done yet; each is a run in `output`.

    `grid` is a TOML file, the same as a mapping, or a `Grid`. Cells run in processes of this
    machine (`on="local"`) or of Ray (`on="ray"`, on the cluster at `address` or one started here),
    at most `cores` at once and within `memory` GiB. A cell that fails is a row that says why.
    """
    device = checked_device(on, address, device)
    grid = _as_grid(grid)
    grid.check_size(max_cells)
    cells = cells_of(grid, None if data_dir is None else Path(data_dir))
    return sweep_cells(
        cells, output, on=on, address=address, cores=cores, memory=memory, device=device,
        watcher=watcher,
    )  # fmt: skip


def sweep_cells(
    cells: list[Cell],
    output: str | Path,
    *,
    on: str = "local",
    address: str | None = None,
    cores: int | None = None,
    memory: float | None = None,
    device: str = "cpu",
    watcher: JobWatcher | None = None,
) -> Sweep:
    """Train every cell that is not done yet, and ask of each what it says."""
    device = checked_device(on, address, device)
    budget = Budget(cores, memory)
    folder = _made(Path(output))
    by_cell = Plan(cells, folder, device).jobs()
    if isinstance(watcher, SweepLines):
        watcher.labels = {j.name: label_of(j, cell) for cell, jobs in by_cell for j in jobs}
    is_done = all((folder / job.place / DONE).is_file() for _, jobs in by_cell for job in jobs)
    outcomes: dict[str, Outcome] = {}
    with storage.locked(folder / runs.SWEEP_LOCK) as is_alone:
        # Two sweeps in one order would wait for each other at every cell; so they meet half-way.
        ordered = by_cell if is_alone else by_cell[::-1]
        jobs = [job for _, some in ordered for job in some]
        if is_done:
            engine: Engine = LocalWorkers()  # which starts no process unless there is a job
        else:
            engine, budget = engine_for(on, address, budget, device)
        try:
            outcomes = run_jobs(jobs, folder, budget, None if is_done else watcher, engine)
        finally:
            engine.stop()
            with storage.locked(
                folder / runs.RESULTS_LOCK, lambda: None
            ):  # or old rows might be last
                for name in (runs.RESULTS, runs.ANALYSES):
                    storage.remove_parts_of(folder / name)
                rows = rows_of(folder, by_cell, outcomes)
                write_rows(folder / runs.RESULTS, rows, last=TIMES)
                tables = tables_of(folder, cells)
                if any(cell.analyse for cell in cells):
                    found = [row for row in tables if not row["table"].startswith("audit.")]
                    write_rows(folder / runs.ANALYSES, found)
    return Sweep(folder, rows, tables, is_done)


def checked_device(on: str, address: str | None, device: str) -> str:
    """The device by its name, once the request makes sense."""
    if on not in ENGINES:
        raise UsageError(f"no engine named {on!r}.{nearest(on, ENGINES)} Known: local, ray.")
    if on == "local" and address is not None:
        raise UsageError("--address names a Ray cluster, so it needs --on ray.")
    if on == "local":
        return str(choose_device(device))
    import_ray()
    if device not in ("cpu", "cuda"):
        raise UsageError(
            f"with --on ray, --device is cpu or cuda (Ray chooses which), not {device}."
        )
    return device


def _as_grid(given: str | Path | Mapping[str, Any] | Grid) -> Grid:
    if isinstance(given, Grid):
        return given
    return Grid.from_plain(given) if isinstance(given, Mapping) else Grid.read(Path(given))


def _made(folder: Path) -> Path:
    """The folder, made if it is not there."""
    for place in (folder, *folder.parents):
        if (place.exists() or place.is_symlink()) and not place.is_dir():
            raise RunError(f"{place} is a file. Expected a folder for the sweep.")
    if RunFolder(folder).is_begun:
        raise RunError(f"{folder} is a run folder. Choose another folder for the sweep.")
    make_folder(folder)
    return folder


def engine_for(on: str, address: str | None, budget: Budget, device: str) -> tuple[Engine, Budget]:
    """What runs the jobs, and how much of it there is."""
    if on == "local":
        return LocalWorkers(), budget
    workers = RayWorkers(address, budget, has_gpu=device == "cuda")
    return workers, workers.budget
