import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon

from heedful.counterfactual.adversarial import Adversarial, js_divergence
from heedful.counterfactual.baselines import Frozen, Permuted
from tests.importance.models import a_batch, a_model


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_permutation_deals_out_the_same_weights():
    model, batch = a_model(encoder="bilstm"), a_batch(7, 4)
    trace = model(batch)
    permuted = Permuted(50)(model, trace, batch, rng())
    expected = trace.weights.sort(dim=-1).values.unsqueeze(1).expand_as(permuted)
    torch.testing.assert_close(permuted.sort(dim=-1).values, expected)
    assert len(permuted[0].unique(dim=0)) > 40


def test_every_permutation_of_three_words_comes_equally_often():
    model, batch = a_model(encoder="embedding"), a_batch(3)
    permuted = Permuted(6000)(model, model(batch), batch, rng())
    _, counts = permuted[0].unique(dim=0, return_counts=True)
    assert len(counts) == 6
    assert (counts - 1000).abs().max() < 120  # 4 standard deviations


def test_divergence_is_scipys_and_has_finite_gradients_at_zero():
    one = torch.tensor([[[0.7, 0.3, 0.0]]], dtype=torch.float64, requires_grad=True)
    other = torch.tensor([[[0.0, 0.5, 0.5]]], dtype=torch.float64)
    ours = js_divergence(one, other)
    assert ours.item() == pytest.approx(jensenshannon([0.7, 0.3, 0], [0, 0.5, 0.5]) ** 2)
    (gradient,) = torch.autograd.grad(ours.sum(), one)
    assert gradient.isfinite().all()


def test_where_all_states_say_the_same_the_adversary_goes_as_far_as_it_can():
    model, batch = a_model(encoder="embedding"), a_batch(6)
    trace = model(batch)
    same = torch.ones_like(trace.hidden)
    trace = type(trace)(trace.embedded, same, same, trace.scores, trace.weights,
                        model.decide(same, trace.weights))  # fmt: skip
    found = Adversarial(steps=400, learning_rate=0.05)(model, trace, batch, rng())
    distance = js_divergence(found, trace.weights.unsqueeze(1))
    smallest = trace.weights.min().item()
    # the farthest point of the simplex is the one-hot on the smallest weight
    mixed = (1 + smallest) / 2
    farthest = (
        math.log(2) / 2 * (1 - smallest)
        + 0.5 * (math.log(1 / mixed) + smallest * math.log(smallest / mixed))
    )  # fmt: skip
    assert distance.max() <= farthest + 1e-9
    assert distance.max() > 0.9 * farthest


def test_the_adversary_keeps_the_prediction_where_that_is_possible():
    model, batch = a_model(encoder="bilstm"), a_batch(9, 7, 5)
    trace = model(batch)
    found = Adversarial(steps=300, learning_rate=0.05)(model, trace, batch, rng())
    usual = trace.logits.softmax(dim=-1)
    for attention in found.unbind(dim=1):
        moved = (model.decide(trace.hidden, attention).softmax(dim=-1) - usual).abs().sum(-1) / 2
        assert (moved < 0.05).all()
    assert (js_divergence(found, trace.weights.unsqueeze(1)) > 0.1).all()


def test_frozen_attention_sees_the_text_but_not_what_was_learnt():
    model, batch = a_model(encoder="embedding", query="text"), a_batch(6, 5)
    trace = model(batch)
    frozen = Frozen(3)(model, trace, batch, rng())
    assert frozen.shape == (2, 3, 6)
    assert not torch.allclose(frozen[:, 0], trace.weights)
    again = Frozen(3)(model, trace, batch, rng())
    torch.testing.assert_close(frozen, again)
