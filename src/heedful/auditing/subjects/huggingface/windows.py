"""Texts that are longer than a model's input: cut, or read in windows.

    pieces ──> windows of them, each between the special pieces at both ends ──> mean of the logits

`cut` reads the beginning, as a pipeline with truncation does. `windows` reads everything: windows
of equal length are spread evenly over the text, and neighbours share about a quarter of their
pieces. The logits of a text are the means of its windows' logits. So are its importances: the
gradient of a mean is the mean of gradients, and sums stay complete. A word's attention is the mean
of what it gets in each window, 0 where it does not stand. Other weights are imposed in each window
as far as they concern its words, relative to each other: attention never crosses a window's end.
"""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.errors import ConfigError

LongTexts = Literal["cut", "windows"]
SHARED = 0.25  # of a window's pieces, at least, that its neighbour has too
FEWEST = 8  # pieces of the text that a window should have room for

Positions = Int[ndarray, " window"]


def windows(spans: Int[ndarray, "positions 2"], most: int | None) -> list[Positions]:
    """The positions of each window; a text that fits is one. Pieces with empty spans at the ends
    (special ones, a template) are part of every window."""
    count = len(spans)
    if most is None or count <= most:
        return [np.arange(count)]
    of_text = np.flatnonzero(spans[:, 1] > spans[:, 0])
    if not len(of_text):
        return [np.arange(most)]
    first, last = int(of_text[0]), int(of_text[-1]) + 1
    room = most - first - (count - last)
    if room < FEWEST:
        raise ConfigError(
            f"the model reads {most} pieces at a time, and {most - room} of them are special or "
            f"the template's: that leaves room for {max(room, 0)} pieces of a text, and at least "
            f"{FEWEST} are needed. Give a shorter template."
        )
    length = last - first
    step = max(1, int(room * (1 - SHARED)))
    number = -(-(length - room) // step) + 1
    starts = np.linspace(0, length - room, number).round().astype(np.int64)
    before, after = np.arange(first), np.arange(last, count)
    return [np.concatenate([before, first + s + np.arange(room), after]) for s in starts]


def mean_by_text(
    rows: Float[Tensor, "rows ..."], text_of: Int[Tensor, " rows"]
) -> Float[Tensor, "texts ..."]:
    """The mean over the windows of each text; unchanged where every text is one window."""
    count = int(text_of[-1]) + 1
    if count == len(rows):
        return rows
    total = rows.new_zeros(count, *rows.shape[1:]).index_add(0, text_of, rows)
    number = torch.bincount(text_of, minlength=count).to(rows.dtype)
    return total / number.view(-1, *[1] * (rows.ndim - 1))


def weights_within(
    weights: Float[Tensor, "texts words"],
    text_of: Int[Tensor, " rows"],
    has_word: Float[Tensor, "rows words"],
    otherwise: Float[Tensor, "rows words"] | None = None,
) -> Float[Tensor, "rows words"]:
    """Weights of texts as shares of the words of each window; `otherwise` where it has none."""
    if len(weights) == len(text_of):
        return weights
    inside = weights[text_of] * has_word
    total = inside.sum(dim=1, keepdim=True)
    shares = inside / total.clamp(min=torch.finfo(weights.dtype).tiny)
    return shares if otherwise is None else torch.where(total > 0, shares, otherwise)
