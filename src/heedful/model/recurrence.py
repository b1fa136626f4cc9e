"""Recurrent layers step by step, and one that PyTorch does not have.

`steps_of(layer)` gives any recurrent layer as two functions: the products of its inputs, taken for
all steps at once, and one step from state to state. A text that differs from another only from some
word on can then go on from the state before that word.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.model.inference_math import linear

Inputs = Float[Tensor, "*rows input"]
Products = Float[Tensor, "*rows gates"]
State = tuple[Tensor, ...]
"""What a layer remembers between two steps; the first part is the hidden state."""


class Steps(ABC):
    """A recurrent layer taken apart: rows may have any number of leading axes."""

    parts = 1  # tensors in a state
    hidden_size: int

    @abstractmethod
    def products(self, inputs: Inputs) -> Products:
        """What the inputs contribute to each step, whatever the state."""

    @abstractmethod
    def step(self, product: Products, state: State) -> State:
        """The state after one more input."""

    def advance(self, product: Products, state: State) -> None:
        """The same, written over the state; for use without gradients."""
        for old, new in zip(state, self.step(product, state), strict=True):
            old.copy_(new)


class SummedSteps(Steps, ABC):
    """A layer whose input and state products are simply added, so that its biases are one."""

    from_input: Tensor
    from_state: Tensor
    bias: Tensor

    def __init__(self, layer: nn.RNNBase) -> None:
        self.hidden_size = layer.hidden_size
        self.from_input, self.from_state, *biases = layer.all_weights[0]
        self.bias = biases[0] + biases[1]

    def products(self, inputs: Inputs) -> Products:
        """The input products of all gates."""
        return linear(inputs, self.from_input, self.bias)


class LSTMSteps(SummedSteps):
    """`nn.LSTM`, its gates in the order enter, keep, leave, candidate: three sigmoids in one."""

    parts = 2

    def __init__(self, layer: nn.LSTM) -> None:
        super().__init__(layer)
        self.from_input = _sigmoids_first(self.from_input)
        self.from_state = _sigmoids_first(self.from_state)
        self.bias = _sigmoids_first(self.bias)

    def step(self, product: Products, state: State) -> State:
        """The state after one more input."""
        hidden, memory = state
        gates = linear(hidden, self.from_state) + product
        sigmoids, candidate = gates.tensor_split([3 * self.hidden_size], dim=-1)
        enter, keep, leave = sigmoids.sigmoid().chunk(3, dim=-1)
        memory = torch.addcmul(keep * memory, enter, candidate.tanh())
        return leave * memory.tanh(), memory

    def advance(self, product: Products, state: State) -> None:
        """The same, written over the state; for use without gradients."""
        hidden, memory = state
        gates = linear(hidden, self.from_state).add_(product)
        sigmoids, candidate = gates.tensor_split([3 * self.hidden_size], dim=-1)
        enter, keep, leave = sigmoids.sigmoid_().chunk(3, dim=-1)
        memory.mul_(keep).addcmul_(enter, candidate.tanh_())
        torch.tanh(memory, out=hidden).mul_(leave)


class ElmanSteps(SummedSteps):
    """`nn.RNN` with tanh."""

    def step(self, product: Products, state: State) -> State:
        """The state after one more input."""
        return ((linear(state[0], self.from_state) + product).tanh(),)


class GRUSteps(Steps):
    """`nn.GRU`: the candidate sees the old state only through its reset gate."""

    def __init__(self, layer: nn.GRU) -> None:
        self.hidden_size = layer.hidden_size
        self.from_input, self.from_state, self.input_bias, self.state_bias = layer.all_weights[0]

    def products(self, inputs: Inputs) -> Products:
        """All three gates' input products."""
        return linear(inputs, self.from_input, self.input_bias)

    def step(self, product: Products, state: State) -> State:
        """The state after one more input."""
        (hidden,) = state
        of_state = linear(hidden, self.from_state, self.state_bias).chunk(3, dim=-1)
        of_input = product.chunk(3, dim=-1)
        reset = (of_input[0] + of_state[0]).sigmoid()
        keep = (of_input[1] + of_state[1]).sigmoid()
        candidate = (of_input[2] + reset * of_state[2]).tanh()
        return (candidate + keep * (hidden - candidate),)


class OrthogonalSteps(Steps):
    """`OrthogonalLSTM`; the third part of its state is the sum of the states so far."""

    parts = 3

    def __init__(self, layer: "OrthogonalLSTM") -> None:
        self.hidden_size = layer.hidden_size
        self.layer = layer

    def products(self, inputs: Inputs) -> Products:
        """All four gates' input products."""
        return self.layer.from_input(inputs)

    def step(self, product: Products, state: State) -> State:
        """The state after one more input."""
        hidden, memory, total = state
        gates = self.layer.from_state(hidden) + product
        keep, enter, leave, candidate = gates.chunk(4, dim=-1)
        memory = keep.sigmoid() * memory + enter.sigmoid() * candidate.tanh()
        hidden = leave.sigmoid() * memory.tanh()
        # The mean of the states before has the direction of their sum, and only that matters.
        overlap = (hidden * total).sum(dim=-1, keepdim=True)
        hidden = hidden - overlap / (total.square().sum(dim=-1, keepdim=True) + 1e-6) * total
        return hidden, memory, total + hidden


class OrthogonalLSTM(nn.Module):
    """LSTM that takes out of each state what it shares with the mean of the states before it.

    hidden_t = o_t - <o_t, m> / (<m, m> + 1e-6) m,   m = mean of hidden_1 .. hidden_{t-1}

    `o_t` is the plain LSTM's state and `hidden_t` is what the next step sees (arXiv:2004.14243).
    The states depend on each other in order, so steps cannot run at once. Everything that can
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
        steps = OrthogonalSteps(self)
        state = (inputs.new_zeros(inputs.shape[0], self.hidden_size),) * steps.parts
        states = []
        for product in steps.products(inputs).unbind(dim=1):
            state = steps.step(product, state)
            states.append(state[0])
        return torch.stack(states, dim=1), state[0]


def _sigmoids_first(rows: Tensor) -> Tensor:
    """PyTorch's order of gates (enter, keep, candidate, leave) with the candidate last."""
    enter, keep, candidate, leave = rows.chunk(4)
    return torch.cat([enter, keep, leave, candidate])


def steps_of(layer: nn.Module) -> Steps:
    """A recurrent layer taken apart into steps."""
    kinds: dict[type, Any] = {
        nn.LSTM: LSTMSteps,
        nn.GRU: GRUSteps,
        nn.RNN: ElmanSteps,
        OrthogonalLSTM: OrthogonalSteps,
    }
    return kinds[type(layer)](layer)
