"""How exactly numbers are computed, and what to do when memory runs short.

fp32 means fp32 here: on a GPU, cuDNN rounds the inputs of recurrent layers to 10 bits (TF32) unless
it is told not to, which moves probabilities in the fourth decimal place. Only texts that are
changed on purpose, of which there are many, may be read in bf16, and only after a look at what that
changes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

Rows = Int[ndarray, " rows"]
Probabilities = Float[ndarray, "rows classes"]
Result = TypeVar("Result")
Precision = Literal["auto", "fp32"]

SHORT_OF_MEMORY = ("out of memory", "can't allocate memory")  # on a GPU, on a CPU
# How PyTorch and the libraries under it name a GPU that no longer answers.
BROKEN_DEVICE = ("cuda error", "cublas_status", "cudnn_status", "cudnn error", "hip error")
SMALLER_BATCHES = "memory was low, so some texts were read in smaller batches"
CHECKED = 64  # texts that are read both ways
LARGEST_MEAN_ERROR = 2e-3  # of their probabilities, for bf16 to be used


@contextmanager
def in_full() -> Iterator[None]:
    """fp32 without TF32, as on a CPU; whatever was set before comes back."""
    if not torch.cuda.is_available():
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


class Rounded:
    """Reads many changed texts: in bf16, if that was seen to change next to nothing."""

    def __init__(self, is_wanted: bool) -> None:
        self._is_safe: bool | None = None if is_wanted else False  # None: not looked at yet
        self.notes: list[str] = []

    def read(self, run: Callable[[Rows], Probabilities], count: int) -> Probabilities:
        """What `run` finds for rows 0 to `count`."""
        rows = np.arange(count)
        if self._is_safe is None and count:
            self._look(run, rows[:: max(1, count // CHECKED)][:CHECKED])
        with torch.autocast("cuda", torch.bfloat16, enabled=bool(self._is_safe)):
            return run(rows)

    def _look(self, run: Callable[[Rows], Probabilities], some: Rows) -> None:
        exact = run(some)
        with torch.autocast("cuda", torch.bfloat16):
            error = np.abs(run(some) - exact)
        self._is_safe = bool(error.mean() <= LARGEST_MEAN_ERROR)
        used = "bf16" if self._is_safe else "fp32"
        self.notes.append(
            f"shortened texts were read in {used}: on {len(some)} of them bf16 changed "
            f"probabilities by {error.mean():.1g} on average and {error.max():.1g} at most"
        )


def is_short_of_memory(error: Exception) -> bool:
    """Whether memory ran out, on a GPU or a CPU: half of the texts may still fit."""
    is_named = any(words in str(error).lower() for words in SHORT_OF_MEMORY)
    is_said = isinstance(error, RuntimeError) and is_named
    return is_said or isinstance(error, torch.OutOfMemoryError)


def is_broken_device(error: Exception) -> bool:
    """Whether a GPU failed as a whole: whatever is asked of it in this process fails now."""
    is_named = any(words in str(error).lower() for words in BROKEN_DEVICE)
    return isinstance(error, RuntimeError) and is_named and not is_short_of_memory(error)


def in_parts(
    rows: Rows, run: Callable[[Rows], Result], tell: Callable[[str], None] = lambda note: None
) -> list[Result]:
    """What `run` makes of all rows at once; where memory does not suffice, of their halves."""
    try:
        return [run(rows)]
    except RuntimeError as error:
        if len(rows) < 2 or not is_short_of_memory(error):
            raise
    tell(SMALLER_BATCHES)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    half = len(rows) // 2
    return [*in_parts(rows[:half], run, tell), *in_parts(rows[half:], run, tell)]
