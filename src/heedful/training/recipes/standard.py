"""The standard recipe: everything learns, from the labels alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import at_least
from heedful.model.classifier import TextClassifier
from heedful.text.batching import Batch
from heedful.training.recipe import Material, Phase, Recipe, cross_entropy, recipes


@recipes.register("standard")
@dataclass(frozen=True)
class Standard(Recipe):
    """Cross-entropy on the labels; everything learns together.

    objective = cross_entropy
    """

    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(1, epochs=self.epochs)

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """One phase."""
        yield Phase(self.objective, learns=[model], epochs=self.epochs)

    def objective(
        self, model: TextClassifier, batch: Batch, rng: torch.Generator
    ) -> Float[Tensor, ""]:
        """The loss of one batch."""
        return cross_entropy(model(batch), batch)
