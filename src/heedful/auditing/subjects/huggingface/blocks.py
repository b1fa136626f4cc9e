"""The layers of a Hugging Face model as modules: what each gave out, and what it gives out without
the value of a position.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers import PreTrainedModel

from heedful.auditing.subjects.huggingface.attention import CannotWatch, Watch, watching
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch

States = Float[Tensor, "batch positions size"]


def block_lists(model: PreTrainedModel, count: int) -> list[nn.ModuleList]:
    """Lists of as many modules as the model has layers; the first is the list of its layers."""
    lists = [m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) == count]
    return [one for one in lists if all([*block.parameters()] for block in one)]


def states_of(given: Any) -> States:
    """The states among what a layer gives out."""
    states = given[0] if isinstance(given, tuple) else given
    if not isinstance(states, Tensor) or states.ndim != 3:
        raise CannotWatch("its layers do not give out states of positions")
    return states


@contextmanager
def block_outputs(model: PreTrainedModel, count: int) -> Iterator[list[States]]:
    """The states that the layers give out while the model runs; the list fills on the way."""
    found: list[States] = []
    with ExitStack() as stack:
        for block in block_lists(model, count)[0]:
            hook = block.register_forward_hook(lambda *told: found.append(states_of(told[2])))
            stack.callback(hook.remove)
        yield found


@dataclass(frozen=True)
class PassedBlock:
    """A layer that was run, and what it was given."""

    block: nn.Module
    given: tuple[Any, ...]
    options: Mapping[str, Any]
    output: States

    def again(self, model: PreTrainedModel) -> States:
        """The layer run once more."""
        return self._run(model, Watch(keeps=False))

    def without_value(self, model: PreTrainedModel, position: int) -> States:
        """The same with the value of one position zeroed."""
        return self._run(model, ZeroedValue(position))

    def _run(self, model: PreTrainedModel, watch: Watch) -> States:
        with watching(model, watch):
            return states_of(self.block(*self.given, **self.options))


def passed_blocks(model: PreTrainedModel, batch: PieceBatch, count: int) -> list[PassedBlock]:
    """All layers of one pass."""
    found: list[PassedBlock] = []

    def note(block: nn.Module, given: tuple[Any, ...], options: dict[str, Any], out: Any) -> None:
        found.append(PassedBlock(block, given, options, states_of(out)))

    with ExitStack() as stack:
        for block in block_lists(model, count)[0]:
            stack.callback(block.register_forward_hook(note, with_kwargs=True).remove)
        # A decoder that keeps keys and values for what it writes next would see them twice.
        takes_cache = "use_cache" in inspect.signature(model.forward).parameters
        no_cache = {"use_cache": False} if takes_cache else {}
        with watching(model, Watch(keeps=False)):
            model(**batch.inputs, **no_cache)
    if len(found) != count:
        raise CannotWatch(f"{len(found)} of its {count} layers were run")
    return found


@dataclass
class ZeroedValue(Watch):
    """Attention that takes nothing from one position."""

    position: int = 0

    def __init__(self, position: int) -> None:
        super().__init__(keeps=False)
        self.position = position

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:
        """As a watch, on other values."""
        zeroed = value.index_fill(2, torch.tensor([self.position], device=value.device), 0.0)
        return super().__call__(module, query, key, zeroed, attention_mask, **options)
