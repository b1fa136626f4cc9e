"""What an infinitesimal change would do: gradients of inputs, of states and of weights.

Three different things are called "the gradient" in this literature. Each has a name of its own here
that says what is differentiated, by what, and whether attention may follow (free) or not (held).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import at_least
from heedful.importance.base import (
    Target,
    TokenScores,
    gradients_in_eval,
    importances,
    of_target,
    target_probability,
)
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.text.batching import Batch

TokenVectors = Float[Tensor, "batch tokens size"]


@importances.register("gradient-x-input")
def gradient_times_input(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """First-order fall of the target logit if a word's embedding went to zero; attention free.

    importance_t = < d logit_target / d embedded_t , embedded_t >
    """
    embedded, gradient = _input_gradient(
        model, batch, lambda trace: of_target(trace.logits, target)
    )
    return (gradient * embedded).sum(dim=-1) * batch.is_token


@importances.register("gradient-x-input-held")
def gradient_times_input_held(
    model: AttentionClassifier, batch: Batch, target: Target
) -> TokenScores:
    """The same of the target probability with the weights held fixed (Jain & Wallace).

    importance_t = < d p_target / d embedded_t , embedded_t >,  weights constant
    """

    def probability(trace: Trace) -> Tensor:
        logits = model.decide(trace.hidden, trace.weights.detach())
        return target_probability(logits, target)

    embedded, gradient = _input_gradient(model, batch, probability)
    return (gradient * embedded).sum(dim=-1) * batch.is_token


@importances.register("gradient-norm")
def gradient_norm(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """Length of the gradient of the target probability by a word's embedding; attention free.

    importance_t = | d p_target / d embedded_t |     (Meister et al.; has no sign)
    """
    _, gradient = _input_gradient(
        model, batch, lambda trace: target_probability(trace.logits, target)
    )
    return gradient.norm(dim=-1) * batch.is_token


@importances.register("state-gradient-norm")
def state_gradient_norm(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """Length of the gradient of the target probability by a state; attention free.

    importance_t = | d p_target / d hidden_t |     (Meister et al.; has no sign)
    """
    with gradients_in_eval(model):
        trace = _traced(model, batch)
        of = target_probability(trace.logits, target).sum()
        (gradient,) = torch.autograd.grad(of, trace.hidden)
    return gradient.norm(dim=-1) * batch.is_token


@importances.register("weight-gradient")
def weight_gradient(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """How the target probability would change with a state's weight (Serrano & Smith).

    importance_t = d p_target / d weight_t
    """
    _, gradient = _weight_gradient(model, batch, target)
    return gradient * batch.is_token


@importances.register("attention-x-gradient")
def attention_times_gradient(
    model: AttentionClassifier, batch: Batch, target: Target
) -> TokenScores:
    """Weight times its gradient: first-order fall of the probability if the weight went to zero.

    importance_t = weight_t * d p_target / d weight_t
    """
    weights, gradient = _weight_gradient(model, batch, target)
    return weights * gradient


@importances.register("integrated-gradients")
@dataclass(frozen=True)
class IntegratedGradients:
    """Gradients of the target logit gathered on the way from zero embeddings; attention free.

    importance_t = < embedded_t , mean over a in 0..1 of d logit_target(a embedded) / d embedded_t >

    They sum to the difference between the logit and that of zero embeddings (arXiv:1703.01365).
    Gauss-Legendre points, as in Captum; they are exact for smooth paths with few steps.
    """

    steps: int = 20

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps)

    def __call__(self, model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
        """The scores; see the class."""
        points, shares = np.polynomial.legendre.leggauss(self.steps)
        with gradients_in_eval(model):
            embedded = model.embed(batch).detach()
            total = torch.zeros_like(embedded)
            for point, share in zip(points.tolist(), shares.tolist(), strict=True):
                scaled = ((point + 1) / 2 * embedded).requires_grad_()
                logits = model.read(scaled, batch.is_token).logits
                (gradient,) = torch.autograd.grad(of_target(logits, target).sum(), scaled)
                total += share / 2 * gradient
        return (total * embedded).sum(dim=-1) * batch.is_token


def _traced(model: AttentionClassifier, batch: Batch) -> Trace:
    """A forward pass from embeddings that ask for gradients."""
    embedded = model.embed(batch).detach().requires_grad_()
    return model.read(embedded, batch.is_token)


def _input_gradient(
    model: AttentionClassifier, batch: Batch, value: Callable[[Trace], Tensor]
) -> tuple[TokenVectors, TokenVectors]:
    """Embeddings, and the gradient of one value per document by them.

    Examples do not interact, so one backward pass over the sum serves the whole batch.
    """
    with gradients_in_eval(model):
        trace = _traced(model, batch)
        (gradient,) = torch.autograd.grad(value(trace).sum(), trace.embedded)
    return trace.embedded.detach(), gradient


def _weight_gradient(
    model: AttentionClassifier, batch: Batch, target: Target
) -> tuple[TokenScores, TokenScores]:
    """Weights, and the gradient of the target probability by them; states fixed."""
    with gradients_in_eval(model):
        with torch.no_grad():
            trace = model(batch)
        weights = trace.weights.requires_grad_()
        logits = model.decide(trace.hidden, weights)
        (gradient,) = torch.autograd.grad(target_probability(logits, target).sum(), weights)
    return weights.detach(), gradient
