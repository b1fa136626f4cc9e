import captum.attr
import pytest
import torch

from heedful.importance import importances
from heedful.importance.gradients import IntegratedGradients
from tests.importance.models import a_batch, a_model, predicted


def logit_of(model, target):
    def value(embedded, is_token):
        return model.read(embedded, is_token).logits

    return value


@pytest.mark.parametrize("encoder", ["embedding", "bilstm", "transformer"])
@pytest.mark.parametrize("steps", [10, 50])
def test_integrated_gradients_equal_captums(encoder, steps):
    model, batch = a_model(encoder=encoder), a_batch(6, 4)
    target = predicted(model, batch)
    embedded = model.embedding(batch.token_ids).detach()
    theirs = captum.attr.IntegratedGradients(logit_of(model, target)).attribute(
        embedded,
        target=target,
        additional_forward_args=(batch.is_token,),
        n_steps=steps,
        method="gausslegendre",
    )
    ours = IntegratedGradients(steps)(model, batch, target)
    torch.testing.assert_close(ours, theirs.sum(dim=-1) * batch.is_token, atol=1e-9, rtol=1e-6)


def test_gradient_times_input_equals_captums():
    model, batch = a_model(encoder="bilstm"), a_batch(6, 4)
    target = predicted(model, batch)
    embedded = model.embedding(batch.token_ids).detach()
    theirs = captum.attr.InputXGradient(logit_of(model, target)).attribute(
        embedded.requires_grad_(), target=target, additional_forward_args=(batch.is_token,)
    )
    ours = importances["gradient-x-input"](model, batch, target)
    torch.testing.assert_close(ours, theirs.sum(dim=-1).detach() * batch.is_token)


def test_integrated_gradients_add_up_to_the_change_of_the_logit():
    model, batch = a_model(encoder="bigru"), a_batch(6, 4)
    target = predicted(model, batch)
    scores = IntegratedGradients(200)(model, batch, target)
    with torch.no_grad():
        embedded = model.embedding(batch.token_ids)
        ends = [model.read(scale * embedded, batch.is_token).logits for scale in (1.0, 0.0)]
    change = (ends[0] - ends[1]).gather(1, target.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(scores.sum(dim=1), change, atol=1e-6, rtol=1e-5)


def test_on_a_linear_model_with_fixed_weights_gradients_ablation_and_contribution_agree():
    model = a_model(encoder="embedding", projection="uniform", output_bias=False)
    batch = a_batch(6, 4)
    target = predicted(model, batch)
    half_margin = importances["contribution"](model, batch, target) / 2  # the logit is half of it
    for name in ("gradient-x-input", "integrated-gradients"):
        torch.testing.assert_close(importances.make(name)(model, batch, target), half_margin)
    with torch.no_grad():
        embedded = model.embedding(batch.token_ids).clone()
        whole = model.read(embedded, batch.is_token).logits
        embedded[:, 2] = 0.0
        zeroed = model.read(embedded, batch.is_token).logits
    fall = (whole - zeroed).gather(1, target.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(fall, half_margin[:, 2])


def test_holding_attention_changes_the_gradient_unless_weights_are_uniform():
    batch = a_batch(6, 4)
    for projection, is_same in (("uniform", True), ("softmax", False)):
        model = a_model(encoder="embedding", projection=projection)
        target = predicted(model, batch)
        held = importances["gradient-x-input-held"](model, batch, target)
        with torch.enable_grad():
            embedded = model.embedding(batch.token_ids).detach().requires_grad_()
            logits = model.read(embedded, batch.is_token).logits
            value = logits.softmax(dim=-1).gather(1, target.unsqueeze(1)).sum()
            (gradient,) = torch.autograd.grad(value, embedded)
        free = (gradient * embedded).sum(dim=-1).detach() * batch.is_token
        assert torch.allclose(held, free) == is_same


@pytest.mark.parametrize("name", ["gradient-norm", "state-gradient-norm", "weight-gradient"])
def test_gradients_match_finite_differences(name):
    model, batch = a_model(encoder="lstm:hidden_size=4"), a_batch(4)
    target = predicted(model, batch)
    scores = importances[name](model, batch, target)
    step = 1e-6

    def probability(embedded=None, hidden=None, weights=None):
        with torch.no_grad():
            trace = model(batch)
            if embedded is not None:
                return model.read(embedded, batch.is_token).logits.softmax(-1)[0, target[0]]
            if hidden is not None:
                weights = model.project(model.alignment(hidden), batch.is_token)
                return model.decide(hidden, weights).softmax(-1)[0, target[0]]
            return model.decide(trace.hidden, weights).softmax(-1)[0, target[0]]

    with torch.no_grad():
        trace = model(batch)
    start = {
        "gradient-norm": ("embedded", model.embedding(batch.token_ids).detach()),
        "state-gradient-norm": ("hidden", trace.hidden),
        "weight-gradient": ("weights", trace.weights),
    }[name]
    argument, point = start
    change = []
    flat = point.flatten()
    for number in range(flat.numel()):
        moved = flat.clone()
        moved[number] += step
        upper = probability(**{argument: moved.view_as(point)})
        moved[number] -= 2 * step
        change.append((upper - probability(**{argument: moved.view_as(point)})) / (2 * step))
    numeric = torch.stack(change).view_as(point)
    expected = numeric[0] if name == "weight-gradient" else numeric[0].norm(dim=-1)
    torch.testing.assert_close(scores[0], expected, atol=1e-7, rtol=1e-4)
