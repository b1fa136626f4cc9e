"""How much each word of a text bears on each state: the input -> state influence matrix.

influence[p, i] = | d |hidden_p| / d embedded_i |, rows divided by their sums (Meister et al. 2021)

Row p says where the state at word p comes from. For an encoder that reads no context it is the
identity. All rows of all documents take one batched backward pass, not one per state; through an
LSTM that pass is written out, and a row only travels over the words that its state has read.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.importance.seen import gradients_in_eval
from heedful.model.classifier import AttentionClassifier
from heedful.model.inference_math import linear
from heedful.model.layers import Recurrent, turn_round
from heedful.model.recurrence import LSTMSteps, State
from heedful.text.batching import Batch

Matrix = Float[Tensor, "batch states words"]
CELLS_AT_ONCE = 2**24  # numbers of a gradient that are held together
NOTHING = 1e-25  # of a unit vector: smaller parts are dropped


def influence(model: AttentionClassifier, batch: Batch) -> Matrix:
    """The influence matrix of each document; zero on padding."""
    both = batch.is_token.unsqueeze(1) & batch.is_token.unsqueeze(2)
    if not model.encoder.reads_context:
        return torch.eye(both.shape[-1]).to(next(model.parameters())) * both
    lengths = state_gradient_lengths(model, batch) * both
    total = lengths.sum(dim=-1, keepdim=True)
    return lengths / total.masked_fill(total == 0, 1.0)


def state_gradient_lengths(model: AttentionClassifier, batch: Batch) -> Matrix:
    """Length of the gradient of each state's norm by each word's embedding."""
    encoder = model.encoder
    if isinstance(encoder, Recurrent) and isinstance(encoder.forwards, nn.LSTM):
        with torch.no_grad():
            return _through_lstm(encoder, model.embed(batch), batch)
    return _through_graph(model, batch)


def _through_graph(model: AttentionClassifier, batch: Batch) -> Matrix:
    """Any encoder: rows of a batched backward pass."""
    with gradients_in_eval(model):
        embedded = model.embed(batch).detach().requires_grad_()
        norms = model.encoder(embedded, batch.is_token).norm(dim=-1)
        states = norms.shape[1]
        # Examples do not interact, so row p of every document rides in the same backward pass.
        rows = torch.eye(states).to(norms).unsqueeze(1).expand(states, *norms.shape)
        at_once = max(1, CELLS_AT_ONCE // max(1, embedded.numel()))
        lengths = [
            torch.autograd.grad(norms, embedded, some, retain_graph=True, is_grads_batched=True)[
                0
            ].norm(dim=-1)
            for some in rows.split(at_once)
        ]
    return torch.cat(lengths).transpose(0, 1)


def _through_lstm(
    encoder: Recurrent, embedded: Float[Tensor, "batch tokens embedding"], batch: Batch
) -> Matrix:
    """One or two LSTMs: the pass back from each state over the words it has read.

    Left to right a state has read the words up to its own, right to left those from it on, so the
    two directions only meet on the diagonal.
    """
    hidden = encoder(embedded, batch.is_token)
    direction = hidden / hidden.norm(dim=-1, keepdim=True).clamp(min=1e-30)  # d |h| / d h
    forth, own = _one_way(
        encoder.forwards, embedded, direction[..., : encoder.forwards.hidden_size]
    )
    if encoder.backwards is None:
        return forth
    turned = turn_round(embedded, batch.is_token)
    back_direction = turn_round(direction[..., encoder.forwards.hidden_size :], batch.is_token)
    back, back_own = _one_way(encoder.backwards, turned, back_direction)
    back = _turn_both(back, batch)
    lengths = forth + back  # one of the two is zero off the diagonal
    diagonal = (own + turn_round(back_own, batch.is_token)).norm(dim=-1)
    return lengths.diagonal_scatter(diagonal, dim1=1, dim2=2)


def _one_way(
    layer: nn.Module,
    inputs: Float[Tensor, "batch tokens embedding"],
    direction: Float[Tensor, "batch tokens hidden"],
) -> tuple[Matrix, Float[Tensor, "batch tokens embedding"]]:
    """Lengths of gradients for words up to each state's own, and the gradients at the own words."""
    assert isinstance(layer, nn.LSTM)
    steps = LSTMSteps(layer)
    batch, tokens = inputs.shape[:2]
    lengths = inputs.new_zeros(tokens, tokens, batch)  # [word, state, document]
    own = torch.empty_like(inputs)
    to_input = steps.from_input.t().contiguous()
    for word, of_gates in _gate_gradients(steps, inputs, direction):
        gradient = linear(of_gates.flatten(0, 1), to_input)
        lengths[word, word:] = gradient.norm(dim=-1).view(-1, batch)
        own[:, word] = gradient[:batch]
    return lengths.permute(2, 1, 0), own


