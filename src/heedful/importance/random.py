"""The control that every measure must beat."""

from dataclasses import dataclass

import torch

from heedful.importance.base import Importance, importances, seed_of
from heedful.importance.seen import Need, Seen, TokenScores


@importances.register("random")
@dataclass(frozen=True)
class Random(Importance):
    """Scores drawn from N(0, 1): an explanation without information."""

    needs = frozenset[Need]()
    seed: int = 0

    def of(self, seen: Seen) -> TokenScores:
        """One draw per token, decided by the seed and by which document it is."""
        scores = torch.zeros(seen.is_token.shape)
        for row, identifier in enumerate(seen.identifiers):
            rng = torch.Generator().manual_seed(seed_of(self.seed, identifier))
            words = int(seen.is_token[row].sum())
            scores[row, :words] = torch.randn(words, generator=rng)
        return scores.to(seen.is_token.device)
