"""Recurrent layers that PyTorch does not have."""

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn


@runtime_checkable
class Recurrence(Protocol):
    """The part of `nn.LSTM`'s interface that our encoders use."""

    def __init__(self, input_size: int, hidden_size: int, *, batch_first: bool) -> None: ...

    def __call__(self, inputs: Tensor) -> tuple[Tensor, Any]:
        """States of every step, and the last step's."""


class OrthogonalLSTM(nn.Module):
    """LSTM that takes out of each state what it shares with the mean of the states before it.

    hidden_t = o_t - <o_t, m> / (<m, m> + 1e-6) m,   m = mean of hidden_1 .. hidden_{t-1}

    `o_t` is the plain LSTM's state and `hidden_t` is what the next step sees (arXiv:2004.14243).
    The states depend on each other in order, so steps cannot run at once; everything that can
    stands outside the loop: the input products of all steps are one matrix product.
    """

    def __init__(self, input_size: int, hidden_size: int, *, batch_first: bool = True) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.from_input = nn.Linear(input_size, 4 * hidden_size)
        self.from_state = nn.Linear(hidden_size, 4 * hidden_size, bias=False)
        bound = hidden_size**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(
        self, inputs: Float[Tensor, "batch tokens input"]
    ) -> tuple[Float[Tensor, "batch tokens hidden"], Float[Tensor, "batch hidden"]]:
        """States of every step, and the last step's."""
        steps = self.from_input(inputs).unbind(dim=1)
        state = inputs.new_zeros(inputs.shape[0], self.hidden_size)
        memory, total = torch.zeros_like(state), torch.zeros_like(state)
        states = []
        weight = self.from_state.weight.t()
        for step in steps:
            gates, candidate = torch.addmm(step, state, weight).tensor_split(
                [3 * self.hidden_size], dim=1
            )
            keep, enter, leave = gates.sigmoid().chunk(3, dim=1)
            memory = keep * memory + enter * candidate.tanh()
            state = leave * memory.tanh()
            # The mean of the states before has the direction of their sum, and only that matters.
            overlap = (state * total).sum(dim=1, keepdim=True)
            state = state - overlap / (total.square().sum(dim=1, keepdim=True) + 1e-6) * total
            total = total + state
            states.append(state)
        return torch.stack(states, dim=1), state
