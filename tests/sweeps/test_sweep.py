"""Sweeps in real worker processes: what runs, what is skipped, and the table that is left."""

import os
import signal
import sys
import time
import types
from pathlib import Path

import pytest

import heedful
from heedful import runs, storage
from heedful.errors import ConfigError, RunError, UsageError
from heedful.runs import RunFolder
from heedful.sweeps import plan
from heedful.sweeps.cells import cells_of
from heedful.sweeps.grid import Grid
from heedful.training.trained import Trained
from tests.sweeps.grids import QUICK, QUICK_TOML, Hearing, called, without_times

pytestmark = pytest.mark.workers

TWO = {"cores": 2, "memory": 4.0}


def test_every_cell_is_a_run_and_a_row_and_later_values_only_add_to_them():
    watcher = Hearing()
    grid = {**QUICK, "axes": {"projection": ["softmax"]}, "seeds": [1, 2]}
    audit = {"ask": ["decisive"], "documents": 20}
    first = heedful.sweep({**grid, "audit": audit}, "out", **TWO, watcher=watcher)
    assert len(watcher.begun) == 4
    assert first.states == {"done": 2}
    assert not first.was_done_before

    frame = first.to_frame()
    assert list(frame.columns[:8]) == [
        *("run", "in_grid", "data", "projection", "seed", "state", "error", "dev.documents")
    ]
    assert list(frame.columns[-3:]) == ["train_seconds", "audit_seconds", "analysis_seconds"]
    assert frame["projection"].tolist() == ["softmax", "softmax"]
    assert frame["audit.documents"].tolist() == [20, 20]
    for row in frame.to_dict("records"):
        trained = Trained.load(Path("out", row["run"]))
        assert trained.settings.training.seed == row["seed"]
        assert trained.metrics["test"]["accuracy"] == row["test.accuracy"]
        low, high = trained.metrics["test"]["accuracy_interval"]
        assert (low, high) == (row["test.accuracy_low"], row["test.accuracy_high"])
        assert trained.provenance["data"]["source"] == QUICK["data"]
        (place,) = Path("out", row["run"]).glob("audit-*")
        kept = heedful.Audit.load(place)
        assert kept.verdict == row["verdict"]
        assert kept.answer("decisive").judgement == row["audit.decisive"]
        (test,) = (one for one in kept.answer("decisive").tests if one.name == "permutation")
        assert test.score.value == row["audit.decisive.permutation.value"]
        assert test.score.interval[0] == row["audit.decisive.permutation.low"]
        assert test.judgement == row["audit.decisive.permutation.judgement"]

    before = Path("out/results.parquet").stat().st_mtime_ns
    watcher = Hearing()
    again = heedful.sweep({**grid, "audit": audit}, "out", **TWO, watcher=watcher)
    assert (again.was_done_before, watcher.begun) == (True, [])
    assert Path("out/results.parquet").stat().st_mtime_ns == before

    more = {**grid, "axes": {"projection": ["sparsemax", "softmax"]}, "seeds": [2]}
    third = heedful.sweep(more, "out", **TWO, watcher=watcher)
    assert len(watcher.begun) == 1
    rows = [(row["projection"], row["seed"], row["in_grid"], row["state"]) for row in third.rows]
    assert rows == [
        *(("sparsemax", 2, True, "done"), ("softmax", 2, True, "done")),
        ("softmax", 1, False, "done"),
    ]
    assert third.rows[2]["verdict"] == frame["verdict"][0]


def test_a_cell_that_fails_is_a_row_with_its_sentence_and_is_tried_again():
    grid = {**QUICK, "axes": {"vectors": ["none", "v.txt"]}}
    first = heedful.sweep(grid, "out", **TWO)
    assert first.states == {"done": 1, "failed": 1}
    frame = first.to_frame()
    assert frame["vectors"].isna().tolist() == [True, False]
    assert frame["error"][0] == ""
    assert "v.txt" in frame["error"][1]
    assert frame["test.accuracy"].isna().tolist() == [False, True]

    Path("v.txt").write_text("positiveaaa 1 2\nnegativeaaa 3 4\n")
    watcher = Hearing()
    second = heedful.sweep(grid, "out", **TWO, watcher=watcher)
    assert second.states == {"done": 2}
    assert watcher.begun == [frame["run"][1]]
    assert second.to_frame()["error"].tolist() == ["", ""]


def test_an_audit_that_fails_leaves_the_training_and_a_model_that_pools_is_not_audited():
    grid = {**QUICK, "axes": {"pooling": ["attention", "mean"]}, "audit": {"ask": ["decisive"]}}
    asked = Grid.from_plain(grid)
    assert asked.audit is not None
    place = Path("out") / cells_of(asked)[0].name / asked.audit.folder
    place.mkdir(parents=True)
    RunFolder(place).write_json(runs.REQUEST, {"model": "another"})
    swept = heedful.sweep(grid, "out", **TWO)
    audited, pooled = swept.rows
    assert (audited["state"], pooled["state"]) == ("failed", "done")
    assert audited["error"].startswith("audit: ")
    assert "started with model = another" in audited["error"]
    assert audited["test.accuracy"] > 0
    assert "verdict" not in pooled


