"""Recurrent states of many texts that begin alike: each beginning is read once.

Erasure asks for hundreds of shortened copies of one text. Copies that agree up to some word have
the same states up to there, so the states form a tree, with one node for each different beginning.
Its levels are steps: all nodes of a level are computed at once, each from its parent.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.interruption import check_interrupted
from heedful.model.recurrence import steps_of

Rows = Int[ndarray, " variants"]
IsKept = Bool[ndarray, "variants tokens"]


@dataclass(frozen=True)
class Beginnings:
    """The different beginnings of some texts, by their length."""

    node: Int[Tensor, "variants width"]  # of each text after each of its words; 0 behind its end
    parents: tuple[Int[Tensor, " _"], ...]  # for each length, where one word less stands
    places: tuple[Int[Tensor, " _"], ...]  # and the last word, as a place in the flattened batch

    @property
    def total(self) -> int:
        """Beginnings of all lengths."""
        return sum(map(len, self.places))


def beginnings(document: Rows, is_kept: IsKept, *, is_backwards: bool = False) -> Beginnings:
    """The beginnings of shortened documents, or their ends, read from the last word backwards."""
    tokens = is_kept.shape[1]
    read = is_kept[:, ::-1] if is_backwards else is_kept
    order = np.argsort(keys_of(document, read), kind="stable")
    read, source = read[order], document[order]
    lengths = read.sum(axis=1)
    # In this order a text shares with the one before it the longest beginning that any other has.
    so_far = np.concatenate([np.zeros((len(read), 1), np.int64), np.cumsum(read, axis=1)], axis=1)
    differs = np.ones((len(read), tokens + 1), dtype=bool)
    differs[1:, :tokens] = read[1:] != read[:-1]
    shared = np.take_along_axis(so_far, differs.argmax(axis=1)[:, None], axis=1)[:, 0]
    shared[1:] *= source[1:] == source[:-1]
    shared[:1] = 0
    steps = np.arange(max(1, int(lengths.max(initial=0))))
    is_new = (steps >= shared[:, None]) & (steps < lengths[:, None])
    number = np.maximum(np.cumsum(is_new, axis=0) - 1, 0)  # within its length
    counts = is_new.sum(axis=0)
    words = np.zeros(is_new.shape, dtype=np.int64)
    row, place = np.nonzero(read)
    words[row, so_far[row, place]] = place
    words = tokens - 1 - words if is_backwards else words
    step, row = np.nonzero(is_new.T)
    parents = np.where(step > 0, number[row, step - 1], 0)
    places = source[row] * tokens + words[row, step]
    node = np.empty_like(number)
    node[order] = np.where(steps < lengths[:, None], number + (np.cumsum(counts) - counts), 0)
    return Beginnings(
        torch.from_numpy(node),
        torch.from_numpy(parents).split(counts.tolist()),
        torch.from_numpy(places).split(counts.tolist()),
    )


def keys_of(document: Rows, is_kept: IsKept) -> ndarray:
    """For each document and set of words, bytes that sort by document and then word by word."""
    packed = np.packbits(is_kept, axis=1)
    numbers = np.ascontiguousarray(document, dtype=np.int64)[:, None].view(np.uint8)
    rows = np.ascontiguousarray(np.concatenate([numbers, packed], axis=1))
    return rows.view(np.dtype((np.void, rows.shape[1]))).ravel()


def states_of(
    layer: nn.Module, products: Float[Tensor, "places gates"], found: Beginnings
) -> Float[Tensor, "nodes hidden"]:
    """The states of a layer after each beginning; `products` are those of the batch's words."""
    steps = steps_of(layer)
    hidden = products.new_zeros(max(1, found.total), steps.hidden_size)
    state = tuple(products.new_zeros(1, steps.hidden_size) for _ in range(steps.parts))
    start = 0
    for parents, places in zip(found.parents, found.places, strict=True):
        check_interrupted()
        state = tuple(part.index_select(0, parents) for part in state)
        steps.advance(products.index_select(0, places), state)
        hidden[start : start + len(places)] = state[0]
        start += len(places)
    return hidden
