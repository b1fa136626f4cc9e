"""What an importance measure is, and what all of them need."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.model.classifier import AttentionClassifier
from heedful.registry import Registry
from heedful.text.batching import Batch

Target = Int[Tensor, " batch"]
TokenScores = Float[Tensor, "batch tokens"]
Importance = Callable[[AttentionClassifier, Batch, Target], TokenScores]

importances: Registry[Importance] = Registry("importance measure")


def predicted(model: AttentionClassifier, batch: Batch) -> Target:
    """The class that the model gives each document: the usual target of an explanation."""
    with torch.no_grad():
        return model(batch).logits.argmax(dim=-1)


def of_target(rows: Float[Tensor, "batch *more classes"], target: Target) -> Tensor:
    """Each document's value for its own target class."""
    index = target.view(-1, *[1] * (rows.dim() - 1)).expand(*rows.shape[:-1], 1)
    return rows.gather(-1, index).squeeze(-1)


def target_probability(logits: Float[Tensor, "batch *more classes"], target: Target) -> Tensor:
    """Probability of the target class."""
    return of_target(logits.softmax(dim=-1), target)


@contextmanager
def gradients_in_eval(model: AttentionClassifier) -> Iterator[None]:
    """Gradients of a model as it predicts: dropout off, parameters left alone."""
    was_training = model.training
    model.eval()
    try:
        # cuDNN cannot backpropagate through an LSTM in eval mode, so gradients run without it here.
        with torch.backends.cudnn.flags(enabled=False), torch.enable_grad():
            yield
    finally:
        model.train(was_training)
