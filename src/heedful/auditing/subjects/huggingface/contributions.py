"""What every position gives to the logits of a Transformer, biases included: one pass forth.

A text is read once for itself and once for each of its positions, all in one batch (`SharedBiases`
says how), with the attention of the text itself.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import PreTrainedModel

from heedful.auditing.subjects.huggingface.attention import Watch, watching
from heedful.auditing.subjects.huggingface.output_matrices import OutputMap
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.importance.held_layers import layers_held
from heedful.importance.shared_biases import SharedBiases

Vectors = Float[Tensor, "batch positions size"]
Embedded = Callable[[Callable[[Vectors], Vectors]], AbstractContextManager[object]]


def contributions(
    model: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    embedded: Embedded,
    waiting: frozenset[int],
) -> tuple[Float[Tensor, "batch classes"], Float[Tensor, "batch positions classes"]]:
    """The logits of each row, and what each position gives to them.

    `embedded` changes what the first layer is given; `waiting` is what `biased_later` found.
    """
    rows, longest = inputs["input_ids"].shape
    mode = SharedBiases(longest + 2, waiting)

    def each_alone(vectors: Vectors) -> Vectors:
        blocks = vectors.unflatten(0, (longest + 2, rows)).clone()
        place = torch.arange(longest, device=vectors.device)
        blocks[1:] = 0
        blocks[place + 1, :, place] = blocks[0].clone().transpose(0, 1)
        return blocks.flatten(0, 1)

    watch, every = _OfFirst(mode, rows), {n: x.repeat(longest + 2, 1) for n, x in inputs.items()}
    with torch.no_grad(), watching(model, watch), embedded(each_alone), layers_held(model, mode):
        logits = model(**every).logits
        mode.is_paused = True
        mode.share_out(logits)
        blocks = logits.unflatten(0, (longest + 2, rows))
        return blocks[0], blocks[1:-1].transpose(0, 1)


def biased_later(
    model: PreTrainedModel, batch: PieceBatch, maps: Sequence[OutputMap]
) -> frozenset[int]:
    """The ids of the weights of linear maps within attention, and of those behind it."""
    watch = _Modules()
    with torch.no_grad(), watching(model, watch):
        model(**batch.inputs)
    linear = [one.linear for one in maps]
    linear += [part for module in watch.modules for part in module.modules()]
    weights = (getattr(module, "weight", None) for module in linear)
    return frozenset(id(one) for one in weights if isinstance(one, Tensor))


class _OfFirst(Watch):
    """The attention of the text itself, by which the values of every block are taken."""

    def __init__(self, mode: SharedBiases, rows: int) -> None:
        super().__init__(keeps=False)
        self._mode, self._rows = mode, rows

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        """As a watch, on the first rows."""
        some = slice(self._rows)
        mask = None if attention_mask is None else attention_mask[some]
        first = query[some], key[some], value[some]
        self._mode.is_paused = True
        try:
            _, weights = super().__call__(module, *first, mask, **options)
            values = value.unflatten(0, (self._mode.blocks, self._rows))
            values = values.repeat_interleave(weights.shape[1] // value.shape[1], dim=2)
            return (weights @ values).transpose(2, 3).flatten(0, 1).contiguous(), weights
        finally:
            self._mode.is_paused = False


class _Modules(Watch):
    """A watch that knows which modules attend."""

    def __init__(self) -> None:
        super().__init__(keeps=False)
        self.modules: list[nn.Module] = []

    def __call__(self, module: nn.Module, *given: Any, **options: Any) -> tuple[Tensor, Tensor]:
        """As a watch."""
        self.modules.append(module)
        return super().__call__(module, *given, **options)
