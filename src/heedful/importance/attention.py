"""What the model itself says it looks at, and what each state says by itself."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.importance.base import importances
from heedful.importance.inside import Inside
from heedful.importance.seen import Need, Seen, Target, TokenScores, of_target
from heedful.model.classifier import AttentionClassifier


@importances.register("attention", needs=[], is_signed=False)
def attention(seen: Seen) -> TokenScores:
    """The attention weight: how much of the context a state makes up. Never negative."""
    return seen.shown


@importances.register("attention-score", needs=[Need.CLASSIFIER], is_signed=False)
def attention_score(seen: Inside) -> TokenScores:
    """The score before the projection: absolute, comparable between documents (Sun & Lu)."""
    return seen.trace.scores * seen.is_token


@importances.register("polarity", needs=[Need.CLASSIFIER])
@torch.no_grad()
def polarity(seen: Inside) -> TokenScores:
    """How much a state alone supports the target, without attention (Sun & Lu).

    polarity_t = logit_target(hidden_t) - mean logit of the other classes, without bias

    With two classes this is plus or minus their s = W · hidden_t.
    """
    return state_polarity(seen.model, seen.trace.hidden, seen.target) * seen.is_token


@importances.register("contribution", needs=[Need.CLASSIFIER])
@torch.no_grad()
def contribution(seen: Inside) -> TokenScores:
    """Weight times polarity: what a state adds to the target's margin, with attention held fixed.

    contribution_t = weight_t * polarity_t

    With a linear output their sum is the margin, without bias.
    """
    return seen.trace.weights * state_polarity(seen.model, seen.trace.hidden, seen.target)


def state_polarity(
    model: AttentionClassifier, hidden: Float[Tensor, "batch tokens hidden"], target: Target
) -> TokenScores:
    """Margin of the target over the mean of the other classes that each state alone would give."""
    return of_target(state_margins(model, hidden), target)


def state_margins(
    model: AttentionClassifier, hidden: Float[Tensor, "batch tokens hidden"]
) -> Float[Tensor, "batch tokens classes"]:
    """The same for each class as the target."""
    flat = hidden.reshape(-1, hidden.shape[-1])
    bias = model.output(torch.zeros_like(flat[:1]))
    logits = (model.output(flat) - bias).view(*hidden.shape[:2], -1)
    others = (logits.sum(dim=-1, keepdim=True) - logits) / (logits.shape[-1] - 1)
    return logits - others
