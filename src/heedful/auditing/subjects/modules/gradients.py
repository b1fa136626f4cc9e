"""Importance by gradients of any module, from what its adapter shows: see importance/gradients.py.

Each function takes parts that were read with gradients on.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.auditing.subjects.modules.adapter import ModuleTrace
from heedful.auditing.subjects.modules.reader import ModuleReader
from heedful.errors import DataError
from heedful.importance.base import of_target, target_probability

OF_WEIGHTS = ("attention-x-gradient",)
OF_STATES = ("state-gradient-norm",)
OF_INPUTS = ("gradient-x-input", "gradient-x-input-held", "gradient-norm")

Target = Int[Tensor, " part"]
WordScores = Float[Tensor, "part words"]


def measures_of(reader: ModuleReader, trace: ModuleTrace) -> tuple[str, ...]:
    """The measures that gradients can give, once it is seen that what is shown is computed with."""
    logits = reader.decide(trace.states.detach(), trace.weights.detach().requires_grad_())
    if not logits.requires_grad:
        raise DataError(
            "decide should be a function of tensors that gradients can pass through. Is it under "
            "torch.no_grad, or does it go through numpy?"
        )
    of_states = OF_STATES if trace.states.requires_grad else ()
    if trace.embedded is None:
        return (*OF_WEIGHTS, *of_states)
    if not trace.embedded.requires_grad or not trace.states.requires_grad:
        raise DataError(
            "embedded should let gradients through to the states. Is read under torch.no_grad? "
            "Leave embedded out if it cannot be helped."
        )
    (gradient,) = torch.autograd.grad(trace.states.sum(), trace.embedded, allow_unused=True)
    if gradient is None:
        raise DataError(
            "embedded should be the very tensor that the states are made from; the states that "
            "read gave do not depend on it. Leave it out if there is none."
        )
    return (*OF_WEIGHTS, *of_states, *OF_INPUTS)


def gradient_scores(
    reader: ModuleReader, measure: str, trace: ModuleTrace, target: Target
) -> WordScores:
    """Signed importance of each word for the target."""
    if measure in OF_WEIGHTS:
        weights = trace.weights.detach().requires_grad_()
        logits = reader.decide(trace.states.detach(), weights)
        return weights * _gradient(target_probability(logits, target), weights)
    is_held = measure == "gradient-x-input-held"
    logits = reader.decide(trace.states, trace.weights.detach() if is_held else trace.weights)
    probability = target_probability(logits, target)
    if measure in OF_STATES:
        return _gradient(probability, trace.states).norm(dim=-1)
    assert trace.embedded is not None  # else `measures_of` names no measure of inputs
    if measure == "gradient-norm":
        return _gradient(probability, trace.embedded).norm(dim=-1)
    value = probability if is_held else of_target(logits, target)
    return (_gradient(value, trace.embedded) * trace.embedded).sum(dim=-1)


def state_gradient_lengths(trace: ModuleTrace) -> Float[Tensor, "part states words"]:
    """Length of the gradient of each state's norm by each word's embedding, state by state."""
    assert trace.embedded is not None
    norms = trace.states.norm(dim=-1)
    lengths = [
        _gradient(norms[:, place], trace.embedded).norm(dim=-1) for place in range(norms.shape[1])
    ]
    return torch.stack(lengths, dim=1)


def _gradient(values: Tensor, by: Tensor) -> Tensor:
    """Of all values by what they were made from; zero where there is no way back."""
    (found,) = torch.autograd.grad(
        values.sum(), by, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return found
