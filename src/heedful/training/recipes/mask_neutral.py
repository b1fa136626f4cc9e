"""Weigh documents so that the pattern of the weights tells nothing of the label."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from heedful.config import above, at_least
from heedful.errors import ConfigError
from heedful.model.classifier import Attends, TextClassifier
from heedful.model.pattern import weight_pattern
from heedful.text.batching import Batch, Batches
from heedful.training.propensity import (
    cross_fitted_propensity,
    effective_sample_size,
    neutral_weights,
)
from heedful.training.recipe import (
    Material,
    Notes,
    Phase,
    Recipe,
    needs_attention,
    recipes,
)


@recipes.register("mask-neutral")
@dataclass(frozen=True)
class MaskNeutral(Recipe):
    """Weight each document by P(label) / P(label | its weights) (Bai et al. 2021).

    objective = mean of w * cross_entropy,  w = P(label) / q(label | pattern of the weights)

    q is fitted again before each epoch, never on the document it predicts. Under these weights the
    label cannot be guessed from the pattern, so reading it there does not pay. w is kept between
    `lowest` and `highest` and normalised within each label. Attention itself learns from unweighted
    documents unless `weighs_attention`. The last epoch is kept: the best on dev, where documents
    are not weighed, would be the one that leaks most.
    """

    folds: int = 5
    lowest: float = 0.1
    highest: float = 10.0
    weighs_attention: bool = False
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(2, folds=self.folds)
        above(0, lowest=self.lowest)
        at_least(1, epochs=self.epochs)
        if not self.lowest <= 1 <= self.highest:
            raise ConfigError(
                f"lowest should be at most 1 and highest at least 1, not {self.lowest} and "
                f"{self.highest}: 1 is the weight of a document with an uninformative pattern."
            )

    def check(self, model: TextClassifier, material: Material) -> None:
        """Attention is needed."""
        needs_attention(model, "mask-neutral")

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """One phase whose weights are refreshed before each epoch."""
        attends = needs_attention(model, "mask-neutral")
        documents = material.documents
        weights = np.ones(len(documents))

        def refresh(rng: torch.Generator) -> Notes:
            patterns = attention_patterns(attends, documents)
            share = cross_fitted_propensity(patterns, documents.labels, self.folds, rng)
            weights[:] = neutral_weights(share, documents.labels, self.lowest, self.highest)
            return {"effective_documents": effective_sample_size(weights)}

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            counted = torch.from_numpy(weights[batch.indices]).to(batch.example_weight)
            return self.loss(attends, batch, counted)

        # Dev documents are not weighed, so their best epoch would be the one that leaks most.
        yield Phase(
            objective, [model], self.epochs, keep="last", patience=self.epochs, before_epoch=refresh
        )

    def loss(
        self, model: Attends, batch: Batch, counted: Float[Tensor, " batch"]
    ) -> Float[Tensor, ""]:
        """Weighted cross-entropy; attention's own gradient is divided by the weight again."""
        trace = model(batch)
        weights = trace.weights
        if not self.weighs_attention:
            held = weights.detach()
            weights = held + (weights - held) / counted.unsqueeze(-1)
        losses = torch.nn.functional.cross_entropy(
            model.decide(trace.hidden, weights), batch.labels, reduction="none"
        )
        return (losses * counted * batch.example_weight).mean()


@torch.no_grad()
def attention_patterns(model: Attends, documents: Batches) -> Float[ndarray, "documents features"]:
    """The pattern of each document's weights, in the order of the corpus."""
    model.eval()
    found: list[tuple[ndarray, ndarray]] = []
    for batch in documents.by_length():
        weights, is_token = model(batch).weights, model.places(batch)
        pattern = weight_pattern(weights.double().cpu().numpy(), is_token.cpu().numpy())
        found.append((batch.indices, pattern))
    order = np.concatenate([indices for indices, _ in found])
    patterns = np.concatenate([pattern for _, pattern in found])
    return patterns[np.argsort(order)]
