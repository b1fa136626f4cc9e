import io

import pytest
import torch

from heedful.model.build import build_model
from heedful.terminal import Terminal
from heedful.training.evaluate import Scores
from heedful.training.fit import Epoch
from heedful.training.progress import EpochLines
from heedful.training.recipe import Phase
from heedful.training.settings import Settings


class Clock:
    """Shows what it is set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lines(clock: Clock) -> EpochLines:
    console = Terminal(io.StringIO(), is_terminal=False, width=110)
    return EpochLines("", console, clock)


def an_epoch(watcher: EpochLines, clock: Clock, seconds_per_batch: float) -> list[str]:
    """An epoch of twelve batches, and what was written."""
    model = build_model(Settings().model, 10, 2, seed=1)
    phase = Phase(lambda model, batch, rng: torch.zeros(()), learns=[model], epochs=8)
    watcher.begin_epoch(phase, 1, 120)
    for _ in range(12):
        clock.now += seconds_per_batch
        watcher.advance(10)
    watcher.end_epoch(Epoch(0, 2, 0.5, None, False, 12 * seconds_per_batch), model)
    return watcher.console.file.getvalue().splitlines()


def test_a_long_epoch_says_how_far_it_is_where_there_is_no_terminal(clock):
    assert an_epoch(lines(clock), clock, 4.0) == [
        "epoch 2 of at most 8: 30 of 120 documents (25%), about 36 s left",
        "epoch 2 of at most 8: 60 of 120 documents (50%), about 24 s left",
        "epoch 2 of at most 8: 90 of 120 documents (75%), about 12 s left",
        "epoch 2 of at most 8: 120 of 120 documents (100%), about 0 s left",
        "epoch 2: loss 0.500 (48.0 s)",
    ]


def test_a_short_epoch_is_one_line(clock):
    assert an_epoch(lines(clock), clock, 0.5) == ["epoch 2: loss 0.500 (6.0 s)"]


def test_reading_before_the_first_epoch_is_counted_like_an_epoch(clock):
    watcher = lines(clock)
    watcher.begin_reading(40)
    for _ in range(4):
        clock.now += 5
        watcher.advance(10)
    watcher.end_reading()
    assert watcher.console.file.getvalue().splitlines() == [
        "reading the texts with the frozen encoder: 20 of 40 documents (50%), about 10 s left",
        "reading the texts with the frozen encoder: 40 of 40 documents (100%), about 0 s left",
    ]


def test_a_line_names_every_score_that_chooses_the_best_epoch(clock):
    model = build_model(Settings().model, 10, 2, seed=1)
    phase = Phase(lambda model, batch, rng: torch.zeros(()), learns=[model], epochs=8)
    dev, notes = Scores(50, 0.5, 0.82, (0.7, 0.9), 0.8), {"dev_accuracy_top_words": 0.78}
    watcher = lines(clock)
    watcher.begin_epoch(phase, 0, 120)
    watcher.end_epoch(Epoch(1, 1, 0.5, dev, True, 2.0, notes=notes), model)
    assert watcher.console.file.getvalue().splitlines() == [
        "epoch 1: loss 0.500, dev accuracy 82.0%, from top words 78.0% (2.0 s)  best so far"
    ]
