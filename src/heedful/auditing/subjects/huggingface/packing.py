"""Texts in pieces read in batches: those of like length together, so that little is padding."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

from heedful.auditing.subjects.huggingface.tokenization import PieceBatch, PieceCutter, Pieces
from heedful.interruption import check_interrupted
from heedful.model.precision import in_parts

POSITIONS_AT_ONCE = {"cpu": 8192, "cuda": 131_072}  # of a forward pass

Rows = Int[ndarray, " batch"]
Result = TypeVar("Result")


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
        most: Callable[[int], int] | None = None,
    ) -> list[Result]:
        """A result per text, in order. `run` sees a batch and the places of its texts; `most` says
        how many texts of a length it takes at once, if not as many as usual."""
        most = most or self._usual

        def padded(rows: Rows) -> list[Result]:
            return run(self.cutter.pad([pieces[row] for row in rows]).to(self.device), rows)

        results: dict[int, Result] = {}
        order = np.argsort([-len(some) for some in pieces], kind="stable")
        while len(order):
            check_interrupted()
            room = most(len(pieces[order[0]]))
            rows_of = np.cumsum([len(pieces[place].windows) for place in order[: max(1, room)]])
            size = max(1, int((rows_of <= room).sum()))
            rows, order = order[:size], order[size:]
            found = [result for part in in_parts(rows, padded, self._note) for result in part]
            results |= dict(zip(rows.tolist(), found, strict=True))
        return [results[place] for place in range(len(pieces))]

    def _usual(self, longest: int) -> int:
        return POSITIONS_AT_ONCE.get(self.device.type, POSITIONS_AT_ONCE["cpu"]) // longest

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
