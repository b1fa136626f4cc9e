"""Sparse projections on a GPU: each row is read once and written once, its threshold in between.

A program of the kernel holds one row in registers and finds the threshold there, by Newton's method
from below: it needs no sort, and the last step is exact. The backward passes are kernels, too. They
are autograd functions themselves, so that everything can be differentiated twice.

    sparsemax   weights = max(z - t, 0),     gradient = s (g - <s, g> / <s, 1>),  s = weights > 0
    entmax      weights = max(z - t, 0)^2,   gradient = s (g - <s, g> / <s, 1>),  s = weights^(1/2)

with z the stretched scores (for entmax their half), less the largest. `heedful.model.projections`
asks `can_project`, and has the same maps without kernels for everything else.
"""

from functools import cache
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float
from torch import Tensor

Rows = Float[Tensor, "*rows tokens"]
IsToken = Bool[Tensor, "*rows tokens"]

LONGEST = 16_384  # tokens of a row that one program can hold
PER_WARP = 512  # tokens of a row that one warp holds: 16 registers for each of its threads
MOST_WARPS = 16
CLOSE = 1e-5  # how near kernels must come to an example worked out by hand
DTYPES = (torch.float32, torch.float64)
# Newton's step at which entmax's support is as good as known. The last step then solves for the
# threshold exactly; a word that it wrongly counts in has a weight of less than the square of this.
NEAR = {torch.float32: 1e-4, torch.float64: 1e-8}


@triton.jit
@no_type_check
def _masked_row(
    scores, is_token, stretch, scores_stride, token_stride, tokens, BLOCK: tl.constexpr
):  # fmt: skip
    """A row of stretched scores less the largest, and which are tokens.

    What is no token lies so low that it gets nothing, unless there is nothing else.
    """
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BLOCK)
    is_inside = place < tokens
    score = tl.load(scores + row * scores_stride + place, mask=is_inside, other=0.0)
    token = tl.load(is_token + row * token_stride + place, mask=is_inside, other=0) != 0
    score = tl.where(token, score, -1e37)
    return (score - tl.max(score, 0)) * stretch, token


@triton.jit
@no_type_check
def _store(values, into, tokens, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BLOCK)
    tl.store(into + row * tokens + place, values, mask=place < tokens)


@triton.jit
@no_type_check
def _sparsemax_kernel(
    scores, is_token, weights, stretch, scores_stride, token_stride, tokens, BLOCK: tl.constexpr
):  # fmt: skip
    """Newton's method for: sum of max(z - t, 0) = 1. The support shrinks until it is right."""
    z, token = _masked_row(scores, is_token, stretch, scores_stride, token_stride, tokens, BLOCK)
    size = tl.sum((z > -1.0).to(tl.int32), 0)  # the largest is 0, so the threshold is not below -1
    threshold = (tl.sum(_above(z, -1.0), 0) - 1.0) / size - 1.0
    smaller = tl.sum((z > threshold).to(tl.int32), 0)
    while smaller < size:
        size = smaller
        threshold += (tl.sum(_above(z, threshold), 0) - 1.0) / size
        smaller = tl.sum((z > threshold).to(tl.int32), 0)
    # What was rounded next to 1 is mended where it is small: long rows would sum to 1.001.
    threshold += (tl.sum(_above(z, threshold), 0) - 1.0) / size
    _store(tl.where(token, _above(z, threshold), 0.0), weights, tokens, BLOCK)


