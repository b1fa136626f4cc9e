"""Texts in pieces read in batches: those of like length together, so that little is padding."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

from heedful.auditing.transformer_words import PieceBatch, PieceCutter, Pieces

POSITIONS_AT_ONCE = 8192  # of a forward pass
SHORT_OF_MEMORY = ("out of memory", "can't allocate memory")  # on a GPU, on a CPU
SMALLER_BATCHES = "memory ran short, so some texts were read in smaller batches"

Rows = Int[ndarray, " batch"]
Result = TypeVar("Result")


def of_positions(longest: int) -> int:
    """How many texts of that length a forward pass takes."""
    return POSITIONS_AT_ONCE // longest


class Packer:
    """Runs a function over texts, batch by batch."""

    def __init__(self, cutter: PieceCutter, device: torch.device) -> None:
        self.cutter = cutter
        self.device = device
        self.notes: list[str] = []

    def run(
        self,
        pieces: Sequence[Pieces],
        run: Callable[[PieceBatch, Rows], list[Result]],
        most: Callable[[int], int] = of_positions,
    ) -> list[Result]:
        """A result per text, in order. `run` sees a batch and the places of its texts; `most` says
        how many texts of a length it takes at once."""
        results: dict[int, Result] = {}
        order = np.argsort([-len(some) for some in pieces], kind="stable")
        while len(order):
            size = max(1, min(len(order), most(len(pieces[order[0]]))))
            rows, order = order[:size], order[size:]
            found = self._or_halved(pieces, rows, run)
            results |= dict(zip(rows.tolist(), found, strict=True))
        return [results[place] for place in range(len(pieces))]

    def _or_halved(
        self,
        pieces: Sequence[Pieces],
        rows: Rows,
        run: Callable[[PieceBatch, Rows], list[Result]],
    ) -> list[Result]:
        """A batch; where memory does not suffice, its halves."""
        try:
            batch = self.cutter.pad([pieces[row] for row in rows]).to(self.device)
            return run(batch, rows)
        except RuntimeError as error:
            if len(rows) == 1 or not any(words in str(error).lower() for words in SHORT_OF_MEMORY):
                raise
            self.notes += [SMALLER_BATCHES] if SMALLER_BATCHES not in self.notes else []
        half = len(rows) // 2
        parts = (self._or_halved(pieces, part, run) for part in (rows[:half], rows[half:]))
        return [result for part in parts for result in part]
