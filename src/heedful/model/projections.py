"""Scores to weights: maps from any row of numbers to a point of the simplex.

A projection takes scores and `is_token` and gives weights that are at least 0, sum to 1 over real
tokens and are exactly 0 elsewhere. A row without any token gets only zeros. All can be
differentiated twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.registry import Registry

Scores = Float[Tensor, "*rows tokens"]
IsToken = Bool[Tensor, "*rows tokens"]
Weights = Float[Tensor, "*rows tokens"]
Projection = Callable[[Scores, IsToken], Weights]

projections: Registry[Projection] = Registry("projection")


@projections.register("softmax")
def softmax(scores: Scores, is_token: IsToken) -> Weights:
    """Every token gets something: weights proportional to exp(score)."""
    return _blank_masked(scores, is_token).softmax(dim=-1) * is_token


@projections.register("sparsemax")
def sparsemax(scores: Scores, is_token: IsToken) -> Weights:
    """Nearest point of the simplex to `scores`; most tokens get exactly 0 (arXiv:1602.02068).

    weights = max(scores - threshold, 0),  threshold chosen so that the weights sum to 1
    """
    return _Sparsemax.apply(scores, is_token)  # type: ignore[no-untyped-call]


@projections.register("sparsegen")
@dataclass(frozen=True)
class Sparsegen:
    """Sparsemax with a dial: sparsity to 1 picks one token, 0 is sparsemax, far below 0 is uniform.

    sparsegen(scores; sparsity) = sparsemax(scores / (1 - sparsity))
    """

    sparsity: float = 0.5

    def __post_init__(self) -> None:
        if not self.sparsity < 1:
            raise ConfigError(f"sparsegen: sparsity should lie below 1, not {self.sparsity}.")

    def __call__(self, scores: Scores, is_token: IsToken) -> Weights:
        """The weights; see the class."""
        return sparsemax(scores / (1 - self.sparsity), is_token)


@projections.register("entmax")
def entmax(scores: Scores, is_token: IsToken) -> Weights:
    """Half-way between softmax and sparsemax: entmax with exponent 1.5 (arXiv:1905.05702).

    weights = max(scores / 2 - threshold, 0) ** 2
    """
    halved = _blank_masked(scores, is_token) / 2
    in_support = _entmax_support(halved.detach(), is_token)
    support_size = in_support.sum(dim=-1, keepdim=True).clamp(min=1)
    kept = halved.masked_fill(~in_support, 0.0)
    mean = kept.sum(dim=-1, keepdim=True) / support_size
    spread = (halved - mean).masked_fill(~in_support, 0.0).square().sum(dim=-1, keepdim=True)
    threshold = mean - ((1 - spread) / support_size).sqrt()
    return (halved - threshold).masked_fill(~in_support, 0.0).square()


@projections.register("uniform")
def uniform(scores: Scores, is_token: IsToken) -> Weights:
    """No attention at all: every token gets the same, whatever the scores say."""
    return is_token.to(scores.dtype) / is_token.sum(dim=-1, keepdim=True).clamp(min=1)


@projections.register("frozen")
def frozen(scores: Scores, is_token: IsToken) -> Weights:
    """Softmax through which no gradient flows: the alignment keeps its random initial values."""
    return softmax(scores.detach(), is_token)


@projections.register("k-hot")
@dataclass(frozen=True)
class KHot:
    """The k highest scores get 1/k each; gradients pass as if by softmax (straight-through)."""

    k: int = 5

    def __post_init__(self) -> None:
        at_least(1, k=self.k)

    def __call__(self, scores: Scores, is_token: IsToken) -> Weights:
        """The weights; see the class."""
        soft = softmax(scores, is_token)
        # A stable order, so that of equal scores the earlier word wins, padding or not.
        order = _blank_masked(scores, is_token).argsort(dim=-1, descending=True, stable=True)
        chosen = torch.zeros_like(scores).scatter(-1, order[..., : self.k], 1.0) * is_token
        hard = chosen / chosen.sum(dim=-1, keepdim=True).clamp(min=1)
        return hard + (soft - soft.detach())


def _blank_masked(scores: Scores, is_token: IsToken) -> Scores:
    """Scores shifted to a maximum of 0 (changes no weight, keeps sums small), lowest off tokens."""
    lowest = torch.finfo(scores.dtype).min / 4  # finite, so that an empty row gives no NaN
    scores = scores.masked_fill(~is_token, lowest)
    return scores - scores.detach().amax(dim=-1, keepdim=True)


class _Sparsemax(torch.autograd.Function):
    """Sparsemax by Newton steps instead of a sort.

    f(t) = sum of max(scores - t, 0) is convex and piecewise linear, so Newton's method for f(t) = 1
    rises steadily from below and ends exactly, as soon as the support no longer shrinks. Clamps and
    signs are used in place of comparisons, which cost several times as much.
    """

    @staticmethod
    def forward(ctx: Any, scores: Scores, is_token: IsToken) -> Weights:
        is_padded = not bool(is_token.all())
        shifted = _blank_masked(scores, is_token) if is_padded else scores
        shifted = shifted - shifted.amax(dim=-1, keepdim=True)
        threshold = torch.full_like(shifted[..., :1], -1.0)  # the maximum is 0, so it is no lower
        size = torch.full_like(threshold, shifted.shape[-1] + 1)
        while True:
            weights = (shifted - threshold).clamp_(min=0)
            smaller = weights.sign().sum(dim=-1, keepdim=True)
            threshold = threshold + (weights.sum(dim=-1, keepdim=True) - 1) / smaller
            if not bool((smaller < size).any()):
                break
            size = smaller
        weights = (shifted - threshold).clamp_(min=0)
        if is_padded:  # a row without tokens shares its weight among padding
            weights = weights * is_token
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Weights) -> tuple[Weights, None]:
        # Made of differentiable steps, so that it can be differentiated again.
        (weights,) = ctx.saved_tensors
        in_support = weights.sign()
        kept = gradient * in_support
        size = in_support.sum(dim=-1, keepdim=True).clamp(min=1)
        return kept - kept.sum(dim=-1, keepdim=True) / size * in_support, None


def _entmax_support(halved: Scores, is_token: IsToken) -> IsToken:
    """Tokens above entmax's threshold: the longest run of sorted scores that is consistent."""
    ranked = halved.sort(dim=-1, descending=True).values
    rank = torch.arange(1, ranked.shape[-1] + 1, device=ranked.device, dtype=ranked.dtype)
    # Only scores within 1 of the maximum can matter; the rest would drown the sums.
    near = ranked.clamp(min=-2)
    mean = near.cumsum(dim=-1) / rank
    spread = near.square().cumsum(dim=-1) - rank * mean.square()
    threshold = mean - ((1 - spread) / rank).clamp(min=0).sqrt()
    size = (threshold <= ranked).sum(dim=-1, keepdim=True)
    cut = threshold.gather(-1, (size - 1).clamp(min=0))
    return is_token & (halved > cut)