@triton.jit
@no_type_check
def _entmax_kernel(
    scores, is_token, weights, stretch, scores_stride, token_stride, tokens, near,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Newton's method for: sum of max(z - t, 0)^2 = 1, then its solution on the support."""
    z, token = _masked_row(scores, is_token, stretch, scores_stride, token_stride, tokens, BLOCK)
    above = _above(z, -1.0)
    total = tl.sum(above, 0)
    squares = tl.sum(above * above, 0)
    step = (squares - 1.0) / (2.0 * total)
    threshold = step - 1.0
    above = _above(z, threshold)
    total = tl.sum(above, 0)
    squares = tl.sum(above * above, 0)
    step = (squares - 1.0) / (2.0 * total)
    while step > near:
        threshold += step
        above = _above(z, threshold)
        total = tl.sum(above, 0)
        squares = tl.sum(above * above, 0)
        step = (squares - 1.0) / (2.0 * total)
    size = tl.sum((above > 0.0).to(tl.int32), 0)
    mean = total / size
    spread = squares - total * mean
    threshold += mean - tl.sqrt((1.0 - spread) / size)
    above = _above(z, threshold)
    _store(tl.where(token, above * above, 0.0), weights, tokens, BLOCK)


@triton.jit
@no_type_check
def _above(z, threshold):
    """How far scores lie above the threshold; NaN stays NaN."""
    return tl.maximum(z - threshold, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
@no_type_check
def _centered_kernel(
    gradient, weights, result, stretch, tokens, IS_ROOT: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """The gradient by the scores: s (g - <s, g> / <s, 1>), times the stretch."""
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BLOCK)
    is_inside = place < tokens
    weight = tl.load(weights + row * tokens + place, mask=is_inside, other=0.0)
    given = tl.load(gradient + row * tokens + place, mask=is_inside, other=0.0)
    share = tl.sqrt(weight) if IS_ROOT else tl.where(weight > 0.0, 1.0, 0.0).to(weight.dtype)
    total = tl.sum(share, 0)
    mean = tl.sum(share * given, 0) / tl.where(total > 0.0, total, 1.0)
    _store(share * (given - mean) * stretch, result, tokens, BLOCK)


def can_project(scores: Rows) -> bool:
    """Whether a kernel takes these rows: on a working GPU, not too long, in fp32 or fp64."""
    return (
        scores.is_cuda
        and scores.dtype in DTYPES
        and scores.shape[-1] <= LONGEST
        and scores.numel() > 0
        and _works_on(scores.device)
    )


@cache
def _works_on(device: torch.device) -> bool:
    """Whether kernels can be compiled for a device, and find there what they should.

    Triton needs a C compiler and a recent GPU. Where either is missing, or an example worked out by
    hand comes out otherwise, the plain maps do the work.
    """
    scores = torch.tensor([[0.6, 0.5, 0.0], [1.0, 1.0, 1.0], [1.0, 2.0, 3.0]], device=device)
    is_token = torch.tensor([[True] * 3, [True] * 3, [False] * 3], device=device)
    row, even, nothing = [0.55, 0.45, 0.0], [1 / 3] * 3, [0.0] * 3
    try:
        weights = _forward(_sparsemax_kernel, scores, is_token, 1.0)
        flat = _forward(_entmax_kernel, scores, is_token, 0.5, NEAR[scores.dtype])
        gradient = torch.tensor([[1.0, 0.0, 0.0]] * 3, device=device)
        centered = _centered(gradient, weights, 2.0, is_root=False)
        found = torch.cat([weights, flat[1:], centered[:1]]).cpu()
    except Exception:  # noqa: BLE001  (compilers fail in many ways, and nothing is lost)
        return False
    expected = torch.tensor([row, even, nothing, even, nothing, [1.0, -1.0, 0.0]])
    return bool(((found - expected).abs() < CLOSE).all())


def sparsemax(scores: Rows, is_token: IsToken, stretch: float) -> Rows:
    """Sparsemax of `stretch * scores`."""
    if scores.dtype == torch.float64:  # numbers that a kernel is given are fp32
        scores, stretch = scores * stretch, 1.0
    if not _is_recorded(scores):
        return _forward(_sparsemax_kernel, scores, is_token, stretch)
    return _Sparsemax.apply(scores, is_token, stretch)  # type: ignore[no-untyped-call]


def entmax(scores: Rows, is_token: IsToken) -> Rows:
    """Entmax with exponent 1.5."""
    if not _is_recorded(scores):
        return _forward(_entmax_kernel, scores, is_token, 0.5, NEAR[scores.dtype])
    return _Entmax.apply(scores, is_token)  # type: ignore[no-untyped-call]


def _is_recorded(values: Tensor) -> bool:
    """Whether autograd must know of what is done to them; if not, its bookkeeping is left out."""
    return values.requires_grad and torch.is_grad_enabled()


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Rows, is_token: IsToken, stretch: float) -> Rows:
        weights = _forward(_sparsemax_kernel, scores, is_token, stretch)
        ctx.save_for_backward(weights)
        ctx.stretch = stretch
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Rows) -> tuple[Rows, None, None]:
        (weights,) = ctx.saved_tensors
        if not _is_recorded(gradient):
            return _centered(gradient, weights, ctx.stretch, is_root=False), None, None
        # The support does not move with the scores, so nothing flows back through it.
        centered = _OfSupport.apply(gradient, weights.detach(), ctx.stretch)  # type: ignore[no-untyped-call]
        return centered, None, None


