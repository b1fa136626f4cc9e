"""A forward pass that a gradient sees as linear: whatever is not linear is held as it came out.

Attention weights, the standard deviations of normalisation, and the slopes act(z) / z of
activations are constants to a gradient; the numbers of the pass stay as they are. What is left is
linear maps and biases, so a logit is the sum of what the inputs x and the biases b give to it:

    logit = < d logit / d x , x >  +  sum over b of < d logit / d b , b >

The sum holds only if everything that is not linear was held: `unexplained` is what it lacks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# By the names that torch gives its functions.
CONSTANTS = frozenset({"softmax", "rsqrt"})  # attention; deviations, where they are written out
ACTIVATIONS = frozenset(
    {
        "celu", "elu", "gelu", "hardswish", "hardtanh", "leaky_relu", "mish", "relu", "relu6",
        "selu", "silu", "tanh",
    }
)  # fmt: skip
WRITTEN_OUT = "transformers.activations"  # activations made of several functions
NORMS = {"layer_norm": True, "rms_norm": False}  # and whether they take the mean away
PRODUCTS = frozenset({"mul", "multiply", "__mul__", "__rmul__"})


class HeldFunctions(TorchFunctionMode):
    """Functions of torch whose results are constants to gradients, or multiples of their inputs.

    A gate, an activation that is multiplied with something else (as in Llama), is a constant too.
    """

    def __init__(self) -> None:
        super().__init__()
        self._activations: list[Tensor] = []  # of this pass, kept so that none gets another's id

    def constant(self, value: Tensor) -> Tensor:
        """A value that is held."""
        return value.detach()

    def shifted(self, given: Tensor, bias: Tensor) -> Tensor:
        """Something with a bias added to it."""
        return given + bias

    def activation(self, given: Tensor, output: Tensor) -> Tensor:
        """An activation as a multiple of what it was made from."""
        is_zero = given == 0
        slope = torch.where(is_zero, 0.0, output / torch.where(is_zero, 1.0, given))
        self._activations.append(given * self.constant(slope))
        return self._activations[-1]

    def _is_activation(self, value: Any) -> bool:
        return any(value is known for known in self._activations)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The function itself, or what holds it."""
        name, options = getattr(func, "__name__", ""), dict(kwargs or {})
        if name in CONSTANTS:
            return self.constant(func(*args, **options))
        if name in ACTIVATIONS:
            return self.activation(args[0], func(*args, **options))
        if name in PRODUCTS and sum(isinstance(one, Tensor) for one in args) == 2:
            first, second = args
            if self._is_activation(first):
                return func(self.constant(first), second, **options)
            if self._is_activation(second):
                return func(first, self.constant(second), **options)
        if name == "scaled_dot_product_attention":
            query, key, *others = args
            return func(self.constant(query), self.constant(key), *others, **options)
        if name in NORMS:
            return self.normalised(*args, **options, is_centred=NORMS[name])
        return func(*args, **options)

    def normalised(
        self,
        given: Tensor,
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float | None = None,
        *,
        is_centred: bool,
    ) -> Tensor:
        """Divided by a deviation that is a constant."""
        over = tuple(range(-len(normalized_shape), 0))
        moved = given - given.mean(dim=over, keepdim=True) if is_centred else given
        eps = torch.finfo(given.dtype).eps if eps is None else eps
        deviation = (moved.square().mean(dim=over, keepdim=True) + eps).sqrt()
        scaled = moved / self.constant(deviation)
        if weight is not None:
            scaled = scaled * weight
        return scaled if bias is None else self.shifted(scaled, bias)


@contextmanager
def layers_held(model: nn.Module, held: HeldFunctions | None = None) -> Iterator[None]:
    """What is not linear in a model is constant to the gradients of a pass.

    Functions of torch are replaced, so it does not matter what a model calls its layers.
    """

    mode = held or HeldFunctions()

    def hold(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return mode.activation(given[0], output)

    with ExitStack() as stack:
        for module in model.modules():
            if type(module).__module__ == WRITTEN_OUT:
                stack.callback(module.register_forward_hook(hold).remove)
        stack.enter_context(mode)
        yield


def unexplained(
    model: nn.Module, run: Callable[[], tuple[Tensor, Float[Tensor, "batch classes"]]]
) -> float:
    """The share of the first logits that inputs and biases do not add up to, in a held pass.

    `run` gives the inputs and the logits. 0, but for rounding: everything was held.
    """
    biases = [
        numbers
        for name, numbers in model.named_parameters()
        if name.endswith("bias") and numbers.ndim == 1
    ]
    asked = [numbers.requires_grad for numbers in biases]
    try:
        for numbers in biases:
            numbers.requires_grad_()
        with torch.enable_grad(), layers_held(model):
            given, logits = run()
        first = logits[:, 0]  # those of all classes together may cancel
        slopes = torch.autograd.grad(
            first.sum(), [given, *biases], allow_unused=True, materialize_grads=True
        )
    finally:
        for numbers, was_asked in zip(biases, asked, strict=True):
            numbers.requires_grad_(was_asked)
    found = sum(
        float((slope.double() * numbers.detach().double()).sum())
        for slope, numbers in zip(slopes, [given, *biases], strict=True)
    )
    first = first.detach().double()
    return abs(float(first.sum()) - found) / max(float(first.abs().sum()), 1e-9)
