"""The standard recipe: everything learns, from the labels alone."""

from collections.abc import Iterator
from dataclasses import dataclass

from heedful.config import at_least
from heedful.model.classifier import TextClassifier
from heedful.training.recipe import Material, Phase, Recipe, by_label, recipes


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
        yield Phase(by_label, learns=[model], epochs=self.epochs)
