"""Attentions that need no search: uniform, permuted, random, frozen."""

from copy import deepcopy
from dataclasses import dataclass

import torch

from heedful.config import above, at_least
from heedful.counterfactual.base import Attentions, counterfactuals
from heedful.model.classifier import AttentionClassifier, Trace, mean_over_tokens
from heedful.model.projections import softmax
from heedful.text.batching import Batch


@counterfactuals.register("uniform")
def uniform(
    model: AttentionClassifier, trace: Trace, batch: Batch, rng: torch.Generator
) -> Attentions:
    """Every word gets the same weight."""
    words = batch.is_token.sum(dim=1, keepdim=True).clamp(min=1)
    return (batch.is_token.to(trace.weights.dtype) / words).unsqueeze(1)


@counterfactuals.register("permuted")
@dataclass(frozen=True)
class Permuted:
    """The model's own weights permuted among the words (Jain & Wallace)."""

    count: int = 100

    def __post_init__(self) -> None:
        at_least(1, count=self.count)

    def __call__(
        self, model: AttentionClassifier, trace: Trace, batch: Batch, rng: torch.Generator
    ) -> Attentions:
        """The weights; see the class."""
        documents, tokens = trace.weights.shape
        keys = torch.rand(documents, self.count, tokens, generator=rng).to(trace.weights.device)
        # Padding gets the largest keys, so it stays behind the words it was behind.
        order = keys.masked_fill(~batch.is_token.unsqueeze(1), 2.0).argsort(dim=-1)
        return trace.weights.detach().unsqueeze(1).expand(-1, self.count, -1).gather(-1, order)


@counterfactuals.register("random")
@dataclass(frozen=True)
class RandomWeights:
    """Softmax of N(0, spread²) draws: weights that do not depend on the text."""

    count: int = 1
    spread: float = 3.0  # the noise that Jain & Wallace start their adversary from

    def __post_init__(self) -> None:
        at_least(1, count=self.count)
        above(0, spread=self.spread)

    def __call__(
        self, model: AttentionClassifier, trace: Trace, batch: Batch, rng: torch.Generator
    ) -> Attentions:
        """The weights; see the class."""
        documents, tokens = trace.weights.shape
        noise = torch.randn(documents, self.count, tokens, generator=rng).to(trace.weights)
        is_token = batch.is_token.unsqueeze(1).expand(noise.shape)
        return softmax(self.spread * noise, is_token)


@counterfactuals.register("frozen")
@dataclass(frozen=True)
class Frozen:
    """Attention that learned nothing: the alignment with its parameters shuffled.

    It still sees the text, and its scores spread like the model's own, but they mean nothing.
    """

    count: int = 1

    def __post_init__(self) -> None:
        at_least(1, count=self.count)

    @torch.no_grad()
    def __call__(
        self, model: AttentionClassifier, trace: Trace, batch: Batch, rng: torch.Generator
    ) -> Attentions:
        """The weights; see the class."""
        query = mean_over_tokens(trace.keys, batch.is_token) if model.has_text_query else None
        weights = []
        for _ in range(self.count):
            alignment = deepcopy(model.alignment)
            for numbers in alignment.parameters():
                order = torch.randperm(numbers.numel(), generator=rng).to(numbers.device)
                numbers.copy_(numbers.flatten()[order].view_as(numbers))
            weights.append(model.project(alignment(trace.keys, query), batch.is_token))
        return torch.stack(weights, dim=1)
