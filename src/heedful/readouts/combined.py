"""Readouts that combine attention with more: its flow through layers, gradients, values."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import within
from heedful.readouts.family import Attended, Layer, OfEveryLayer, PositionWeights, readouts


@readouts.register("rollout")
@dataclass(frozen=True)
class Rollout(OfEveryLayer):
    """Attention followed back through all layers and their residual paths (arXiv:2005.00928).

    rollout = product over layers of (residual * identity + (1 - residual) * mean over heads)

    The row that the classifier reads. `residual` is the share that passes a layer unchanged.
    """

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


@readouts.register("attention-x-gradient")
@dataclass(frozen=True)
class AttentionTimesGradient(OfEveryLayer):
    """The row that the classifier reads, times its gradient, its size, mean over layers and heads.

    weight_t = mean of |weight_t * d logit of the predicted class / d weight_t|
    """

    needs_gradients = True

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        pairs = zip(attended.weights, attended.gradients, strict=True)
        rows = [attended.row((layer * slope).abs()).mean(dim=1) for layer, slope in pairs]
        return torch.stack(rows).mean(dim=0)


@readouts.register("value-norm")
@dataclass(frozen=True)
class ValueNorm(OfEveryLayer):
    """The row that the classifier reads, times the length of what it takes; mean over all.

    weight_t = mean over layers and heads of weight_t * |value_t|

    After Kobayashi et al. (arXiv:2004.10102), who also apply the layer's output matrix.
    """

    needs_values = True

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        rows = []
        for layer, values in zip(attended.weights, attended.values, strict=True):
            lengths = _for_each_head(values.norm(dim=-1), layer)
            rows.append((attended.row(layer) * lengths).mean(dim=1))
        return torch.stack(rows).mean(dim=0)


def _for_each_head(
    lengths: Float[Tensor, "batch shared positions"], layer: Layer
) -> Float[Tensor, "batch heads positions"]:
    """Lengths of the values of each head, where several heads share theirs."""
    return lengths.repeat_interleave(layer.shape[1] // lengths.shape[1], dim=1)
