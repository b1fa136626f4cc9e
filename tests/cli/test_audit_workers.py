"""`heedful audit --workers`: what is asked of it, and what goes wrong. What is measured stands in
`tests/auditing/test_workers.py`."""

from pathlib import Path

import pytest

from heedful.cli.workers import judge_place
from heedful.jobs.engine import Ended, Event
from heedful.sweeps import sweep

FEW = ("--ask", "decisive", "--include-trained", "--documents", "70", "-q")


class Failing:
    """An engine whose jobs all fail."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def start(self, job, folder) -> None:
        self.events.append(Ended(job.name, "the disk is full."))

    def wait(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    def stop(self) -> None:
        pass


def test_what_fails_in_a_worker_is_a_sentence(heedful, run, data, monkeypatch):
    monkeypatch.setattr(
        sweep, "engine_for", lambda on, address, budget, device: (Failing(), budget)
    )
    answer = heedful("audit", run, data, *FEW, "-o", "audit", "--workers", "2")
    assert answer.code == 2
    assert "2 shares of 2 could not be measured: the disk is full. What was" in answer.err
    assert "kept in audit: continue with --resume." in answer.err


@pytest.mark.workers
def test_workers_leave_a_finished_audit_and_nothing_else(heedful, run, data):
    answer = heedful("audit", run, data, *FEW, "-o", "audit", "--workers", "2", "--on", "local")
    assert answer.code == 0, answer.err
    left = {path.name for path in Path("audit").iterdir()}
    assert "audit.json" in left
    assert not left & {"parts", "shares"}
    again = heedful("audit", run, data, *FEW, "-o", "audit", "--workers", "2", "--resume")
    assert "is finished already" in again.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--workers", "2"], "workers save what they measure in a folder: name it with -o."),
        (["--on", "local"], "workers save what they measure in a folder: name it with -o."),
        (["--workers", "0", "-o", "a"], "workers should be at least 1, not 0."),
        (["--workers", "2", "-o", "a", "--budget", "5m"], "Use --documents to limit an audit"),
        (["--on", "cloud", "-o", "a"], "no engine named 'cloud'."),
        (["--address", "auto"], "--address names a Ray cluster, so it needs --on ray."),
        (["--workers", "2", "--address", "auto", "-o", "a"], "so it needs --on ray."),
    ],
)
def test_what_does_not_go_together_is_refused(heedful, options, sentence):
    answer = heedful("audit", "run", "data.jsonl", *options)
    assert (answer.code, answer.out) == (2, "")
    assert sentence in " ".join(answer.err.split())


def test_another_process_finds_a_judge_by_its_whole_path():
    assert judge_place("self") == "self"
    assert Path(judge_place("other")).is_absolute()
