"""Learn to answer under another model's attention."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.model.classifier import Attends, TextClassifier, Trace
from heedful.text.batching import Batch
from heedful.training.recipe import (
    Material,
    OnBase,
    Phase,
    cross_entropy,
    needs_attention,
    needs_base,
    recipes,
)


@recipes.register("imposed")
@dataclass(frozen=True)
class Imposed(OnBase):
    """Single words, weighted by another model's attention (Wiegreffe & Pinter's diagnostic).

    objective = cross_entropy under the base's weights,  which are held

    If they point at the words that matter, a model that sees each word alone profits from them. It
    is scored under the base's weights; on its own it attends evenly.
    """

    base: str | None = None
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(1, epochs=self.epochs)

    @property
    def base_settings(self) -> Mapping[str, Any]:
        """What is changed to train a base."""
        return {
            "recipe": "standard",
            "encoder": "bilstm",
            "projection": "softmax",
        }

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What it needs of the model."""
        return {"encoder": "mlp", "projection": "uniform"}

    def check(self, model: TextClassifier, material: Material) -> None:
        """Both must attend."""
        needs_attention(model, "imposed")
        if material.base is not None:
            needs_attention(material.base, "imposed's base")

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """One phase."""
        together = self.seen(model, material)

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            return cross_entropy(together(batch), batch)

        yield Phase(
            objective,
            needs_attention(model, "imposed").value_parts,
            self.epochs,
            scored=together,
        )

    def seen(self, model: TextClassifier, material: Material) -> nn.Module:
        """The model under the base's attention."""
        base = needs_attention(needs_base(material, "imposed"), "imposed's base")
        return UnderAttentionOf(base, needs_attention(model, "imposed"))


class UnderAttentionOf(nn.Module):
    """One model's states weighed by another's attention."""

    def __init__(self, base: Attends, model: Attends) -> None:
        super().__init__()
        self.base = base
        self.model = model

    def forward(self, batch: Batch) -> Trace:
        """The model's trace, with the base's weights in it."""
        with torch.no_grad():
            weights = self.base(batch).weights
        trace = self.model(batch)
        logits = self.model.decide(trace.hidden, weights)
        return Trace(trace.embedded, trace.hidden, trace.keys, trace.scores, weights, logits)
