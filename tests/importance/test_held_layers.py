"""Passes of which all that is not linear is held: same numbers, and contributions that add up."""

import pytest
import torch
from torch import nn

from heedful.auditing.subjects.huggingface.blocks import block_lists
from heedful.importance.held_layers import ACTIVATIONS, layers_held, unexplained
from tests.readouts.tiny import KINDS, tiny_model

# DeBERTa's own code, on import.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

IDS = torch.tensor([[2, 4, 8, 5, 3], [2, 7, 9, 6, 3]])
DECOMPOSED = list(KINDS)


def held_run(model):
    """The output of the embedding layer, and the logits."""
    seen = []

    def ask(module, given, output):
        seen.append(output.detach().requires_grad_())
        return seen[-1]

    handle = model.base_model.embeddings.register_forward_hook(ask)
    try:
        logits = model(input_ids=IDS).logits
        return seen[0], logits
    finally:
        handle.remove()


@pytest.mark.parametrize("kind", KINDS)
def test_holding_changes_no_number_of_the_forward_pass(kind):
    model = tiny_model(kind).double()
    with torch.no_grad():
        plain = model(input_ids=IDS).logits
        with layers_held(model):
            held = model(input_ids=IDS).logits
        again = model(input_ids=IDS).logits
    torch.testing.assert_close(held, plain, atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(again, plain, atol=0, rtol=0)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", DECOMPOSED)
def test_without_biases_the_contributions_of_all_positions_add_up_to_the_logit(kind, attention):
    model = tiny_model(kind).double()
    if kind != "DebertaV2":  # which has one way to attend
        model.set_attn_implementation(attention)
    with torch.no_grad():
        for name, numbers in model.named_parameters():
            if name.endswith("bias"):
                numbers.zero_()
    with layers_held(model):
        given, logits = held_run(model)
    for number in (0, 1):
        (slope,) = torch.autograd.grad(logits[:, number].sum(), given, retain_graph=True)
        total = (slope * given).sum(dim=(1, 2))
        torch.testing.assert_close(total, logits[:, number], atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("kind", DECOMPOSED)
def test_with_biases_their_contributions_are_the_rest(kind):
    model = tiny_model(kind).double()
    with torch.no_grad():
        for name, numbers in model.named_parameters():
            if name.endswith("bias"):
                numbers.add_(torch.linspace(-1, 1, len(numbers)))
    assert unexplained(model, lambda: held_run(model)) < 1e-9


@pytest.mark.parametrize("kind", ["ModernBert", "GPT2", "Llama", "Gemma2"])
def test_gates_are_held_so_models_that_have_them_add_up(kind):
    model = tiny_model(kind).double()
    blocks = block_lists(model, 2)[0]

    def run():
        given = []

        def ask(block, inputs):
            given.append(inputs[0].detach().requires_grad_())
            return (given[0], *inputs[1:])

        handle = blocks[0].register_forward_pre_hook(ask)
        logits = model(input_ids=torch.tensor([[2, 4, 8, 3]])).logits
        handle.remove()
        return given[0], logits

    assert unexplained(model, run) < 1e-6  # their norms compute in single precision


class Squared(nn.Module):
    """Multiplies states with each other: no gate, so nobody holds it."""

    def forward(self, given):
        return given * (given + 1)


def test_a_model_that_multiplies_states_does_not_add_up():
    model = nn.Sequential(nn.Linear(3, 4), Squared(), nn.Linear(4, 2)).double()
    given = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    assert unexplained(model, lambda: (given, model(given))) > 0.05


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_an_activation_is_a_multiple_of_what_it_is_given(name):
    function = getattr(nn.functional, name, None) or getattr(torch, name)
    given = torch.tensor([-2.0, -0.3, 0.0, 0.4, 3.0], dtype=torch.double, requires_grad=True)
    with layers_held(nn.Identity()):
        output = function(given)
    torch.testing.assert_close(output, function(given))
    (slope,) = torch.autograd.grad(output.sum(), given)
    torch.testing.assert_close(slope * given, output)


@pytest.mark.parametrize("norm", [nn.LayerNorm(6), nn.RMSNorm(6), nn.LayerNorm((2, 6))])
def test_the_deviation_of_a_norm_is_a_constant(norm):
    norm = norm.double()
    with torch.no_grad():
        norm.weight.copy_(torch.rand_like(norm.weight))
    given = torch.randn(3, 2, 6, dtype=torch.double, requires_grad=True)
    with layers_held(norm):
        output = norm(given)
    torch.testing.assert_close(output, norm(given))
    (slope,) = torch.autograd.grad(output.square().sum() / 2, given)  # d(y²/2) = y dy, so <., x>
    torch.testing.assert_close((slope * given).sum(), output.square().sum())


def test_a_norm_that_is_written_out_is_held_too():
    given = torch.randn(3, 6, dtype=torch.double, requires_grad=True)
    with layers_held(nn.Identity()):
        output = given * torch.rsqrt(given.pow(2).mean(-1, keepdim=True) + 1e-6)
    (slope,) = torch.autograd.grad(output.sum(), given)
    torch.testing.assert_close(slope * given, output)


def test_parameters_ask_for_gradients_as_before():
    model = tiny_model("Bert").double().requires_grad_(False)
    assert unexplained(model, lambda: held_run(model)) < 1e-9
    assert not any(numbers.requires_grad for numbers in model.parameters())
