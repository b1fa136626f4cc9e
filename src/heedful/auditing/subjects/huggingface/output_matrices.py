"""What a layer does to the values that its heads take: its output matrix, found by following them.

Architectures name this matrix differently and keep it in different places, but each of them hands
what its heads took to one linear map. So the map is found by looking who is given just that.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import PreTrainedModel

from heedful.auditing.subjects.huggingface.attention import Watch, watching
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch
from heedful.readouts.base import Squares

Look = Callable[[nn.Module, tuple[Any, ...]], None]


class Followed(Watch):
    """A watch that also knows what the last layer's heads took."""

    taken: Tensor | None = None

    def __call__(self, *given: Any, **options: Any) -> tuple[Tensor, Tensor]:
        """As a watch."""
        output, weights = super().__call__(*given, **options)
        self.taken = output
        return output, weights


@dataclass(frozen=True)
class OutputMap:
    """The linear map that a layer sends through what its heads took, side by side."""

    linear: nn.Module
    heads: int
    size: int  # of a head's values

    def squares(self) -> Squares:
        """Matrices by which the length of what each head adds follows from the value it takes.

        |W v|² = v' (W' W) v,   W: the columns of the output matrix that a head's values meet
        """
        of_heads = self.columns()
        return of_heads @ of_heads.transpose(1, 2)

    def columns(self) -> Float[Tensor, "heads size model"]:
        """What each component of each head's values becomes, in double precision."""
        weight = next(self.linear.parameters())
        with torch.no_grad():
            each = torch.eye(self.heads * self.size, dtype=weight.dtype, device=weight.device)
            columns = self.linear(each) - self.linear(torch.zeros_like(each[:1]))
            return columns.double().unflatten(0, (self.heads, self.size))


def output_maps(model: PreTrainedModel, batch: PieceBatch) -> list[OutputMap]:
    """The map of each layer, in the order of their calls; none if any cannot be found."""
    watch = Followed(keeps=False)
    found: dict[int, OutputMap] = {}

    def look(module: nn.Module, given: tuple[Any, ...]) -> None:
        if watch.taken is not None and given and _is_same(given[0], watch.taken):
            heads, size = watch.taken.shape[2:]
            found.setdefault(watch.calls, OutputMap(module, heads, size))

    with torch.inference_mode(), watching(model, watch), _looking(model, look):
        model(**batch.inputs)
    is_whole = [*found] == [*range(1, watch.calls + 1)]
    return [*found.values()] if is_whole else []


@contextmanager
def _looking(model: PreTrainedModel, look: Look) -> Iterator[None]:
    """Every linear map of the model tells what it is given."""
    with ExitStack() as stack:
        for module in model.modules():
            if _is_linear(module):
                stack.callback(module.register_forward_pre_hook(look).remove)
        yield


def _is_linear(module: nn.Module) -> bool:
    """Whether a module is one matrix, with or without a bias: Linear, or GPT-2's Conv1D."""
    weight = getattr(module, "weight", None)
    is_matrix = isinstance(weight, Tensor) and weight.ndim == 2
    return is_matrix and not isinstance(module, nn.Embedding) and not [*module.children()]


def _is_same(given: object, taken: Float[Tensor, "batch positions heads size"]) -> bool:
    """The same numbers in the same order, whatever their shape."""
    if not isinstance(given, Tensor) or given.numel() != taken.numel():
        return False
    return torch.equal(given.flatten(), taken.flatten())
