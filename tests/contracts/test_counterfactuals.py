"""Rules that every counterfactual keeps, new ones included."""

import pytest
import torch

from heedful.counterfactual import counterfactuals
from tests.importance.models import a_batch, a_model

every_counterfactual = pytest.mark.parametrize("name", counterfactuals)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@every_counterfactual
@pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
def test_attentions_are_distributions_over_real_words(name, projection):
    model, batch = a_model(encoder="bilstm", projection=projection), a_batch(6, 3, 1)
    trace = model(batch)
    attentions = counterfactuals.make(name)(model, trace, batch, rng())
    assert attentions.shape[::2] == trace.weights.shape
    assert (attentions >= 0).all()
    assert (attentions[~batch.is_token.unsqueeze(1).expand_as(attentions)] == 0).all()
    torch.testing.assert_close(attentions.sum(dim=-1), torch.ones_like(attentions[..., 0]))
    assert not attentions.requires_grad


@every_counterfactual
def test_the_generator_alone_decides_and_the_model_is_left_alone(name):
    model, batch = a_model(encoder="lstm"), a_batch(5, 4)
    trace = model(batch)
    make = counterfactuals.make(name)
    one, same, other = (make(model, trace, batch, rng(seed)) for seed in (1, 1, 2))
    torch.testing.assert_close(one, same)
    assert torch.allclose(one, other) == (name == "uniform")
    assert all(parameter.grad is None for parameter in model.parameters())
