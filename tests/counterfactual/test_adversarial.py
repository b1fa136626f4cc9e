"""The adversary's objective, written-out gradient and search, against a loop over documents."""

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from heedful.counterfactual.adversarial import Adversarial, _AMSGrad
from tests.importance.models import a_batch, a_model


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def divergence(p, q):
    mean = (p + q) / 2
    return sum((torch.xlogy(a, a) - torch.xlogy(a, mean)).sum() for a in (p, q)) / 2


def objective_of_one(search, model, weights, hidden, own, usual):
    """One document without padding, term by term; the context is computed again."""
    probabilities = model.output(weights @ hidden).softmax(dim=-1)
    total = torch.zeros((), dtype=hidden.dtype)
    for candidate, probability in zip(weights, probabilities, strict=True):
        moved = (probability - usual).abs().sum() / 2
        total = total + search.penalty * (moved - search.tolerance).relu()
        total = total - divergence(candidate, own)
    apart = [divergence(one, other) for one, other in combinations(weights, 2)]
    return total - torch.stack(apart).mean() if apart else total


def objectives(search, model, trace, batch, scores):
    """The objective of each document, for scores [batch, candidates, tokens]."""
    totals = []
    for row, length in enumerate(batch.is_token.sum(dim=1).tolist()):
        weights = scores[row, :, :length].softmax(dim=-1)
        hidden, own = trace.hidden[row, :length].detach(), trace.weights[row, :length].detach()
        usual = trace.logits[row].detach().softmax(dim=-1)
        totals.append(objective_of_one(search, model, weights, hidden, own, usual))
    return torch.stack(totals)


def search_naively(search, model, trace, batch, generator):
    """The whole search by autograd; weights only, zero on padding."""
    shape = (len(trace.hidden), search.candidates, trace.hidden.shape[1])
    scores = (search.spread * torch.randn(shape, generator=generator)).to(trace.hidden)
    scores.requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=search.learning_rate, amsgrad=True)
    for _ in range(search.steps):
        total = objectives(search, model, trace, batch, scores).sum()
        (scores.grad,) = torch.autograd.grad(total, [scores])
        optimizer.step()
    hidden_from = ~batch.is_token.unsqueeze(1)
    return scores.detach().masked_fill(hidden_from, -torch.inf).softmax(dim=-1)


def with_nonlinear_output(model, classes: int = 2):
    size = model.encoder.output_size
    model.output = nn.Sequential(nn.Linear(size, 4), nn.Tanh(), nn.Linear(4, classes)).double()
    return model


lengths = st.lists(st.integers(1, 9), min_size=1, max_size=4)


@given(
    classes=st.integers(2, 4),
    lengths=lengths,
    projection=st.sampled_from(["softmax", "sparsemax"]),
    candidates=st.integers(1, 5),
    spread=st.sampled_from([0.1, 3.0, 30.0]),
    penalty=st.sampled_from([1e-3, 500.0]),
    seed=st.integers(0, 5),
)
def test_the_written_out_gradient_is_the_objectives(
    classes, lengths, projection, candidates, spread, penalty, seed
):
    model = a_model(classes, encoder="bilstm", projection=projection, alignment="dot:scale=0.1")
    batch = a_batch(*lengths)
    trace = model(batch)
    search = Adversarial(candidates=candidates, penalty=penalty, tolerance=1e-4)
    shape = (len(lengths), candidates, batch.is_token.shape[1])
    scores = spread * torch.randn(shape, generator=rng(seed)).double()
    scores.masked_fill_(~batch.is_token.unsqueeze(1), -1e30).requires_grad_()
    total = objectives(search, model, trace, batch, scores).sum()
    (expected,) = torch.autograd.grad(total, scores)
    slope = search.slope(model, trace)(scores.detach().permute(1, 2, 0).contiguous())
    torch.testing.assert_close(slope.permute(2, 0, 1), expected, atol=1e-9, rtol=1e-6)


@given(classes=st.integers(2, 4), lengths=lengths, candidates=st.integers(1, 5))
def test_the_objective_is_a_sum_over_candidates_less_their_mean_distance(
    classes, lengths, candidates
):
    model, batch = a_model(classes, encoder="bilstm", projection="sparsemax"), a_batch(*lengths)
    trace, search = model(batch), Adversarial(candidates=candidates, tolerance=1e-4)
    scores = torch.randn(len(lengths), candidates, batch.is_token.shape[1]).double()
    weights = scores.masked_fill(~batch.is_token.unsqueeze(1), -torch.inf).softmax(dim=-1)
    torch.testing.assert_close(
        search.objective(model, trace, weights), objectives(search, model, trace, batch, scores)
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
def test_the_search_ends_where_a_loop_that_recomputes_the_context_ends(classes, projection):
    model, batch = a_model(classes, encoder="bilstm", projection=projection), a_batch(7, 4, 1)
    trace, search = model(batch), Adversarial(steps=60, candidates=3)
    found = search(model, trace, batch, rng())
    torch.testing.assert_close(found, search_naively(search, model, trace, batch, rng()))


def test_an_output_that_is_not_linear_is_searched_through():
    model, batch = with_nonlinear_output(a_model(encoder="bilstm")), a_batch(6, 3)
    trace, search = model(batch), Adversarial(steps=40, candidates=3)
    found = search(model, trace, batch, rng())
    torch.testing.assert_close(found, search_naively(search, model, trace, batch, rng()))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_weights_too_small_for_a_number_stay_where_they_are():
    model, batch = a_model(encoder="bilstm", projection="sparsemax"), a_batch(5, 3)
    trace, search = model(batch), Adversarial(candidates=2)
    scores = torch.zeros(2, 5, 2, dtype=torch.float64)
    scores[:, 1:] = -1e5  # softmax gives exactly 0
    slope = search.slope(model, trace)(scores)
    assert slope.isfinite().all()
    assert (slope[:, 1:] == 0).all()


def test_whatever_decides_is_searched_through_alike():
    model, batch = with_nonlinear_output(a_model(encoder="bilstm")), a_batch(6, 3)
    trace, search = model(batch), Adversarial(steps=40, candidates=3)
    own = [tensor.detach() for tensor in (trace.weights, trace.logits)]
    found = search.through(
        lambda weights: model.output((weights @ trace.hidden.detach()).flatten(0, 1)).unflatten(
            0, weights.shape[:2]
        ),
        *own, batch.is_token, rng(),
    )  # fmt: skip
    torch.testing.assert_close(found, search(model, trace, batch, rng()))


def test_steps_are_those_of_pytorchs_adam():
    start, gradients = torch.randn(3, 4, 5), torch.randn(6, 3, 4, 5)
    ours, theirs = start.clone(), start.clone()
    step = _AMSGrad(ours, 0.05)
    optimizer = torch.optim.Adam([theirs], lr=0.05, amsgrad=True)
    for gradient in gradients:
        step(gradient)
        theirs.grad = gradient
        optimizer.step()
    torch.testing.assert_close(ours, theirs)
