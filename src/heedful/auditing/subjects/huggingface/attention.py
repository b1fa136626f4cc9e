"""Attention inside a Hugging Face model: watched, held for a gradient, or replaced.

While a model is watched, its attention runs through a function of ours that calls the model's own
eager code, so what is seen is what the model computes. Both the function and its mask have to be
registered: with the function alone, transformers passes no mask, and padding is attended to.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask
from transformers.utils import logging

from heedful.errors import ConfigError
from heedful.readouts.base import IsPosition, Layer
from heedful.readouts.pooling import SPECIAL, sum_over_pieces

WordWeights = Float[Tensor, "batch words"]
LOOSE = {torch.float32: 1e-3, torch.float64: 1e-3}  # how far from 1 rows may sum
HALF = 3e-2  # the same for 16-bit numbers, which add up loosely
_numbers = count()  # no two watches share a name


class CannotWatch(ConfigError):
    """The model's attention does not run through the function that was put in its place."""


@dataclass(frozen=True)
class Imposition:
    """Other weights for the words, in the rows and heads that a readout looks at.

    A word that loses weight loses the same share of what each of these rows gives it. What is set
    free goes to the words that gain, in proportion to their gains, evenly over their pieces.
    Special positions keep what they have. So the shown weights change nothing, a row that is itself
    the shown weights becomes the imposed ones, and all weight on one word puts all that these rows
    give to words on that word. Positions that a row cannot see (a window) are given nothing.
    """

    layers: Sequence[int]
    heads: Sequence[int]
    is_read: IsPosition
    keep: Float[Tensor, "batch positions"]  # share that a position keeps
    gain: Float[Tensor, "batch positions"]  # share of what is set free

    @classmethod
    def of(
        cls,
        layers: Sequence[int],
        heads: Sequence[int],
        is_read: IsPosition,
        word_of: Int[Tensor, "batch positions"],
        shown: WordWeights,
        imposed: WordWeights,
    ) -> "Imposition":
        """From the weights of words, shown and imposed."""
        ratio = torch.where(shown > imposed, imposed / shown.clamp(min=1e-300), 1.0)
        gained = (imposed - shown).clamp(min=0)
        pieces = sum_over_pieces(
            torch.ones_like(word_of, dtype=shown.dtype), word_of, shown.shape[1]
        )
        place, is_word = word_of.clamp(min=0), word_of != SPECIAL
        keep = torch.where(is_word, ratio.gather(1, place), 1.0)
        gain = torch.where(is_word, (gained / pieces.clamp(min=1)).gather(1, place), 0.0)
        return cls(layers, heads, is_read, keep.float(), gain.float())

    def __call__(self, weights: Layer, is_seen: Bool[Tensor, "batch _ _ positions"]) -> Layer:
        """The weights of a layer with those of the chosen rows and heads replaced."""
        kept = weights * self.keep[:, None, None].to(weights.dtype)
        share = self.gain[:, None, None].to(weights.dtype) * is_seen
        total = share.sum(dim=-1, keepdim=True)
        freed = (weights - kept).sum(dim=-1, keepdim=True)
        moved = kept + freed * share / total.clamp(min=torch.finfo(weights.dtype).tiny)
        is_chosen = torch.zeros(weights.shape[1], dtype=torch.bool, device=weights.device)
        is_chosen[list(self.heads)] = True
        is_replaced = self.is_read[:, None, :, None] & is_chosen[None, :, None, None] & (total > 0)
        return torch.where(is_replaced, moved, weights)


@dataclass
class Watch:
    """What a watched model attended to, layer by layer in the order of their calls."""

    impose: Imposition | None = None
    holds: bool = False  # weights are constants to a gradient
    keeps: bool = True  # weights and values are noted
    calls: int = 0
    weights: list[Layer] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)

    def __call__(
        self,
        module: torch.nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        """The model's own attention, or what was asked for in its place."""
        output, weights = _eager_of(module)(module, query, key, value, attention_mask, **options)
        layer = self.calls
        self.calls += 1
        if self.holds:
            weights = weights.detach()
        if self.impose is not None and layer in self.impose.layers:
            weights = self.impose(weights, _is_seen(attention_mask, weights))
        if self.holds or self.impose is not None:
            values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
            output = (weights @ values).transpose(1, 2).reshape(output.shape).contiguous()
        if self.keeps:
            self.weights.append(weights)
            self.values.append(value)
        return output, weights


@contextmanager
def watching(model: PreTrainedModel, watch: Callable[..., tuple[Tensor, Tensor]]) -> Iterator[None]:
    """The model with its attention run through `watch`; then as it was before, come what may."""
    name = f"heedful-{next(_numbers)}"
    with as_it_was(model):
        AttentionInterface.register(name, watch)
        AttentionMaskInterface.register(name, eager_mask)
        try:
            model.set_attn_implementation(name)
            yield
        finally:
            for interface in (AttentionInterface, AttentionMaskInterface):
                interface._global_mapping.pop(name, None)


@contextmanager
def as_it_was(model: PreTrainedModel) -> Iterator[None]:
    """The model in evaluation mode; afterwards mode and way of attending are what they were."""
    modes = [(module, module.training) for module in model.modules()]
    configs = {id(m.config): m.config for m in model.modules() if isinstance(m, PreTrainedModel)}
    ways = [(config, config._attn_implementation_internal) for config in configs.values()]
    # Models that take no other attention say so in the log; here it is found out by counting calls.
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        model.eval()
        yield
    finally:
        logging.set_verbosity(verbosity)
        for module, is_training in modes:
            module.training = is_training
        for config, way in ways:
            config._attn_implementation_internal = way


@contextmanager
def parameters_held(model: PreTrainedModel) -> Iterator[None]:
    """Parameters that ask for no gradient, so that a backward pass ends at what does."""
    asking = [numbers for numbers in model.parameters() if numbers.requires_grad]
    try:
        for numbers in asking:
            numbers.requires_grad_(False)
        yield
    finally:
        for numbers in asking:
            numbers.requires_grad_()


def check_layers(weights: Sequence[Tensor], is_real: Bool[Tensor, "batch positions"]) -> None:
    """Attention from every position to every position, that sums to 1 over what is no padding."""
    if not weights:
        raise ConfigError(
            "the model returns no attention: it has none (as FNet), or does not return it. There "
            "is nothing to audit."
        )
    size = is_real.shape[1]
    for number, layer in enumerate(weights):
        if layer.ndim != 4 or layer.shape[2:] != (size, size):
            raise ConfigError(
                f"layer {number} attends in a shape of {tuple(layer.shape)}, not from each of "
                f"{size} positions to each (windows, or shortened texts): it cannot be read out."
            )
        sums = (layer.detach() * is_real[:, None, None]).sum(dim=-1)
        off = (sums - 1).abs().amax(dim=1)[is_real].amax()
        if off > LOOSE.get(layer.dtype, HALF):
            raise ConfigError(
                f"attention should sum to 1 over real positions; in layer {number} a row is off by "
                f"{float(off):.2f}. Does the model attend to padding, or to a sink?"
            )


def _eager_of(module: torch.nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """The plain attention of the module's own architecture."""
    home = sys.modules[type(module).__module__]
    eager = getattr(home, "eager_attention_forward", None)
    if eager is None:
        raise CannotWatch(f"{type(module).__name__} has no plain attention to look into")
    return eager


def _is_seen(mask: Tensor | None, weights: Layer) -> Bool[Tensor, "batch _ _ positions"]:
    """Which positions each row may attend to, from a mask of truth values or of large negatives."""
    if mask is None:
        return torch.ones_like(weights[:, :1], dtype=torch.bool)
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
