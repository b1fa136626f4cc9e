"""The control that every measure must beat."""

from dataclasses import dataclass

import torch

from heedful.importance.base import Target, TokenScores, importances
from heedful.model.classifier import AttentionClassifier
from heedful.text.batching import Batch


@importances.register("random")
@dataclass(frozen=True)
class Random:
    """Scores drawn from N(0, 1): what an explanation that knows nothing says."""

    seed: int = 0

    def __call__(self, model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
        """One draw per token, decided by the seed and the document's place in its corpus."""
        scores = torch.zeros(batch.token_ids.shape)
        for row, index in enumerate(batch.indices.tolist()):
            rng = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
            words = int(batch.is_token[row].sum())
            scores[row, :words] = torch.randn(words, generator=rng)
        return scores.to(batch.token_ids.device)
