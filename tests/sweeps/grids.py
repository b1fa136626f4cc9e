"""A small grid that trains in a moment, and the command line in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas
from pandas import DataFrame

from heedful.jobs.progress import JobWatcher
from heedful.sweeps.results import TIMES

QUICK: dict[str, Any] = {
    "data": "planted:documents=300",
    "model": {"encoder": "embedding", "embedding_size": 4, "dropout": 0.0},
    "training": {"recipe": "standard:epochs=1", "optimizer": "adam:learning_rate=0.05"},
}
QUICK_TOML = """
data = "planted:documents=300"
[model]
encoder = "embedding"
embedding_size = 4
dropout = 0.0
[training]
recipe = "standard:epochs=1"
optimizer = "adam:learning_rate=0.05"
"""


def without_times(path: Path) -> DataFrame:
    return pandas.read_parquet(path).drop(columns=list(TIMES))


def called(*arguments: object) -> subprocess.Popen[str]:
    """`heedful` with these arguments, under way."""
    return subprocess.Popen(
        [sys.executable, "-c", "from heedful.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


class Hearing(JobWatcher):
    """Remembers what began and what was lost."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.lost: list[str] = []
        self.told: list[tuple[str, str]] = []

    def begin_job(self, name: str) -> None:
        self.begun.append(name)

    def tell(self, name: str, fraction: float, words: str) -> None:
        self.told.append((name, words))

    def lose_job(self, name: str, reason: str) -> None:
        self.lost.append(name)
