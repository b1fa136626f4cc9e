"""Jobs in real worker processes: kills, failures, signals, and what stands on disk afterwards."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest

from heedful.errors import OUT_OF_MEMORY, RunError
from heedful.jobs.budget import Budget
from heedful.jobs.fingerprint import fingerprint
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job
from heedful.jobs.progress import JobWatcher
from heedful.jobs.scheduler import run_jobs
from heedful.jobs.worker import perform
from tests.jobs import works

pytestmark = pytest.mark.workers

ONE, TWO = Budget(1, 4.0), Budget(2, 4.0)


def times_run(folder: Path) -> int:
    return len((folder / "runs").read_text().split())


def states(outcomes):
    return {name: outcome.state for name, outcome in outcomes.items()}


def lives(pid: int) -> bool:
    """Whether a process still does anything; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(is_so) -> None:
    for _ in range(3000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("waited for 30 seconds in vain")


def test_what_is_done_is_not_done_again_and_other_work_is_refused(tmp_path: Path):
    def todo(text):
        return [
            Job("base", works.write, {"text": text}),
            Job("next", works.copy_from, {"other": tmp_path / "base"}, after=("base",)),
        ]

    first = run_jobs(todo("hello"), tmp_path, TWO)
    assert (tmp_path / "next" / "text").read_text() == "hello!"
    assert not any(outcome.was_done_before for outcome in first.values())

    again = run_jobs(todo("hello"), tmp_path, TWO)
    assert states(again) == {"base": "done", "next": "done"}
    assert all(outcome.was_done_before for outcome in again.values())
    kept = json.loads((tmp_path / "base" / "done.json").read_text())
    assert again["base"].seconds == kept["seconds"]
    assert times_run(tmp_path / "base") == 1

    for name in ("done.json", "job.json"):  # also when it was only begun
        with pytest.raises(
            RunError, match=r"base contains another job: .* another 'text'\. Choose"
        ):
            run_jobs(todo("goodbye"), tmp_path, TWO)
        (tmp_path / "base" / name).unlink()
    with pytest.raises(
        RunError, match=r"contains another job: tests\S+copy_from, not tests\S+write"
    ):
        run_jobs([Job("next", works.write)], tmp_path, TWO)
    assert (tmp_path / "base" / "text").read_text() == "hello"


def test_what_stands_beside_is_given_to_the_work_and_is_not_what_tells_it(tmp_path: Path):
    first = run_jobs([Job("a", works.write, beside={"text": "one"})], tmp_path, ONE)
    again = run_jobs([Job("a", works.write, beside={"text": "two"})], tmp_path, ONE)
    assert (first["a"].was_done_before, again["a"].was_done_before) == (False, True)
    assert (tmp_path / "a" / "text").read_text() == "one"


def test_workers_are_reused_processes_with_one_thread_that_import_what_they_need(tmp_path: Path):
    todo = [Job(name, works.describe_process) for name in "abc"]
    run_jobs(todo, tmp_path, ONE)
    first, *others = (json.loads((tmp_path / job.name / "facts").read_text()) for job in todo)
    assert others == [first, first]
    pid = first.pop("pid")
    assert first == {
        "parent": os.getpid(),
        "has_torch": False,
        "threads": "1",
        "heeds_ctrl_c": False,
    }
    assert not lives(pid)


@pytest.mark.parametrize("work", [works.write, works.stumble])
def test_a_gpu_that_cannot_free_its_memory_hides_nothing(work, tmp_path: Path, monkeypatch):
    def fail() -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    cuda = types.SimpleNamespace(is_initialized=lambda: True, empty_cache=fail)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    job = Job("job", work)
    folder = folder_of(job, tmp_path / "job")
    reason = perform(pickle.dumps(job), folder, lambda fraction, words: None)
    assert reason == (None if work is works.write else "unexpected ZeroDivisionError: by zero")


def test_a_failure_is_a_sentence_with_its_traceback_kept(tmp_path: Path, monkeypatch):
    vanished = types.ModuleType("vanished")
    exec("def work(folder, tell): pass", vanished.__dict__)
    monkeypatch.setitem(sys.modules, "vanished", vanished)
    todo = [
        Job("refuse", works.refuse),
        Job("stumble", works.stumble),
        Job("fill", works.fill_memory),
        Job("exit", works.exit_politely),
        Job("vanished", vanished.work),
        Job("after", works.write, after=("stumble",)),
        Job("other", works.write),
    ]
    outcomes = run_jobs(todo, tmp_path, TWO)
    assert {name: (outcome.state, outcome.reason) for name, outcome in outcomes.items()} == {
        "refuse": ("failed", "there is no document to train on."),
        "stumble": ("failed", "unexpected ZeroDivisionError: by zero"),
        "fill": ("failed", f"{OUT_OF_MEMORY} Or run fewer at the same time (--cores)."),
        "exit": ("failed", "unexpected SystemExit: 4"),
        "vanished": ("failed", "unexpected ModuleNotFoundError: No module named 'vanished'"),
        "after": ("not run", "stumble failed"),
        "other": ("done", ""),
    }
    assert "in fill_memory" in (tmp_path / "fill" / "error.txt").read_text()
    assert "in stumble" in (tmp_path / "stumble" / "error.txt").read_text()
    assert "in refuse" in (tmp_path / "refuse" / "error.txt").read_text()
    assert not (tmp_path / "other" / "error.txt").exists()
    assert not (tmp_path / "after").exists()


def test_a_job_that_failed_runs_again_and_its_error_goes_when_it_is_done(tmp_path: Path):
    job = Job("a", works.copy_from, {"other": tmp_path})
    assert states(run_jobs([job], tmp_path, ONE)) == {"a": "failed"}
    assert (tmp_path / "a" / "error.txt").exists()
    (tmp_path / "text").write_text("x")
    assert states(run_jobs([job], tmp_path, ONE)) == {"a": "done"}
    assert not (tmp_path / "a" / "error.txt").exists()


def test_a_killed_worker_costs_its_own_job_one_rerun_and_no_other(tmp_path: Path):
    todo = [
        Job("long", works.wait_for, {"file": tmp_path / "last" / "done.json"}),
        Job("once", works.die, {"times": 1}),
        Job("twice", works.die, {"times": 2}),
        Job("leave", works.leave, {"code": 7}),
        Job("last", works.write),
    ]
    outcomes = run_jobs(todo, tmp_path, TWO)
    assert list(states(outcomes).values()) == ["done", "done", "failed", "failed", "done"]
    assert "its worker was killed by SIGKILL" in outcomes["twice"].reason
    assert "its worker ended with exit code 7" in outcomes["leave"].reason
    assert [times_run(tmp_path / job.name) for job in todo] == [1, 2, 2, 2, 1]


def test_the_watcher_hears_what_jobs_tell(tmp_path: Path):
    class Hearing(JobWatcher):
        told = ()

        def tell(self, name, fraction, words):
            self.told += ((name, fraction, words),)

    watcher = Hearing()
    run_jobs([Job("a", works.tell_all)], tmp_path, ONE, watcher)
    assert watcher.told == (("a", 0.25, "a quarter"), ("a", 0.5, "half"), ("a", 1.0, "too much"))


def test_what_work_prints_is_kept_and_reaches_no_terminal(tmp_path: Path, capfd, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    run_jobs([Job("a", works.talk), Job("b", works.write)], tmp_path, ONE)
    assert (tmp_path / "a" / "output.txt").read_text() == "on standard output\nfrom below\n"
    assert not (tmp_path / "b" / "output.txt").exists()
    assert capfd.readouterr() == ("", "")


PARENT = """
import heedful.cli, heedful.cli.app
from heedful.jobs.budget import Budget
from heedful.jobs.scheduler import run_jobs
from pathlib import Path
from tests.jobs.test_local import interrupted

heedful.cli.app.app = lambda **options: run_jobs(interrupted(), Path("jobs"), Budget(2, 4.0))
heedful.cli.main()
"""


def interrupted() -> list[Job]:
    waits = {"file": Path("go").absolute()}
    return [
        Job("first", works.write),
        Job("a", works.wait_for, waits, after=("first",)),
        Job("b", works.wait_for, waits, after=("first",)),
    ]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_stopped_parent_leaves_no_worker_behind_and_loses_only_work_in_flight(
    tmp_path: Path, number
):
    jobs = tmp_path / "jobs"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    notes = [jobs / name / "runs" for name in "ab"]
    wait_until(lambda: all(note.exists() and note.read_text() for note in notes))
    workers = [int(note.read_text()) for note in notes]
    assert all(map(lives, workers))
    if number == signal.SIGINT:
        os.killpg(parent.pid, number)  # as Ctrl-C does
    else:
        parent.send_signal(number)
    _, said = parent.communicate(timeout=30)
    wait_until(lambda: not any(map(lives, workers)))
    if number == signal.SIGKILL:
        assert (parent.returncode, said) == (-number, "")
    else:
        assert parent.returncode == 3
        assert said.startswith(f"heedful: stopped by {number.name}. What was saved before is")
        assert len(said.splitlines()) == 1

    (tmp_path / "go").touch()
    outcomes = run_jobs(interrupted(), jobs, TWO)
    assert states(outcomes) == {"first": "done", "a": "done", "b": "done"}
    assert [outcome.was_done_before for outcome in outcomes.values()] == [True, False, False]
    assert [times_run(jobs / name) for name in ("first", "a", "b")] == [1, 2, 2]


def folder_of(job: Job, path: Path) -> JobFolder:
    return JobFolder(path, fingerprint(job, {}))


def test_two_processes_never_work_in_the_same_folder(tmp_path: Path):
    folder = folder_of(Job("a", works.write), tmp_path / "a")
    told, order = [], []

    def second():
        with folder.held(lambda fraction, words: told.append(words)):
            order.append("second")

    thread = threading.Thread(target=second)
    with folder.held(lambda fraction, words: None):
        thread.start()
        wait_until(lambda: told)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert told == ["waits for another process that runs this job"]


def test_work_that_another_process_has_done_meanwhile_is_not_done_again(tmp_path: Path):
    folder = folder_of(Job("a", works.write), tmp_path / "a")
    folder.path.mkdir()
    folder.finish(1.0)
    assert perform(b"no pickle at all", folder, lambda fraction, words: None) is None
