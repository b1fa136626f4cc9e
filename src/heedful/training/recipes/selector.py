"""Choose k words from which a black box's answer can be told."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import above, at_least
from heedful.errors import ConfigError
from heedful.model.classifier import Attends, TextClassifier
from heedful.model.projections import KHot
from heedful.text.batching import Batch, Batches
from heedful.training.recipe import Material, OnBase, Phase, needs_attention, needs_base, recipes

SMALL = 1e-20  # keeps the logarithm of a draw of 0 finite


@recipes.register("selector")
@dataclass(frozen=True)
class Selector(OnBase):
    """Explain a finished model: choose k words that predict its answer (L2X, Bai et al.).

    objective = cross-entropy of (answer of the base, answer from the chosen words)
    chosen in training: the k highest of (score + Gumbel noise) / temperature, straight-through

    `base` is the run to explain. If none is named, a classifier without attention (mean pooling) is
    trained first. The chosen words are the support of the model's weights: k of `projection`.
    """

    base: str | None = None
    temperature: float = 0.5
    epochs: int = 8

    def __post_init__(self) -> None:
        above(0, temperature=self.temperature)
        at_least(1, epochs=self.epochs)

    @property
    def base_settings(self) -> Mapping[str, Any]:
        """What is changed to train a base."""
        return {
            "recipe": "standard",
            "pooling": "mean",
            "projection": "softmax",
            "keys": "shared",
        }

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What it needs of the model."""
        return {"keys": "separate", "projection": "k-hot"}

    def check(self, model: TextClassifier, material: Material) -> None:
        """The projection must choose."""
        attends = needs_attention(model, "selector")
        if not isinstance(attends.project, KHot):
            raise ConfigError(
                "selector chooses k words, so it needs the projection k-hot: leave projection as "
                "it is, or set projection=k-hot:k=5."
            )

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """One phase."""
        base = needs_base(material, "selector")

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            with torch.no_grad():
                answer = base(batch).logits.softmax(dim=-1)
            attends = needs_attention(model, "selector")
            told = self.decide_from_chosen(attends, batch, rng).log_softmax(dim=-1)
            return (-(answer * told).sum(dim=-1) * batch.example_weight).mean()

        yield Phase(objective, [model], self.epochs)

    @torch.no_grad()
    def measured(
        self, model: TextClassifier, material: Material, documents: Batches
    ) -> Mapping[str, float]:
        """How often the chosen words give the answer of the base."""
        base = needs_base(material, "selector")
        hits = 0
        for batch in documents.by_length():
            same = model(batch).logits.argmax(dim=-1) == base(batch).logits.argmax(dim=-1)
            hits += int(same.sum())
        return {"agreement_with_base": hits / max(1, len(documents))}

    def decide_from_chosen(
        self, model: Attends, batch: Batch, rng: torch.Generator
    ) -> Float[Tensor, "batch classes"]:
        """Logits from k words drawn by their scores."""
        trace = model(batch)
        uniform = torch.rand(trace.scores.shape, generator=rng).to(trace.scores)
        gumbel = -torch.log(-torch.log(uniform + SMALL) + SMALL)
        weights = model.project((trace.scores + gumbel) / self.temperature, model.places(batch))
        return model.decide(trace.hidden, weights)
