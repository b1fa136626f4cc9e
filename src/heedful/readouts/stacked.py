"""Readouts that combine attention with more: its flow through layers, gradients, values."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import within
from heedful.readouts.base import Attended, OfEveryLayer, PositionWeights, Squares, readouts


@readouts.register("rollout", is_audited=True)
@dataclass(frozen=True)
class Rollout(OfEveryLayer):
    """Attention followed back through all layers and their residual paths (arXiv:2005.00928).

    rollout = product over layers of (residual * identity + (1 - residual) * mean over heads)

    The row that the classifier reads. `residual` is the share that passes a layer unchanged.
    """

    follows_layers = True
    residual: float = 0.5

    def __post_init__(self) -> None:
        within(0, 1, residual=self.residual)

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        flow: Float[Tensor, "batch 1 positions positions"] | None = None
        for layer in attended.weights:
            mean = layer.mean(dim=1, keepdim=True)
            same = torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)
            step = self.residual * same + (1 - self.residual) * mean
            flow = step if flow is None else step @ flow
        assert flow is not None
        return attended.row(flow)[:, 0]


@readouts.register("attention-x-gradient", is_audited=True)
@dataclass(frozen=True)
class AttentionTimesGradient(OfEveryLayer):
    """The row that the classifier reads times its gradient, absolute, mean over layers and heads.

    weight_t = mean of |weight_t * d logit of the predicted class / d weight_t|
    """

    needs_gradients = True

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        pairs = zip(attended.weights, attended.gradients, strict=True)
        rows = [attended.row((layer * slope).abs()).mean(dim=1) for layer, slope in pairs]
        return torch.stack(rows).mean(dim=0)


@readouts.register("value-norm", is_audited=True)
@dataclass(frozen=True)
class ValueNorm(OfEveryLayer):
    """The row that the classifier reads times the norm of what it adds, mean over layers and heads.

    weight_t = mean over layers and heads of weight_t * |W value_t|

    W is the head's part of the layer's output matrix (Kobayashi et al., arXiv:2004.10102). Where it
    is not known, the length of the value itself stands in its place.
    """

    needs_values = True

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        rows = []
        for number, (layer, shared) in enumerate(
            zip(attended.weights, attended.values, strict=True)
        ):
            values = shared.repeat_interleave(layer.shape[1] // shared.shape[1], dim=1)
            squares = attended.squares[number] if attended.squares else None
            lengths = values.norm(dim=-1) if squares is None else _lengths(values, squares)
            rows.append((attended.row(layer) * lengths).mean(dim=1))
        return torch.stack(rows).mean(dim=0)


def _lengths(
    values: Float[Tensor, "batch heads positions size"], squares: Squares
) -> Float[Tensor, "batch heads positions"]:
    """sqrt(v' S v); never negative, whatever the rounding."""
    exact = values.to(squares.dtype)
    return ((exact @ squares) * exact).sum(dim=-1).clamp(min=0).sqrt().to(values.dtype)
