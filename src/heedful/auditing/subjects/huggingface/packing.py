"""Texts in pieces read in batches: those of like length together, so that little is padding.

A batch ends where there is no more room, or where its padding would take as long as another pass.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from numpy import ndarray

from heedful.auditing.subjects.huggingface.tokenization import PieceBatch, PieceCutter, Pieces
from heedful.interruption import check_interrupted
from heedful.model.precision import in_parts

POSITIONS_AT_ONCE = {"cpu": 2048, "cuda": 131_072}  # of a forward pass
WITH_GRADIENTS = {"cpu": 2048, "cuda": 16_384}  # of a pass that keeps what its gradient needs
A_PASS = {"cpu": 64, "cuda": 16_384}  # positions that take as long as a pass of nothing

Rows = Int[ndarray, " batch"]
Result = TypeVar("Result")


class Packer:
    """Runs a function over texts, batch by batch."""

    def __init__(self, cutter: PieceCutter, device: torch.device) -> None:
        self.cutter = cutter
        self.device = device
        kind = "cuda" if device.type == "cuda" else "cpu"
        self.at_once, self.with_gradients = POSITIONS_AT_ONCE[kind], WITH_GRADIENTS[kind]
        self._a_pass = A_PASS[kind]
        self.notes: list[str] = []

    def run(
        self,
        pieces: Sequence[Pieces],
        run: Callable[[PieceBatch, Rows], list[Result]],
        most: Callable[[int], int] | None = None,
        passes: int = 1,
    ) -> list[Result]:
        """A result per text, in order. `run` sees a batch and the places of its texts; `most` says
        how many texts of a length it takes at once, if not as many as usual; `passes` how often it
        reads a batch, all copies of it in one pass: then padding is as much dearer."""
        most = most or (lambda longest: self.at_once // longest)

        def padded(rows: Rows) -> list[Result]:
            return run(self.cutter.pad([pieces[row] for row in rows]).to(self.device), rows)

        results: dict[int, Result] = {}
        lengths = np.array([len(some) for some in pieces], dtype=np.int64)
        windows = np.array([len(some.windows) for some in pieces], dtype=np.int64)
        order = np.argsort(-lengths, kind="stable")
        while len(order):
            check_interrupted()
            longest = int(lengths[order[0]])
            room = most(longest)
            next_ones = order[: max(1, room)]
            fits = np.cumsum(windows[next_ones]) <= room
            padding = np.cumsum(windows[next_ones] * (longest - lengths[next_ones]))
            size = max(1, int((fits & (padding * passes <= self._a_pass)).sum()))
            rows, order = order[:size], order[size:]
            found = [result for part in in_parts(rows, padded, self._note) for result in part]
            results |= dict(zip(rows.tolist(), found, strict=True))
        return [results[place] for place in range(len(pieces))]

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