def test_a_killed_worker_costs_a_rerun_and_changes_no_number(monkeypatch):
    class Killing(Hearing):
        def tell(self, name: str, fraction: float, words: str) -> None:
            super().tell(name, fraction, words)
            if not self.lost and "epoch 2" in words:
                (child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
                os.kill(int(child), signal.SIGKILL)

    grid = {**QUICK, "training": {"recipe": "standard:epochs=3", "patience": 9}, "seeds": [1, 2]}
    watcher = Killing()
    killed = heedful.sweep(grid, "killed", cores=1, watcher=watcher)
    assert killed.states == {"done": 2}
    assert len(watcher.lost) == 1
    heedful.sweep(grid, "whole", cores=1)
    assert without_times(killed.path).equals(without_times(Path("whole/results.parquet")))


def test_an_audit_in_shares_finds_what_a_whole_one_does(monkeypatch, tmp_path: Path):
    grid = {
        **QUICK,
        "data": "planted:documents=1500",
        "audit": {"ask": ["decisive", "telling"]},
    }
    whole = heedful.sweep(grid, "whole", **TWO)
    monkeypatch.setattr(plan, "DOCUMENTS_PER_SHARE", 60)
    watcher = Hearing()
    shared = heedful.sweep(grid, "shared", **TWO, watcher=watcher)
    name = shared.rows[0]["run"]
    jobs = [name, *(f"{name}-audit-{n}-of-3" for n in (1, 2, 3)), f"{name}-audit"]
    assert sorted(watcher.begun) == sorted(jobs)
    counts = {words for job, words in watcher.told if job == f"{name}-audit-1-of-3"}
    assert any(words.startswith("audited ") for words in counts)
    assert without_times(whole.path).equals(without_times(shared.path))


def test_two_sweeps_may_share_a_folder():
    body = Path("a.toml"), Path("b.toml")
    for path, seeds in zip(body, ([1, 2, 3], [2, 3, 4]), strict=True):
        path.write_text(f"seeds = {seeds}\n{QUICK_TOML}")
    both = [called("sweep", path, "-o", "out", "--cores", "1", "--json", "-q") for path in body]
    for process in both:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    made = sorted(path.name for path in Path("out").iterdir() if path.is_dir())
    assert [name[-5:] for name in made] == ["seed1", "seed2", "seed3", "seed4"]
    for name in made:
        assert Trained.load(Path("out", name)).metrics["test"]["documents"] == 30
    assert not list(Path("out").rglob("*.part"))
    table = without_times(Path("out/results.parquet"))
    assert sorted(table["run"]) == made
    assert (table["state"] == "done").all()
    alone = heedful.sweep({**QUICK, "seeds": [1, 2, 3, 4]}, "out", **TWO)
    assert alone.was_done_before


def test_who_comes_second_begins_at_the_other_end():
    cells = cells_of(Grid.from_plain({**QUICK, "seeds": [1, 2]}))
    Path("out").mkdir()
    watcher = Hearing()
    with storage.locked(Path("out") / runs.SWEEP_LOCK) as is_alone:
        assert is_alone
        heedful.sweep({**QUICK, "seeds": [1, 2]}, "out", cores=1, watcher=watcher)
    assert watcher.begun == [cell.name for cell in reversed(cells)]


@pytest.mark.slow
def test_a_killed_sweep_goes_on():
    Path("g.toml").write_text(f"seeds = {list(range(12))}\n{QUICK_TOML}")
    process = called("sweep", "g.toml", "-o", "out", "--cores", "1")
    while not (done := list(Path("out").glob("*/done.json"))):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    before = {path: path.stat().st_mtime_ns for path in done}
    assert len(before) < 12
    swept = heedful.sweep({**QUICK, "seeds": list(range(12))}, "out", **TWO)
    assert swept.states == {"done": 12}
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_what_cannot_be_asked_is_refused_before_anything_runs(monkeypatch):
    with pytest.raises(UsageError, match=r"no engine named 'rey'\. Did you mean 'ray'\?"):
        heedful.sweep(QUICK, "out", on="rey")
    with pytest.raises(UsageError, match="--address names a Ray cluster"):
        heedful.sweep(QUICK, "out", address="auto")
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.exceptions", types.ModuleType("ray.exceptions"))
    with pytest.raises(UsageError, match="--device is cpu or cuda"):
        heedful.sweep(QUICK, "out", on="ray", device="cuda:1")
    with pytest.raises(ConfigError, match="no device named 'gpu'"):
        heedful.sweep(QUICK, "out", device="gpu")
    with pytest.raises(ConfigError, match="cores should be at least 1, not 0"):
        heedful.sweep(QUICK, "out", cores=0)
    with pytest.raises(ConfigError, match="has 2 cells"):
        heedful.sweep({**QUICK, "seeds": [1, 2]}, "out", max_cells=1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match="Ray is not installed"):
        heedful.sweep(QUICK, "out", on="ray")
    assert not Path("out").exists()
    Path("out").write_text("x")
    with pytest.raises(RunError, match="out is a file"):
        heedful.sweep(QUICK, "out")


def test_a_stopped_sweep_leaves_a_table_of_how_far_it_came(monkeypatch):
    class Stopping(Hearing):
        def begin_job(self, name: str) -> None:
            super().begin_job(name)
            if len(self.begun) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heedful.sweep({**QUICK, "seeds": [1, 2]}, "out", cores=1, watcher=Stopping())
    frame = without_times(Path("out/results.parquet"))
    assert frame["state"].tolist() == ["done", "not run"]
    assert frame["error"].tolist() == ["", ""]
