"""Matrix products as passes without gradients can have them on a CPU: faster, and the same.

With gradients, on a GPU and in other precisions they are PyTorch's own.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

# oneDNN's product of float32 matrices, which torch.compile calls too. PyTorch's own, by MKL, took
# twice as long on an AMD EPYC with AVX-512.
_product = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
FEW_ROWS, MANY_ROWS = 32, 4096  # below oneDNN gains nothing: its calls cost more


def linear(
    rows: Float[Tensor, "*rows input"],
    weight: Float[Tensor, "output input"],
    bias: Float[Tensor, " output"] | None = None,
) -> Float[Tensor, "*rows output"]:
    """The linear map of each row."""
    count = rows.shape[:-1].numel()
    is_usual = rows.dtype != torch.float32 or not FEW_ROWS <= count <= MANY_ROWS
    if torch.is_grad_enabled() or rows.device.type != "cpu" or is_usual or _product is None:
        return nn.functional.linear(rows, weight, bias)
    padded = rows.new_zeros(_rounded_up(count), rows.shape[-1])
    padded[:count] = rows.reshape(count, -1)
    # Of a weight that is a part of another matrix oneDNN takes the product number by number.
    found = _product(padded, weight.contiguous(), bias, "none", [], "")
    return found[:count].view(*rows.shape[:-1], -1)


def _rounded_up(count: int) -> int:
    """The next of 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, …: four numbers between powers of two.

    oneDNN writes machine code for each number of rows and keeps it, about half a megabyte.
    """
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step