def _gate_gradients(
    steps: LSTMSteps,
    inputs: Float[Tensor, "batch tokens embedding"],
    direction: Float[Tensor, "batch tokens hidden"],
) -> Iterator[tuple[int, Float[Tensor, "states batch gates"]]]:
    """For each word, last first: gradients of the states from it on by the gates of its step.

    With gates enter, keep, leave, candidate and memory' = keep memory + enter candidate,
    hidden' = leave tanh(memory'):

        d memory'  += d hidden' leave (1 - tanh² memory')
        d gates     = d memory' (candidate, memory, -, enter) and d hidden' tanh memory' for leave,
                      each times the slope of its own sigmoid or tanh
        d hidden    = W d gates,   d memory = d memory' keep
    """
    (batch, tokens), size = inputs.shape[:2], steps.hidden_size
    to_memory, by_memory, by_hidden, keeps = _slopes(steps, inputs)
    of_hidden = inputs.new_zeros(tokens, batch, size)
    of_memory = torch.zeros_like(of_hidden)
    of_gates = inputs.new_empty(tokens, batch, 4, size)
    to_state = steps.from_state.t().contiguous()
    for word in reversed(range(tokens)):
        hidden, memory, gates = of_hidden[word:], of_memory[word:], of_gates[word:]
        hidden[0] += direction[:, word]
        memory.addcmul_(hidden, to_memory[word])
        torch.mul(memory.unsqueeze(2), by_memory[word], out=gates)
        torch.mul(hidden, by_hidden[word], out=gates[:, :, 2])
        yield word, gates.flatten(2)
        # Faded gradients end as denormal numbers, with which products take many times longer.
        hidden[:] = nn.functional.hardshrink(linear(gates.flatten(2), to_state), NOTHING)
        memory[:] = nn.functional.hardshrink(memory * keeps[word], NOTHING)


def _slopes(
    steps: LSTMSteps, inputs: Float[Tensor, "batch tokens embedding"]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the pass back multiplies with at each step, from one pass forward."""
    products = steps.products(inputs).transpose(0, 1)
    state: State = (products.new_zeros(inputs.shape[0], steps.hidden_size),) * steps.parts
    gates, memories = [], [state[1]]
    for product in products:
        gates.append(linear(state[0], steps.from_state) + product)
        state = steps.step(product, state)
        memories.append(state[1])
    enter, keep, leave, candidate = torch.stack(gates).chunk(4, dim=-1)
    enter, keep, leave, candidate = (
        enter.sigmoid(),
        keep.sigmoid(),
        leave.sigmoid(),
        candidate.tanh(),
    )
    memory, seen = torch.stack(memories[:-1]), torch.stack(memories[1:]).tanh()
    by_memory = torch.stack(
        [
            candidate * enter * (1 - enter),
            memory * keep * (1 - keep),
            torch.zeros_like(leave),
            enter * (1 - candidate.square()),
        ],
        dim=2,
    )
    return leave * (1 - seen.square()), by_memory, seen * leave * (1 - leave), keep


def _turn_both(lengths: Matrix, batch: Batch) -> Matrix:
    """Pairs of places in turned texts as pairs of places in the texts themselves."""
    states_turned = turn_round(lengths, batch.is_token)
    return turn_round(states_turned.transpose(1, 2), batch.is_token).transpose(1, 2)
