"""What the model itself says it looks at, and what each state says by itself."""

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.importance.base import importances
from heedful.importance.seen import Seen, Target, TokenScores, of_target
from heedful.model.classifier import AttentionClassifier
from heedful.text.batching import Batch


@importances.register("attention", needs=[], is_signed=False)
def attention(seen: Seen) -> TokenScores:
    """The attention weight: how much of the context a state makes up. Never negative."""
    return seen.shown


@importances.register("attention-score", is_signed=False)
@torch.no_grad()
def attention_score(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """The score before the projection: absolute, comparable between documents (Sun & Lu)."""
    return model(batch).scores * batch.is_token


@importances.register("polarity")
@torch.no_grad()
def polarity(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """How much a state alone supports the target, without attention (Sun & Lu).

    polarity_t = logit_target(hidden_t) - mean logit of the other classes, without bias

    With two classes this is plus or minus their s = W · hidden_t.
    """
    return state_polarity(model, model(batch).hidden, target) * batch.is_token


@importances.register("contribution")
@torch.no_grad()
def contribution(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """Weight times polarity: what a state adds to the target's margin, with attention held fixed.

    contribution_t = weight_t * polarity_t

    With a linear output their sum is the margin, without bias.
    """
    trace = model(batch)
    return trace.weights * state_polarity(model, trace.hidden, target)


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
