"""A very different attention that leads to the same decision, sought on the fixed model."""

from dataclasses import dataclass
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import above, at_least
from heedful.counterfactual.family import Attentions, counterfactuals
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import decide_many
from heedful.model.projections import softmax
from heedful.text.batching import Batch


@counterfactuals.register("adversarial")
@dataclass(frozen=True)
class Adversarial:
    """Weights far from the model's own that keep its prediction (Jain & Wallace).

    minimise  sum over candidates of  - JSD(candidate, own) + penalty * max(TVD - tolerance, 0)
              - mean JSD between two candidates

    All documents and candidates of a batch are sought at once. The states do not change and the
    decision is linear in the context, so a step never touches the encoder.
    """

    candidates: int = 5
    steps: int = 500
    learning_rate: float = 0.01
    tolerance: float = 0.01  # of the search; who selects may allow more
    penalty: float = 500.0
    spread: float = 3.0  # candidates start at softmax of N(0, spread²)

    def __post_init__(self) -> None:
        at_least(1, candidates=self.candidates, steps=self.steps)
        above(0, learning_rate=self.learning_rate, penalty=self.penalty, spread=self.spread)
        at_least(0, tolerance=self.tolerance)

    def __call__(
        self, model: AttentionClassifier, trace: Trace, batch: Batch, rng: torch.Generator
    ) -> Attentions:
        """The candidates' weights after the last step."""
        hidden, own = trace.hidden.detach(), trace.weights.detach().unsqueeze(1)
        usual = trace.logits.detach().softmax(dim=-1).unsqueeze(1)
        shape = (hidden.shape[0], self.candidates, hidden.shape[1])
        is_token = batch.is_token.unsqueeze(1).expand(shape)
        start = self.spread * torch.randn(shape, generator=rng)
        scores = start.to(hidden).requires_grad_()
        optimizer = torch.optim.Adam([scores], lr=self.learning_rate, amsgrad=True, fused=True)
        with torch.enable_grad():
            for _ in range(self.steps):
                weights = softmax(scores, is_token)
                probabilities = decide_many(model, hidden, weights).softmax(dim=-1)
                moved = (probabilities - usual).abs().sum(dim=-1) / 2
                excess = (moved - self.tolerance).relu()
                loss = (self.penalty * excess - js_divergence(weights, own)).sum()
                if self.candidates > 1:
                    loss = loss - self._mean_distance(weights).sum()
                optimizer.zero_grad()
                (scores.grad,) = torch.autograd.grad(loss, [scores])
                optimizer.step()
        return softmax(scores.detach(), is_token)

    def _mean_distance(self, weights: Attentions) -> Float[Tensor, " batch"]:
        """Mean JSD between two candidates."""
        first, second = zip(*combinations(range(self.candidates), 2), strict=True)
        return js_divergence(weights[:, list(first)], weights[:, list(second)]).mean(dim=-1)


def js_divergence(
    one: Float[Tensor, "batch attentions tokens"], other: Float[Tensor, "batch others tokens"]
) -> Float[Tensor, "batch attentions"]:
    """Jensen-Shannon divergence in nats, differentiable: H(mean) - mean of H."""
    return entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2


def entropy(weights: Float[Tensor, "*rows tokens"]) -> Float[Tensor, "*rows"]:
    """- sum of w log w in nats; a weight of 0 adds nothing, and its gradient is finite."""
    return -torch.where(weights > 0, weights * weights.clamp(min=1e-30).log(), 0.0).sum(dim=-1)
