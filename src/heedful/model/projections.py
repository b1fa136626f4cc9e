"""Scores to weights: maps from any row of numbers to a point of the simplex.

A projection takes scores and `is_token` and gives weights that are at least 0, sum to 1 over real
tokens and are exactly 0 elsewhere. A row without any token gets only zeros. All can be
differentiated twice. On a GPU, `heedful.model.sparse_kernels` has the sparse ones as kernels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
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
Sizes = Float[Tensor, "*rows 1"]
Projection = Callable[[Scores, IsToken], Weights]

projections: Registry[Projection] = Registry("projection")


@projections.register("softmax")
def softmax(scores: Scores, is_token: IsToken) -> Weights:
    """Weights proportional to exp(score): every token gets some weight."""
    return _blank_masked(scores, is_token).softmax(dim=-1) * is_token


@projections.register("sparsemax")
def sparsemax(scores: Scores, is_token: IsToken) -> Weights:
    """Nearest point of the simplex to `scores`; most tokens get exactly 0 (arXiv:1602.02068).

    weights = max(scores - threshold, 0),  threshold chosen so that the weights sum to 1
    """
    return _sparsemax(scores, is_token, 1.0)


@projections.register("sparsegen")
@dataclass(frozen=True)
class Sparsegen:
    """Adjustable sparsemax: sparsity near 1 picks one token, 0 is sparsemax, far below 0 uniform.

    sparsegen(scores; sparsity) = sparsemax(scores / (1 - sparsity))
    """

    sparsity: float = 0.5

    def __post_init__(self) -> None:
        if not self.sparsity < 1:
            raise ConfigError(f"sparsegen: sparsity should be less than 1, not {self.sparsity}.")

    def __call__(self, scores: Scores, is_token: IsToken) -> Weights:
        """The weights; see the class."""
        return _sparsemax(scores, is_token, 1 / (1 - self.sparsity))


@projections.register("entmax")
def entmax(scores: Scores, is_token: IsToken) -> Weights:
    """Half-way between softmax and sparsemax: entmax with exponent 1.5 (arXiv:1905.05702).

    weights = max(scores / 2 - threshold, 0) ** 2
    """
    if (kernels := _kernels_for(scores)) is not None:
        return kernels.entmax(scores, is_token)
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
    """No attention: every token gets the same weight, whatever its score."""
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
    scores = torch.where(is_token, scores, _lowest(scores))
    return scores - scores.detach().amax(dim=-1, keepdim=True)


def _lowest(scores: Scores) -> float:
    """A score for what is no token; finite, so that an empty row gives no NaN."""
    return torch.finfo(scores.dtype).min / 4


def _sparsemax(scores: Scores, is_token: IsToken, stretch: float) -> Weights:
    """Sparsemax of `stretch * scores`."""
    if (kernels := _kernels_for(scores)) is not None:
        return kernels.sparsemax(scores, is_token, stretch)
    return _Sparsemax.apply(scores, is_token, stretch)  # type: ignore[no-untyped-call]


def _kernels_for(scores: Scores) -> ModuleType | None:
    """Kernels that read and write each row once, where they can run: on a GPU, with Triton."""
    kernels = _kernels() if scores.is_cuda else None
    return kernels if kernels is not None and kernels.can_project(scores) else None


@cache
def _kernels() -> ModuleType | None:
    try:
        from heedful.model import sparse_kernels
    except ImportError:
        return None
    return sparse_kernels


class _Sparsemax(torch.autograd.Function):
    """Sparsemax of `stretch * scores`; the work is in `_newton`, the derivative in `_Centered`."""

    @staticmethod
    def forward(ctx: Any, scores: Scores, is_token: IsToken, stretch: float) -> Weights:
        # The smallest byte tells ten times faster than `all`.
        is_padded = not bool(is_token.view(torch.uint8).amin(dim=-1).all())
        scores = torch.where(is_token, scores, _lowest(scores)) if is_padded else scores
        shifted = scores - scores.amax(dim=-1, keepdim=True)
        if stretch != 1:
            shifted.mul_(stretch)
        threshold, in_support, size = _newton(shifted)
        weights = shifted.sub_(threshold).clamp_(min=0)
        if is_padded:  # a row without tokens shares its weight among padding
            weights, in_support = weights * is_token, in_support * is_token
        ctx.save_for_backward(in_support, size)
        ctx.stretch = stretch
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Weights) -> tuple[Weights, None, None]:
        centered = _Centered.apply(gradient, *ctx.saved_tensors, ctx.stretch)  # type: ignore[no-untyped-call]
        return centered, None, None


class _Centered(torch.autograd.Function):
    """`stretch` times a row less its mean over the support; zero elsewhere.

    This is the Jacobian of sparsemax, diag(s) - s s' / size for a support s of 0 and 1. It is
    linear and symmetric, so its derivative is itself.
    """

    @staticmethod
    def forward(
        ctx: Any, row: Weights, in_support: Weights, size: Sizes, stretch: float
    ) -> Weights:
        ctx.save_for_backward(in_support, size)
        ctx.stretch = stretch
        kept = row * in_support
        mean = kept.sum(dim=-1, keepdim=True) / size
        centered = kept.addcmul_(mean, in_support, value=-1)
        return centered if stretch == 1 else centered.mul_(stretch)

    @staticmethod
    def backward(ctx: Any, gradient: Weights) -> tuple[Weights, None, None, None]:
        centered = _Centered.apply(gradient, *ctx.saved_tensors, ctx.stretch)  # type: ignore[no-untyped-call]
        return centered, None, None, None


def _newton(shifted: Scores) -> tuple[Sizes, Weights, Sizes]:
    """Threshold, support (0 or 1 per token) and support size of rows whose maximum is 0.

    f(t) = sum of max(scores - t, 0) is convex and piecewise linear, so Newton's method for f(t) = 1
    rises steadily from below and ends exactly, as soon as the support no longer shrinks: no sort is
    needed. Clamps and signs stand in place of comparisons, which cost several times as much, and
    everything large happens in one place, which then stays near the processor.
    """
    threshold = torch.full_like(shifted[..., :1], -1.0)  # the maximum is 0, so it is no lower
    size = torch.full_like(threshold, shifted.shape[-1] + 1)
    room = torch.empty_like(shifted)
    while True:
        torch.sub(shifted, threshold, out=room).clamp_(min=0)
        excess = room.sum(dim=-1, keepdim=True) - 1
        smaller = room.sign_().sum(dim=-1, keepdim=True)
        if not bool((smaller < size).any()):
            return threshold, room, smaller
        size = smaller
        threshold.addcdiv_(excess, size)


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
