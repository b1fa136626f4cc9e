"""Matrix products as passes without gradients can have them on a CPU: faster, and the same.

With gradients, on a GPU and in other precisions they are PyTorch's own.
"""

from collections.abc import Callable
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor, nn

FEW_ROWS, MANY_ROWS = 32, 4096  # below oneDNN gains nothing: its calls cost more


def linear(
    rows: Float[Tensor, "*rows input"],
    weight: Float[Tensor, "output input"],
    bias: Float[Tensor, " output"] | None = None,
) -> Float[Tensor, "*rows output"]:
    """The linear map of each row."""
    count = rows.shape[:-1].numel()
    is_usual = rows.dtype != torch.float32 or not FEW_ROWS <= count <= MANY_ROWS
    if torch.is_grad_enabled() or rows.device.type != "cpu" or is_usual:
        return nn.functional.linear(rows, weight, bias)
    if (product := _product()) is None:
        return nn.functional.linear(rows, weight, bias)
    padded = rows.new_zeros(_rounded_up(count), rows.shape[-1])
    padded[:count] = rows.reshape(count, -1)
    # Of a weight that is a part of another matrix oneDNN takes the product number by number.
    found = product(padded, weight.contiguous(), bias)
    return found[:count].view(*rows.shape[:-1], -1)


@cache
def _product() -> Callable[[Tensor, Tensor, Tensor | None], Tensor] | None:
    """oneDNN's product of float32 matrices, which torch.compile calls too, if it is right here.

    PyTorch's own, by MKL, took twice as long on an AMD EPYC with AVX-512. The operator is not part
    of PyTorch's interface, so it is used only where it works out an example.
    """
    rows, weight = torch.arange(8.0).view(4, 2), torch.arange(6.0).view(3, 2)
    bias = torch.tensor([0.5, -1.0, 2.0])

    def product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")

    try:
        found = product(rows, weight, bias)
    except (AttributeError, RuntimeError, TypeError):
        return None
    return product if torch.allclose(found, rows @ weight.t() + bias) else None


def _rounded_up(count: int) -> int:
    """The next of 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, …: four numbers between powers of two.

    oneDNN writes machine code for each number of rows and keeps it, about half a megabyte.
    """
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step
