import io

import pytest
import torch

from heedful.model.build import build_model
from heedful.terminal import Terminal
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
