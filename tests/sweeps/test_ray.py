"""The same sweep on a real Ray of two workers, one of which is killed."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

import heedful
from tests.sweeps.grids import called, without_times

pytestmark = pytest.mark.workers

pytest.importorskip("ray", reason="Ray is not installed: pip install 'heedful[ray]'")

# Long enough that there is a worker to kill in the middle of a cell.
GRID = """
data = "planted:documents=1000"
seeds = [1, 2]
[model]
encoder = "embedding"
embedding_size = 4
[training]
recipe = "standard:epochs=30"
patience = 30
[axes]
vectors = ["none", "gone.txt"]
[audit]
ask = ["decisive"]
"""


def kill_one_that_trains(folder: Path, process) -> str:
    """Kill the worker of a cell that is past its first epoch; the name of the cell."""
    for _ in range(12_000):
        for told in folder.glob("*/.told.json"):
            said = json.loads(told.read_text()) if told.exists() else {"words": ""}
            if "epoch" in said["words"] and "epoch 1 " not in said["words"]:
                os.kill(said["process"], signal.SIGKILL)
                return told.parent.name
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    raise AssertionError("waited two minutes for a cell to be trained")


def test_ray_with_a_killed_worker_leaves_the_same_table_as_workers_here():
    Path("g.toml").write_text(GRID)
    process = called("sweep", "g.toml", "-o", "ray", "--on", "ray", "--cores", "2", "--memory", "3")
    try:
        killed = kill_one_that_trains(Path("ray"), process)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 1, err  # two cells name a file that is not there
    assert "WorkerCrashedError in Ray); the job is restarted" in err
    assert "4 cells: 2 done, 2 failed" in out
    heedful.sweep("g.toml", "local", cores=2, memory=3.0)
    on_ray = without_times(Path("ray/results.parquet"))
    assert on_ray.equals(without_times(Path("local/results.parquet")))
    assert killed in on_ray["run"][on_ray["state"] == "done"].tolist()
    assert not list(Path("ray").rglob(".told.json*"))
