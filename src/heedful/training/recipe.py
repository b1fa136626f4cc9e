"""What a recipe is: a way to train, told as phases.

A phase says what to minimise, which modules learn and for how long. `phases` is a generator, so
work between two stages simply stands between two yields. The loop in `fit.py` never asks which
recipe it runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.model.classifier import AttentionClassifier, PooledTrace, TextClassifier, Trace
from heedful.registry import Registry
from heedful.text.batching import Batch, Batches

AnyTrace = Trace | PooledTrace
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

    def check(self, model: TextClassifier, data: Batches) -> None:  # noqa: B027
        """Refuse a model or documents that the recipe does not fit, before anything is saved."""

    @abstractmethod
    def phases(self, model: TextClassifier, data: Batches) -> Iterator[Phase]:
        """The phases in order; replayed on resume, so work between yields must be pure."""


class Penalised(Recipe):
    """A recipe that adds a penalty to the cross-entropy; several make one with `all-of`.

    objective = cross_entropy + penalty
    """

    def check(self, model: TextClassifier, data: Batches) -> None:
        """Whatever does not fit shows when it is prepared."""
        self.prepare(model, data)

    def prepare(self, model: TextClassifier, data: Batches) -> nn.Module:
        """Whatever else learns or is needed, as a module; says so if the model does not fit."""
        return nn.Identity()

    @abstractmethod
    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """The penalty of one batch, weight included."""

    def phases(self, model: TextClassifier, data: Batches) -> Iterator[Phase]:
        """One phase."""
        prepared = self.prepare(model, data)

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            trace = model(batch)
            return cross_entropy(trace, batch) + self.penalty(model, batch, trace, prepared, rng)

        yield Phase(objective, learns=[model, prepared], epochs=self.epochs)


class Recipes(Registry[Recipe]):
    """Also takes several penalties at once: `tying,vw-penalty`."""

    def make(self, spec: str | Mapping[str, Any] | Recipe) -> Recipe:
        """The recipe that a name, a name with options or a list of them stands for."""
        if isinstance(spec, str) and "," in spec:
            return super().make({"name": "all-of", "of": spec})
        return super().make(spec)


recipes: Recipes = Recipes("recipe")


def needs_attention(model: TextClassifier, recipe: str) -> AttentionClassifier:
    """The model, if it attends; else a sentence."""
    if not isinstance(model, AttentionClassifier):
        raise ConfigError(f"{recipe} is about attention, and a model that pools has none.")
    return model


def needs_matching_sizes(model: TextClassifier, claim: str) -> None:
    """Refuse a model whose states and embeddings differ in size; `claim` says why they may not."""
    hidden, embedding = model.encoder.output_size, model.embedding.embedding_dim
    if hidden != embedding:
        raise ConfigError(
            f"{claim}, so their sizes must match: the encoder gives {hidden}, embeddings have "
            f"{embedding}. Change hidden_size (two directions double it) or embedding_size, or "
            "drop the recipe."
        )


def cross_entropy(trace: AnyTrace, batch: Batch) -> Float[Tensor, ""]:
    """Mean negative log probability of the labels (nats), each document counted by its weight."""
    losses = nn.functional.cross_entropy(trace.logits, batch.labels, reduction="none")
    return (losses * batch.example_weight).mean()
