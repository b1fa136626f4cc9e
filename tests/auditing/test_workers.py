"""An audit measured by workers: the same numbers as one process, whatever happens to a worker."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import heedful
from heedful import runs
from heedful.auditing import checkpoints, measuring
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, PreparedAudit, prepare_audit
from heedful.auditing.shares import Source, clear_shares, measure_in_shares, number_of_shares
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.jobs.budget import Budget
from heedful.jobs.engine import Died, Ended, Event
from heedful.jobs.local import LocalWorkers
from heedful.training.trained import Trained

SETTINGS = AuditSettings(rationale_words=2, sampled_documents=20, replaced_documents=10)
PLAN = AuditPlan(SETTINGS, ["decisive", "telling"], sample=150, include_trained=True)


@pytest.fixture(scope="module")
def run(planted, tmp_path_factory) -> Path:
    classifier = heedful.Classifier(
        encoder="gru:hidden_size=4", embedding_size=4, recipe="standard:epochs=1"
    )
    classifier.fit(planted.train.texts, planted.train.labels)
    place = tmp_path_factory.mktemp("workers") / "run"
    classifier.trained_.save(place)
    return place


@pytest.fixture
def prepared(run, planted) -> Callable[[], PreparedAudit]:
    """The audit as a new process would prepare it."""
    return lambda: prepare_audit(
        ClassifierSubject(Trained.load(run)), planted.train, PLAN, about={"name": "run"}
    )


@pytest.fixture
def whole(prepared) -> Audit:
    return prepared().run()


class InThisProcess:
    """An engine that does jobs here; its first worker dies after the first group."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.deaths = 0

    def start(self, job, folder) -> None:
        folder.path.mkdir(parents=True, exist_ok=True)
        put, kept = checkpoints.PartsInFolder.put, []

        def put_once(parts, group, part) -> None:
            if kept:
                raise InterruptedError
            kept.append(group)
            put(parts, group, part)

        with pytest.MonkeyPatch.context() as patch:
            if not self.deaths:
                patch.setattr(checkpoints.PartsInFolder, "put", put_once)
            try:
                job.work(folder.path, lambda share, words: None, **job.arguments, **job.beside)
            except InterruptedError:
                self.deaths += 1
                self.events.append(Died(job.name, "was killed by SIGKILL"))
                return
        folder.begin()
        folder.finish(1.0)
        self.events.append(Ended(job.name, None))

    def wait(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    def stop(self) -> None:
        pass


def measured_by(engine, prepared, run, folder: Path, monkeypatch) -> Audit:
    """What workers measured, put together; nothing may be left to measure."""
    asked = prepared().kept_in(folder)
    measure_in_shares(
        asked, Source(str(run)), folder, engine=engine, budget=Budget(cores=2, memory=4.0)
    )

    def never(*arguments: object) -> None:
        raise AssertionError("it was measured again")

    with monkeypatch.context() as patch:
        patch.setattr(measuring, "_measure_group", never)
        found = asked.run()
    asked.clear()
    clear_shares(folder)
    return found


def assert_same(one: Audit, other: Audit) -> None:
    assert one.verdict == other.verdict
    for name, column in other.columns.items():
        np.testing.assert_allclose(one.columns[name], column, atol=1e-9, err_msg=name)
    for mine, theirs in zip(one.answers, other.answers, strict=True):
        for test, same in zip(mine.tests, theirs.tests, strict=True):
            assert test.judgement == same.judgement
            ours = (test.score.value, *test.score.interval)
            expected = (same.score.value, *same.score.interval)
            np.testing.assert_allclose(ours, expected, atol=1e-9, err_msg=test.name)


def test_a_worker_that_dies_changes_no_number(prepared, whole, run, tmp_path, monkeypatch):
    engine = InThisProcess()
    found = measured_by(engine, prepared, run, tmp_path, monkeypatch)
    assert engine.deaths == 1
    assert_same(found, whole)
    assert not (tmp_path / runs.PARTS).exists()
    assert not (tmp_path / runs.SHARES).exists()


def test_shares_are_small_but_no_more_than_some_for_each_worker():
    assert [number_of_shares(documents, 2) for documents in (1, 300, 3_000, 10**7)] == [1, 2, 3, 4]
    assert number_of_shares(10**7, 64) == 128


@pytest.mark.workers
def test_two_processes_find_what_one_finds(prepared, whole, run, tmp_path, monkeypatch):
    assert_same(measured_by(LocalWorkers(), prepared, run, tmp_path, monkeypatch), whole)
