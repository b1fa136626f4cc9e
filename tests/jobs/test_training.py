import json
from pathlib import Path

import pytest
import torch

from heedful import runs
from heedful.errors import RunError
from heedful.jobs.budget import Budget
from heedful.jobs.job import Job
from heedful.jobs.progress import JobWatcher
from heedful.jobs.scheduler import run_jobs
from heedful.jobs.training import Telling, train_run
from heedful.runs import RunFolder
from heedful.training import fit
from heedful.training.recipe import Phase, by_label
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import train
from heedful.training.trained import Trained
from tests.jobs import works

pytestmark = pytest.mark.workers

SETTINGS = Settings().with_(
    encoder="embedding", embedding_size=4, recipe="standard:epochs=3", patience=None
)


@pytest.fixture(scope="module")
def task(planted) -> Task:
    return Task.from_corpus(planted, {})


def weights(path: Path) -> dict[str, torch.Tensor]:
    return Trained.load(path).model.state_dict()


def test_trainings_in_jobs_are_runs_like_any_other(task, tmp_path: Path):
    class Hearing(JobWatcher):
        told = ()

        def tell(self, name, fraction, words):
            self.told += ((fraction, words),)

    watcher = Hearing()
    todo = [
        Job("threads", works.count_torch_threads),
        Job("run", train_run, {"task": task, "settings": SETTINGS}),
    ]
    outcomes = run_jobs(todo, tmp_path / "jobs", Budget(1, 4.0), watcher)
    assert [outcome.state for outcome in outcomes.values()] == ["done", "done"]
    assert (tmp_path / "jobs" / "threads" / "threads").read_text() == "1"
    train(task, SETTINGS, folder=RunFolder.new(tmp_path / "alone"))
    torch.testing.assert_close(
        weights(tmp_path / "jobs" / "run"), weights(tmp_path / "alone"), rtol=0, atol=0
    )
    assert watcher.told[0] == (0.0, "epoch 1 of at most 3")
    assert any(
        words.startswith("epoch 3 of at most 3, dev accuracy ") and fraction >= 2 / 3
        for fraction, words in watcher.told
    )


def test_what_is_told_grows_from_phase_to_phase():
    told = []
    watcher = Telling(lambda fraction, words: told.append(fraction))
    first = Phase(by_label, [], 4, epochs_to_come=6, name="labels only")
    last = Phase(by_label, [], 6)
    for phase, epochs in ((first, 3), (last, 6)):  # the first one ends early
        for epoch in range(epochs):
            watcher.begin_epoch(phase, epoch, documents=10)
            watcher.advance(10)
    assert told == sorted(told)
    assert told[:2] == [0.0, 0.1]
    assert told[6:8] == [pytest.approx(3 / 9), pytest.approx(4 / 9)]
    assert told[-1] == 1.0


def test_a_job_whose_encoder_is_frozen_says_how_much_it_has_read():
    told = []
    watcher = Telling(lambda fraction, words: told.append((fraction, words)))
    watcher.turn_to("base run")
    watcher.begin_reading(40)
    watcher.advance(30)
    words = "base run, reading the texts with the frozen encoder"
    assert told == [(0.0, words), (0.75, words)]


class Killed(Exception):
    """Stands for kill -9."""


def test_a_training_that_was_cut_off_goes_on_where_it_stood(task, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(fit, "SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    train_run(tmp_path / "whole", lambda fraction, words: None, task, SETTINGS)
    heard = []

    def die_in_epoch_3(fraction, words):
        heard.append(words)
        if words.startswith("epoch 3"):
            raise Killed

    with pytest.raises(Killed):
        train_run(tmp_path / "cut", die_in_epoch_3, task, SETTINGS)
    heard.clear()
    train_run(tmp_path / "cut", lambda fraction, words: heard.append(words), task, SETTINGS)
    assert {words.partition(",")[0] for words in heard} == {"epoch 3 of at most 3"}
    torch.testing.assert_close(
        weights(tmp_path / "whole"), weights(tmp_path / "cut"), rtol=0, atol=0
    )


def test_a_finished_run_is_left_alone_and_a_foreign_one_refused(task, tmp_path: Path):
    def never(fraction, words):
        raise AssertionError("it trained")

    train_run(tmp_path, lambda fraction, words: None, task, SETTINGS)
    before = (tmp_path / runs.PROVENANCE).read_bytes()
    train_run(tmp_path, never, task, SETTINGS)
    with pytest.raises(RunError, match=r"was started with seed = 1, not 2"):
        train_run(tmp_path, never, task, SETTINGS.with_(seed=2))
    assert (tmp_path / runs.PROVENANCE).read_bytes() == before
    assert json.loads(before)["seed"] == 1
