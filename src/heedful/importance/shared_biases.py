"""A forward pass of what each position gives, with the biases shared out among the positions.

Everything that is not linear is held, and the rows of a batch are blocks:

    the pass itself | what position 1 gives | ... | what position n gives | biases nobody has yet

A bias b that is added to what the positions give, z_k, is shared out in proportion to how far each
of them goes its way (DecompX, arXiv:2306.02873):

    z_k + s_k b,   s_k = | < b , z_k > |  /  sum over j of | < b , z_j > |

Biases of values and of output matrices wait until the heads' output has been added to the states:
the next norm shares them out.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from heedful.importance.held_layers import HeldFunctions

LINEAR = {"linear": (0, 1, 2), "addmm": (1, 2, 0)}  # places of what is given, weight and bias


class SharedBiases(HeldFunctions):
    """Functions of torch on such a batch; `later` are the ids of weights whose biases wait."""

    def __init__(self, blocks: int, later: Collection[int]) -> None:
        super().__init__()
        self.blocks = blocks
        self.is_paused = False
        self._later = frozenset(later)

    def constant(self, value: Tensor) -> Tensor:
        """That of the pass itself, for all blocks."""
        own = self._of_blocks(value)[:1]
        return own.expand(self.blocks, *own.shape[1:]).flatten(0, 1)

    def shifted(self, given: Tensor, bias: Tensor) -> Tensor:
        """With the bias shared out."""
        shifted = self.waiting(given, bias)
        self.share_out(shifted)
        return shifted

    def waiting(self, given: Tensor, bias: Tensor) -> Tensor:
        """With a bias that nobody has yet."""
        shifted = given.clone()
        blocks = self._of_blocks(shifted)
        blocks[0] += bias
        blocks[-1] += bias
        return shifted

    def share_out(self, given: Tensor) -> None:
        """Share out what waits, in place: the states beside a norm lose it, too.

        What points along no position's part keeps waiting.
        """
        blocks = self._of_blocks(given)
        parts, bias = blocks[1:-1], blocks[-1].clone()
        along = (parts * bias).sum(dim=-1, keepdim=True).abs()
        total = along.sum(dim=0)
        parts += torch.where(total > 0, along / total, 0.0) * bias
        blocks[-1] = torch.where(total > 0, 0.0, bias)

    def normalised(self, given: Tensor, *args: Any, **options: Any) -> Tensor:
        """What waits is shared out before."""
        self.share_out(given)
        return super().normalised(given, *args, **options)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Linear maps without their biases, which are shared out; the others as they are held."""
        name, options = getattr(func, "__name__", ""), dict(kwargs or {})
        if self.is_paused:
            return func(*args, **options)
        if name not in LINEAR or len(args) < 3 or args[LINEAR[name][2]] is None:
            return super().__torch_function__(func, types, args, kwargs)
        given, weight, bias = (args[place] for place in LINEAR[name])
        product = func(given, weight) if name == "linear" else given @ weight
        add = self.waiting if id(weight) in self._later else self.shifted
        return add(product, bias)

    def _of_blocks(self, value: Tensor) -> Tensor:
        return value.unflatten(0, (self.blocks, -1))
