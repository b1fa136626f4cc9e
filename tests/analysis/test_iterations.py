import math

import pytest

from heedful.analysis.instruments.iterations import Iterations, ends_of_phases
from heedful.errors import DataError


def row(phase, name, epoch, accuracy, is_best, **more):
    return {
        "phase": phase, "name": name, "epoch": epoch, "dev_accuracy": accuracy, "is_best": is_best,
        **more,
    }  # fmt: skip


HISTORY = [
    row(0, "warm start", 1, 0.5, True),
    row(1, "learner 1", 1, 0.6, True, notes={"attention_entropy": 0.9}),
    row(1, "learner 1", 2, 0.55, False, notes={"attention_entropy": 0.8}),
    row(2, "compressor 1", 1, 0.61, True, notes={"attention_entropy": 0.7}),
    row(3, "learner 2", 1, 0.7, True),
    row(4, "compressor 2", 1, 0.65, False),
    row(4, "compressor 2", 2, 0.66, False),
]


def test_a_phase_ends_with_its_best_epoch_or_else_its_last():
    ends = ends_of_phases(HISTORY)
    assert [(e["iteration"], e["role"], e["epoch"], e["dev_accuracy"]) for e in ends] == [
        (1, "learner", 2, 0.6),
        (1, "compressor", 4, 0.61),
        (2, "learner", 5, 0.7),
        (2, "compressor", 7, 0.66),
    ]
    assert ends[0]["attention_entropy"] == 0.9
    assert math.isnan(ends[2]["attention_entropy"])


def test_every_epoch_of_a_turn_is_in_the_rows():
    found = Iterations().analyse(HISTORY)
    assert found.rows["epoch"] == [2, 3, 4, 5, 6, 7]
    assert [row["epoch"] for row in found.summary] == [2, 4, 5, 7]


@pytest.mark.parametrize(
    "history", [[], [{"epoch": 1}], [{"name": 7}], [row(0, "x", 1, 0.5, True)]]
)
def test_a_run_without_turns_is_answered_in_a_sentence(history):
    with pytest.raises(DataError, match="no phase of this run is named learner 1"):
        Iterations().analyse(history)
