"""Keep the states of a text apart."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.model.classifier import TextClassifier, mean_over_tokens
from heedful.text.batching import Batch
from heedful.training.recipe import AnyTrace, Penalised, recipes


@recipes.register("diversity")
@dataclass(frozen=True)
class Diversity(Penalised):
    """Keep a text's states from pointing in the same direction (arXiv:2004.14243).

    objective = cross_entropy + diversity_weight * mean over tokens of |cos(hidden, mean hidden)|
    """

    diversity_weight: float = 0.5
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(0, diversity_weight=self.diversity_weight)
        at_least(1, epochs=self.epochs)

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """diversity_weight * mean conicity of the documents."""
        middle = mean_over_tokens(trace.hidden, batch.is_token).unsqueeze(1)
        cosine = nn.functional.cosine_similarity(trace.hidden, middle, dim=-1).abs()
        words = batch.is_token.sum(dim=1).clamp(min=1)
        return self.diversity_weight * ((cosine * batch.is_token).sum(dim=1) / words).mean()
