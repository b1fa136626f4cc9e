"""Readings of a Transformer's layers: attention, its gradients, states and values together.

A pass is kept whole (`Layers`), so that attention of every layer and the states between layers can
be asked for gradients. Positions are pieces of words, special ones included.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.importance.base import Complete, importances
from heedful.importance.seen import (
    AttentionSum,
    Layers,
    Need,
    Part,
    PositionScores,
    Seen,
    Square,
    TokenScores,
    gradient,
    of_target,
)


@importances.register("generic-attention", needs=[Need.LAYERS], is_signed=False)
def generic_attention(seen: Seen) -> TokenScores:
    """Attention for the target, followed through all layers (GenAtt, arXiv:2103.15679).

    R = I;  for each layer: R = R + A R,  A = mean over heads of (weight * d logit / d weight)⁺
    importance_t = R[position that is read, t]

    Has no sign. One pass there and back.
    """

    def score(part: Part) -> PositionScores:
        layers = part.layers()
        slopes = _slopes(layers, part, layers.weights)
        flow: Square | None = None
        for weights, slope in zip(layers.weights, slopes, strict=True):
            step = (weights * slope).clamp(min=0).mean(dim=1)
            same = torch.eye(step.shape[-1], dtype=step.dtype, device=step.device)
            flow = same + step if flow is None else flow + step @ flow
        assert flow is not None  # a model without layers gives none
        return layers.read_row(flow)

    return seen.by_parts(score)


@importances.register("attention-x-gradient-x-input", needs=[Need.LAYERS])
def attention_times_gradient_times_input(seen: Seen) -> TokenScores:
    """Gradient × input, weighed by the last layer's attention (AttInGrad, arXiv:2406.08958).

    importance_t = weight_t * < d logit_target / d embedded_t , embedded_t >,  weight: the last
    layer's row of the position that is read, mean over heads
    """

    def score(part: Part) -> PositionScores:
        layers = part.layers()
        slope = gradient(of_target(layers.logits, part.target), layers.embedded)
        row = layers.read_row(layers.weights[-1].mean(dim=1))
        return row * (slope * layers.embedded).sum(dim=-1)

    return seen.by_parts(score)


@importances.register("attcat", needs=[Need.LAYERS])
def attcat(seen: Seen) -> TokenScores:
    """State × gradient of every layer, weighed by the attention that it gets (AttCAT, 2022).

    importance_t = sum over layers of weight_t * < d logit_target / d state_t , state_t >,
    state: what the layer gives out; weight: its attention to t, mean over heads and rows
    """

    def score(part: Part) -> PositionScores:
        layers = part.layers()
        slopes = _slopes(layers, part, layers.states)
        total = torch.zeros_like(layers.is_real, dtype=layers.logits.dtype)
        for state, slope, weights in zip(layers.states, slopes, layers.weights, strict=True):
            total = total + layers.mean_row(weights.mean(dim=1)) * (slope * state).sum(dim=-1)
        return total

    return seen.by_parts(score)


@importances.register("alti", needs=[Need.LAYERS, Need.SUMS], is_signed=False)
def alti(seen: Seen) -> TokenScores:
    """How near each position's part is to what attention makes, through all layers (2203.04212).

    C_ij = max(0, |y_i| - |y_i - T_ij|), rows sum to 1; lengths are sums of absolute values; T_ij:
    what j gives to the output y_i of attention, residual and norm with its deviation held
    importance_t = (C of the last layer ... C of the first)[position that is read, t]

    Has no sign and no class. One pass.
    """

    def score(part: Part) -> PositionScores:
        flow: Square | None = None
        with torch.no_grad():
            layers = part.layers()
            for one in part.sums():
                near = torch.stack([_nearness(one, i) for i in range(one.output.shape[1])], dim=1)
                near = near * layers.is_real[:, None]
                flow = _shares(near) if flow is None else _shares(near) @ flow
        assert flow is not None
        return layers.read_row(flow)

    return seen.by_parts(score)


def _nearness(one: AttentionSum, row: int) -> PositionScores:
    output = one.output[:, row, None]
    left = (output - one.parts(row)).abs().sum(dim=-1)
    return (output.abs().sum(dim=-1) - left).clamp(min=0)


def _shares(square: Square) -> Square:
    """Rows that sum to 1; a row of nothing is made of itself alone."""
    total = square.sum(dim=-1, keepdim=True)
    same = torch.eye(square.shape[-1], dtype=square.dtype, device=square.device)
    return torch.where(total > 0, square / total.clamp(min=1e-30), same)


@importances.register("value-zeroing", needs=[Need.LAYERS], is_signed=False)
def value_zeroing(seen: Seen) -> TokenScores:
    """How far states move if a position's value is zeroed, through all layers (arXiv:2301.12971).

    C_ij = cosine distance of a layer's state i with and without the value of j, rows sum to 1
    importance_t = (C of the last layer ... C of the first)[position that is read, t]

    Has no sign and no class. A pass through each layer for every position.
    """

    def score(part: Part) -> PositionScores:
        flow: Square | None = None
        layers = part.layers()
        for moved in part.without_values():
            flow = _shares(moved) if flow is None else _shares(moved) @ flow
        assert flow is not None
        return layers.read_row(flow)

    return seen.by_parts(score)


@importances.register("decomposition-with-biases", is_audited=False)
@dataclass(frozen=True)
class DecompositionWithBiases(Complete):
    """What a word adds to the target logit, everything nonlinear held, biases shared out.

    importance_t = z_t at the target's logit; z_t: what the output of the embedding layer at t makes
    of the states, layer by layer; a bias b that is added to all z_t makes them
    z_t + b | < b , z_t > | / sum over u of | < b , z_u > |

    Together with special positions they sum to the logit (DecompX, arXiv:2306.02873). A pass of
    every position, in memory that grows with the square of their number.
    """

    needs = frozenset({Need.LAYERS, Need.SHARED_BIASES})

    def of(self, seen: Seen) -> TokenScores:
        """The scores; see the class."""
        return seen.by_parts(lambda part: part.contributions()[1])

    def expected_sum(self, seen: Seen) -> Float[Tensor, " batch"]:
        """The logit less what special positions give."""

        def of_words(part: Part) -> Float[Tensor, " batch"]:
            logit, given = part.contributions()
            return logit - torch.where(part.is_word, 0.0, given).sum(dim=1)

        return seen.sums(of_words)


def _slopes(
    layers: Layers, part: Part, by: "list[Float[Tensor, '...']]"
) -> "list[Float[Tensor, '...']]":
    """The gradient of the target's logit by each of some tensors; zero where nothing leads back."""
    value = of_target(layers.logits, part.target).sum()
    return list(torch.autograd.grad(value, by, allow_unused=True, materialize_grads=True))
