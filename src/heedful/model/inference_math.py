"""tanh and matrix products as passes without gradients can have them on a CPU: faster, and the same
to rounding. With gradients, on a GPU and in other precisions they are PyTorch's own."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

# oneDNN's product of float32 matrices, which torch.compile calls too. On AMD's processors PyTorch's
# own, by MKL, takes twice as long; on Intel's there is little between them.
_product = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
FEW_ROWS = 32  # below, oneDNN gains nothing: its calls cost more


def tanh(values: Tensor, out: Tensor | None = None) -> Tensor:
    """tanh(x) = 2 sigmoid(2 x) - 1, which on a CPU PyTorch computes five times as fast.

    In single precision it is off by 2e-7 at most, everywhere; near 0, where tanh itself is small,
    that is more than PyTorch's own rounding.
    """
    if torch.is_grad_enabled() or values.device.type != "cpu":
        return torch.tanh(values, out=out)
    return torch.mul(values, 2, out=out).sigmoid_().mul_(2).sub_(1)


def linear(
    rows: Float[Tensor, "*rows input"],
    weight: Float[Tensor, "output input"],
    bias: Float[Tensor, " output"] | None = None,
) -> Float[Tensor, "*rows output"]:
    """The linear map of each row."""
    is_slower = rows.shape[:-1].numel() < FEW_ROWS or rows.dtype != torch.float32
    if torch.is_grad_enabled() or rows.device.type != "cpu" or is_slower or _product is None:
        return nn.functional.linear(rows, weight, bias)
    # Of anything but whole rows oneDNN takes the product number by number.
    return _product(rows.contiguous(), weight.contiguous(), bias, "none", [], "")
