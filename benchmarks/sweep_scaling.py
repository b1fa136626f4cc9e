"""Wall time of one sweep with one local worker, with two, and on a local Ray of two.

    python benchmarks/sweep_scaling.py [--cells 60] [--documents 4000] [--epochs 10] [--repeats 1]
                                       [--encoder bilstm:hidden_size=64] [--without-ray]

The same cells each time, in fresh folders; the defaults are meant to take more than ten minutes of
CPU on a common machine, and a line says how long they took. Sweeps pay for starting (workers that
import PyTorch; Ray itself) once, so the overhead is given in seconds beside the ratio:

    ratio    = seconds with one worker / seconds
    overhead = seconds - seconds with one worker / workers

Cells that run side by side share caches, memory and the frequency of the processor, so each may
take longer than alone: that is the machine's share of the overhead, and is printed. All must leave
the same table. Needs a machine with two cores that does nothing else.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import machine
from pandas import DataFrame

import heedful
from heedful.sweeps.results import TIMES

ARMS = {"one local worker": ("local", 1), "two local workers": ("local", 2), "Ray, two": ("ray", 2)}


@dataclass(frozen=True)
class Measured:
    """One sweep."""

    seconds: float
    work: float  # seconds that the cells took, together


def grid(cells: int, documents: int, epochs: int, encoder: str) -> dict[str, object]:
    """One encoder on made-up documents: each cell takes about as long as the others."""
    return {
        "data": f"planted:documents={documents}",
        "seeds": list(range(1, cells // 2 + 1)),
        "model": {"encoder": encoder, "embedding_size": 100},
        "training": {"recipe": f"standard:epochs={epochs}", "patience": epochs},
        "axes": {"projection": ["softmax", "sparsemax"]},
    }


def measure(plain: dict[str, object], on: str, workers: int) -> tuple[Measured, DataFrame]:
    """Sweep in a fresh folder; how long it took, and its table."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        swept = heedful.sweep(plain, Path(folder), on=on, cores=workers)
        seconds = time.perf_counter() - started
        frame = swept.to_frame()
    assert set(swept.states) == {"done"}, swept.states
    work = float(frame["train_seconds"].sum())
    return Measured(seconds, work), frame.drop(columns=list(TIMES))


def main() -> None:
    """Print a line per arm and repeat, then ratios and overheads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--encoder", default="bilstm:hidden_size=64")
    parser.add_argument("--without-ray", action="store_true")
    arguments = parser.parse_args()
    plain = grid(arguments.cells, arguments.documents, arguments.epochs, arguments.encoder)
    arms = {arm: of for arm, of in ARMS.items() if of[0] != "ray" or not arguments.without_ray}
    print(machine.describe())
    print(f"{arguments.cells // 2 * 2} cells, {arguments.documents:,} documents each")
    found: dict[str, list[Measured]] = {arm: [] for arm in arms}
    tables = []
    for repeat in range(arguments.repeats):
        for arm, (on, workers) in arms.items():
            measured, table = measure(plain, on, workers)
            found[arm].append(measured)
            tables.append(table)
            print(
                f"repeat {repeat + 1}, {arm}: {measured.seconds:.1f} s, of which the cells worked "
                f"{measured.work:.1f} s ({measured.work / 60:.1f} CPU-minutes)",
                flush=True,
            )
    same = all(table.equals(tables[0]) for table in tables)
    print(f"the tables are {'the same' if same else 'NOT the same'}")
    seconds = {arm: median(measured.seconds for measured in some) for arm, some in found.items()}
    one = seconds["one local worker"]
    alone = median(measured.work for measured in found["one local worker"])
    for arm, (_, workers) in arms.items():
        goal = " (goal: at least 1.70)" if arm == "two local workers" else ""
        overhead = seconds[arm] - one / workers
        slower = median(measured.work for measured in found[arm]) / alone - 1
        print(
            f"{arm}: {one / seconds[arm]:.2f} times as fast as one{goal}; overhead {overhead:.1f} "
            f"s; the cells themselves took {slower:+.0%} of CPU time"
        )


if __name__ == "__main__":
    main()
