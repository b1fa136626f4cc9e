"""What the attention of each layer adds to the residual path beside it, found by looking.

A layer gives its state x and what its heads took, sent through the output matrix, to a sum; models
with a norm behind the sum (BERT) normalise it, those with a norm before attention (GPT-2, Llama) do
not. Which it is, is found out by comparing numbers, whatever a model calls its parts.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from heedful.auditing.subjects.huggingface.attention import CannotWatch, Watch, watching
from heedful.auditing.subjects.huggingface.blocks import block_lists
from heedful.auditing.subjects.huggingface.output_matrices import OutputMap
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.importance.seen import AttentionSum

CLOSE = 1e-4


@dataclass
class _Seen:
    """What was seen of one layer."""

    state: Tensor
    taken: Tensor | None = None  # what the output matrix made of what the heads took
    norms: list[tuple[nn.Module, Tensor, Tensor]] = field(default_factory=list)


def attention_sums(
    model: PreTrainedModel, batch: PieceBatch, maps: tuple[OutputMap, ...], count: int
) -> list[AttentionSum]:
    """The sum of each layer, in order; refused where one cannot be found."""
    layers: list[_Seen] = []
    linear = {id(one.linear) for one in maps}

    def begin(block: nn.Module, given: tuple[Any, ...]) -> None:
        layers.append(_Seen(given[0]))

    def end(module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        if not layers:  # before the first layer
            return
        if id(module) in linear:
            layers[-1].taken = output
        elif isinstance(output, Tensor):
            layers[-1].norms.append((module, given[0], output))

    watch = Watch()
    with ExitStack() as stack:
        for block in block_lists(model, count)[0]:
            stack.callback(block.register_forward_pre_hook(begin).remove)
        for module in model.modules():
            if id(module) in linear or "Norm" in type(module).__name__:
                stack.callback(module.register_forward_hook(end).remove)
        with torch.inference_mode(), watching(model, watch):
            model(**batch.inputs)
    if not len(maps) == len(layers) == len(watch.weights) == count:
        raise CannotWatch("what its layers add cannot be followed")
    return [
        _summed(seen, one, weights, values)
        for seen, one, weights, values in zip(
            layers, maps, watch.weights, watch.values, strict=True
        )
    ]


def _summed(seen: _Seen, output: OutputMap, weights: Tensor, values: Tensor) -> AttentionSum:
    if seen.taken is None:
        raise CannotWatch("what its heads took is not sent through a matrix")
    if seen.state.shape != seen.taken.shape:  # a bottleneck, as in MobileBERT
        raise CannotWatch("its layers add what they attend to to something narrower than a state")
    total = seen.state + seen.taken
    behind = next((n for n, norm in enumerate(seen.norms) if _is_close(norm[1], total)), None)
    if behind is None:
        raise CannotWatch("its layers do not add what they attend to to their states")
    values = values.repeat_interleave(weights.shape[1] // values.shape[1], dim=1)
    added = torch.einsum("bhps,hsd->bhpd", values, output.columns().to(values.dtype))
    is_before = any(_is_close(norm[1], seen.state) for norm in seen.norms[:behind])
    if is_before:
        return AttentionSum(weights, added, seen.state, total)
    module, _, normal = seen.norms[behind]
    if not isinstance(module, nn.LayerNorm):
        raise CannotWatch("the normalization after its attention is not a LayerNorm")
    deviation = (total.var(dim=-1, correction=0) + module.eps).sqrt()
    return AttentionSum(weights, added, seen.state, normal, deviation, module.weight)


def _is_close(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and bool((one - other).abs().max() < CLOSE * other.abs().max())
