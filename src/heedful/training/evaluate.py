"""A model and batches to probabilities and scores."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.intervals import wilson
from heedful.model.precision import in_full
from heedful.text.batching import Batches


@dataclass(frozen=True)
class Scores:
    """How well a model does on labelled documents."""

    documents: int
    loss: float  # mean negative log probability of the label, nats
    accuracy: float
    accuracy_interval: tuple[float, float]  # 95%, Wilson
    f1: float  # mean over classes


def predict(model: nn.Module, batches: Batches) -> Float[ndarray, "documents classes"]:
    """Class probabilities of every document, in the order of the corpus; dropout off."""
    order: list[Int[ndarray, " batch"]] = []
    found: list[Float[Tensor, "batch classes"]] = []
    with evaluating(model), torch.inference_mode(), in_full():
        for batch in batches.by_length():
            order.append(batch.indices)
            found.append(model(batch).logits.softmax(dim=-1))
        if not found:
            return np.empty((0, 0), dtype=np.float32)
        probabilities = torch.cat(found).cpu().numpy()  # a GPU is asked once, at the end
    result = np.empty(probabilities.shape, dtype=np.float32)
    result[np.concatenate(order)] = probabilities
    return result


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Dropout off, and every part back in its own mode afterwards."""
    was_training = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, mode in was_training.items():
            part.training = mode


def evaluate(model: nn.Module, batches: Batches) -> Scores:
    """Scores of a model on labelled batches."""
    return score(predict(model, batches), batches.labels)


def score(
    probabilities: Float[ndarray, "documents classes"], labels: Int[ndarray, " documents"]
) -> Scores:
    """Scores of predicted probabilities against labels."""
    predictions = probabilities.argmax(axis=1)
    of_label = probabilities[np.arange(len(labels)), labels]
    hits = predictions == labels
    return Scores(
        documents=len(labels),
        loss=float(-np.log(np.maximum(of_label, 1e-12, dtype=np.float64)).mean()),
        accuracy=float(hits.mean()),
        accuracy_interval=wilson(int(hits.sum()), len(labels)),
        f1=mean_f1(predictions, labels, probabilities.shape[1]),
    )


def mean_f1(
    predictions: Int[ndarray, " documents"], labels: Int[ndarray, " documents"], classes: int
) -> float:
    """F1 of each class that occurs, averaged: 2 hits / (predicted + true)."""
    hits = np.bincount(labels[predictions == labels], minlength=classes)
    total = np.bincount(predictions, minlength=classes) + np.bincount(labels, minlength=classes)
    return float((2 * hits[total > 0] / total[total > 0]).mean())
