"""What a recipe is: a way to train, told as phases.

A phase says what to minimise, which modules learn and for how long. `phases` is a generator, so
work between two stages simply stands between two yields. The loop in `fit.py` never asks which
recipe it runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.model.classifier import PooledTrace, TextClassifier, Trace
from heedful.registry import Registry
from heedful.text.batching import Batch, Batches

Objective = Callable[[TextClassifier, Batch, torch.Generator], Float[Tensor, ""]]


@dataclass(frozen=True)
class Phase:
    """One stretch of training: minimise `objective`; only the modules in `learns` change."""

    objective: Objective
    learns: Sequence[nn.Module]
    epochs: int
    keep: Literal["best", "last"] = "best"  # which epoch's weights the phase ends with


class Recipe(ABC):
    """A way to train. Subclasses are frozen dataclasses; their fields are their options."""

    epochs: int

    @abstractmethod
    def phases(self, model: TextClassifier, data: Batches) -> Iterator[Phase]:
        """The phases in order; replayed on resume, so work between yields must be pure."""


recipes: Registry[Recipe] = Registry("recipe")


def cross_entropy(trace: Trace | PooledTrace, batch: Batch) -> Float[Tensor, ""]:
    """Mean negative log probability of the labels (nats), each document counted by its weight."""
    losses = nn.functional.cross_entropy(trace.logits, batch.labels, reduction="none")
    return (losses * batch.example_weight).mean()
