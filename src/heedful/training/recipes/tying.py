"""Keep each state near the embedding of its own word."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.model.classifier import TextClassifier
from heedful.model.units import embed_units, unit_states, units_of
from heedful.text.batching import Batch
from heedful.training.recipe import (
    PAPER_SIZES,
    SIZES,
    AnyTrace,
    Material,
    Notes,
    Penalised,
    needs_matching_sizes,
    recipes,
)

SMALL = 1e-12  # keeps the slope of a norm finite where it is zero


@recipes.register("tying")
@dataclass(frozen=True)
class Tying(Penalised):
    """Keep each hidden state near the embedding of its own word (arXiv:2005.09379).

    objective = cross_entropy + tie_weight * mean over tokens of |hidden - embedded|

    The plain norm; `is_squared` takes its square. Both sides can shrink to satisfy it: with
    `is_embedding_held` only the state is pulled. Of a pretrained encoder, the state and the
    embedding of each piece of a word, read in a pass of their own.
    """

    tie_weight: float = 1.0
    is_squared: bool = False
    is_embedding_held: bool = False
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(0, tie_weight=self.tie_weight)
        at_least(1, epochs=self.epochs)

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """States as wide as embeddings: the paper's sizes."""
        return {} if SIZES & set(given) else PAPER_SIZES

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """Sizes must match."""
        needs_matching_sizes(model, "tying compares hidden states with word embeddings")
        return nn.Identity()

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """tie_weight * mean over real tokens of the distance."""
        units = units_of(model, batch)
        embedded = embed_units(model, units.ids)  # as it is, whatever dropout made of it
        own = embedded.detach() if self.is_embedding_held else embedded
        squared = (unit_states(model, batch, units, trace) - own).square().sum(dim=-1)
        distance = squared if self.is_squared else (squared + SMALL).sqrt()
        mean = (distance * units.is_unit).sum() / units.is_unit.sum().clamp(min=1)
        return self.tie_weight * mean

    @torch.no_grad()
    def notes(self, model: TextClassifier, material: Material) -> Notes:
        """How long states and embeddings are: whether both shrank to satisfy the penalty."""
        totals = torch.zeros(3, dtype=torch.float64)
        for batch in material.documents.by_length():
            units, trace = units_of(model, batch), model(batch)
            states = unit_states(model, batch, units, trace)
            for place, vectors in enumerate((states, embed_units(model, units.ids))):
                totals[place] += (vectors.norm(dim=-1) * units.is_unit).sum().cpu()
            totals[2] += units.is_unit.sum().cpu()
        hidden, embedded = (totals[:2] / totals[2].clamp(min=1)).tolist()
        return {"hidden_norm": hidden, "embedded_norm": embedded}
