"""Rules that every output keeps, new ones included."""

import pytest
import torch

from heedful.model.outputs import outputs

CONTEXT = 5
every_output = pytest.mark.parametrize("name", outputs)


def build(name: str, classes: int = 3, has_bias: bool = True) -> torch.nn.Module:
    torch.manual_seed(0)
    return outputs.make(name).build(CONTEXT, classes, has_bias).double()


def contexts(documents: int = 4) -> torch.Tensor:
    rng = torch.Generator().manual_seed(1)
    return torch.randn(documents, CONTEXT, generator=rng, dtype=torch.float64)


@every_output
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("has_bias", [True, False])
def test_there_is_one_finite_logit_per_class(name, classes, has_bias):
    logits = build(name, classes, has_bias)(contexts())
    assert logits.shape == (4, classes)
    assert logits.isfinite().all()


@every_output
@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_reach_the_context_and_the_output_itself(name, classes):
    output, context = build(name, classes), contexts().requires_grad_()
    torch.nn.functional.cross_entropy(output(context), torch.tensor([0, 1, 0, 1])).backward()
    assert (context.grad.abs().sum(dim=1) > 0).all()
    learnt = [p.grad for p in output.parameters() if p.grad is not None]
    assert any((gradient != 0).any() for gradient in learnt)
    assert all(gradient.isfinite().all() for gradient in learnt)


@every_output
def test_neighbours_in_the_batch_change_nothing(name):
    output, context = build(name).eval(), contexts()
    torch.testing.assert_close(output(context)[1:2], output(context[1:2]))


@every_output
def test_the_same_context_gets_the_same_logits_in_training_and_after_it(name):
    output, context = build(name), contexts()
    torch.testing.assert_close(output.train()(context), output.eval()(context))