class _OfSupport(torch.autograd.Function):
    """Linear in the gradient and symmetric, so its derivative is itself."""

    @staticmethod
    def forward(ctx: Any, gradient: Rows, weights: Rows, stretch: float) -> Rows:
        ctx.save_for_backward(weights)
        ctx.stretch = stretch
        return _centered(gradient, weights, stretch, is_root=False)

    @staticmethod
    def backward(ctx: Any, gradient: Rows) -> tuple[Rows, None, None]:
        (weights,) = ctx.saved_tensors
        return _OfSupport.apply(gradient, weights, ctx.stretch), None, None  # type: ignore[no-untyped-call]


class _Entmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Rows, is_token: IsToken) -> Rows:
        weights = _forward(_entmax_kernel, scores, is_token, 0.5, NEAR[scores.dtype])
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Rows) -> tuple[Rows, None]:
        (weights,) = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return _centered(gradient, weights, 1.0, is_root=True), None
        return _OfRoots.apply(gradient, weights), None  # type: ignore[no-untyped-call]


class _OfRoots(torch.autograd.Function):
    """s (g - <s, g> / <s, 1>) with s = weights^(1/2): also a function of the weights."""

    @staticmethod
    def forward(ctx: Any, gradient: Rows, weights: Rows) -> Rows:
        ctx.save_for_backward(gradient, weights)
        return _centered(gradient, weights, 1.0, is_root=True)

    @staticmethod
    def backward(ctx: Any, upstream: Rows) -> tuple[Rows, Rows]:
        gradient, weights = ctx.saved_tensors
        is_chosen = weights > 0
        root = torch.where(is_chosen, weights, 1.0).sqrt() * is_chosen
        total = root.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(root.dtype).tiny)
        mean = (root * gradient).sum(dim=-1, keepdim=True) / total
        other = (root * upstream).sum(dim=-1, keepdim=True) / total
        by_root = upstream * (gradient - mean) - other * (gradient - mean)
        by_weights = torch.where(is_chosen, by_root / (2 * torch.where(is_chosen, root, 1.0)), 0.0)
        return _OfRoots.apply(upstream, weights), by_weights  # type: ignore[no-untyped-call]


def _forward(kernel: Any, scores: Rows, is_token: IsToken, *numbers: float) -> Rows:
    """Weights of all rows; `numbers` are the stretch and what else a kernel takes."""
    stretch, *others = numbers
    tokens = scores.shape[-1]
    rows = _as_rows(scores)
    tokens_of_rows = _as_rows(is_token.view(torch.uint8))
    weights = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
    _launch(
        kernel, rows, tokens_of_rows, weights, stretch,
        rows.stride(0), tokens_of_rows.stride(0), tokens, *others,
    )  # fmt: skip
    return weights


def _centered(gradient: Rows, weights: Rows, stretch: float, *, is_root: bool) -> Rows:
    gradient, weights = _as_rows(gradient.contiguous()), weights.contiguous()
    result = torch.empty_like(weights)
    _launch(
        _centered_kernel, gradient, weights, result, stretch, weights.shape[-1], IS_ROOT=is_root
    )
    return result


def _as_rows(values: Tensor) -> Tensor:
    """Two axes, tokens next to each other; rows may be the same row again."""
    rows = values if values.dim() == 2 else values.reshape(-1, values.shape[-1])
    return rows if rows.stride(1) == 1 or rows.shape[1] == 1 else rows.contiguous()


def _launch(kernel: Any, rows: Tensor, *arguments: object, **options: object) -> None:
    """One program for each row, as many warps as hold it."""
    block = triton.next_power_of_2(rows.shape[1])
    warps = min(MOST_WARPS, max(1, block // PER_WARP))
    if not rows.is_cuda:  # Triton's interpreter
        kernel[(rows.shape[0],)](rows, *arguments, **options, BLOCK=block, num_warps=warps)
        return
    with torch.cuda.device(rows.device):
        kernel[(rows.shape[0],)](rows, *arguments, **options, BLOCK=block, num_warps=warps)
