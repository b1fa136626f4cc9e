from contextlib import contextmanager

import numpy as np
import pytest
import torch

from heedful.model import precision
from heedful.model.precision import Rounded, in_full, in_parts


def test_rows_that_do_not_fit_are_taken_in_halves_and_stay_in_order():
    told = []

    def run(rows):
        if len(rows) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return rows

    parts = in_parts(np.arange(10), run, told.append)
    assert max(map(len, parts)) <= 3
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(10))
    assert "memory was low" in told[0]


def test_what_fits_is_taken_at_once_without_a_word():
    told = []
    (whole,) = in_parts(np.arange(4), lambda rows: rows, told.append)
    assert len(whole) == 4
    assert told == []


@pytest.mark.parametrize(
    ("error", "rows"), [(RuntimeError("a bug"), 4), (torch.OutOfMemoryError("out of memory"), 1)]
)
def test_other_errors_and_a_single_row_that_does_not_fit_are_not_hidden(error, rows):
    def run(_):
        raise error

    with pytest.raises(RuntimeError, match=str(error)):
        in_parts(np.arange(rows), run)


@pytest.fixture
def rounding(monkeypatch):
    """bf16 as far as a machine without a GPU can tell: whether it is switched on."""
    switched = {"on": False}

    @contextmanager
    def autocast(device, dtype, enabled=True):
        before, switched["on"] = switched["on"], enabled
        yield
        switched["on"] = before

    monkeypatch.setattr(precision.torch, "autocast", autocast)
    return switched


@pytest.mark.parametrize(("error", "is_used"), [(1e-4, True), (0.1, False)])
def test_bf16_is_used_where_it_changes_next_to_nothing(rounding, error, is_used):
    def run(rows):
        share = 0.5 + error * rounding["on"]
        return np.tile([share, 1 - share], (len(rows), 1))

    rounded = Rounded(is_wanted=True)
    found = rounded.read(run, 200)
    assert found.shape == (200, 2)
    assert (found[0, 0] > 0.5) == is_used
    rounded.read(run, 10)
    assert len(rounded.notes) == 1  # it was looked at once
    assert ("read in bf16" in rounded.notes[0]) == is_used


def test_bf16_is_never_used_where_it_is_not_wanted(rounding):
    rounded = Rounded(is_wanted=False)
    assert not rounded.read(lambda rows: np.full((len(rows), 2), float(rounding["on"])), 3).any()
    assert rounded.notes == []


def test_full_precision_leaves_settings_as_they_were():
    before = torch.get_float32_matmul_precision()
    with in_full():
        pass
    assert torch.get_float32_matmul_precision() == before
