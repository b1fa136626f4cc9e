"""How likely a label is, given only the pattern of the weights; and documents reweighed by it.

Under weights w = P(label) / P(label | pattern) the label and the pattern are independent, so
nothing is gained by reading the one off the other (Bai et al. 2021).
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import nn

WIDTH = 32
STEPS = 150
LEARNING_RATE = 0.02
WEIGHT_DECAY = 1e-3

Patterns = Float[ndarray, "documents features"]
Labels = Int[ndarray, " documents"]
PerDocument = Float[ndarray, " documents"]


def cross_fitted_propensity(
    patterns: Patterns, labels: Labels, folds: int, rng: torch.Generator
) -> PerDocument:
    """P(own label | pattern) of each document, by a small network that never saw the document.

    Documents are dealt into folds; for each, a network of two layers learns from the others. All
    folds are learnt side by side. Of a single document, the share of its label.
    """
    documents, features = patterns.shape
    classes = int(labels.max()) + 1
    folds = min(folds, documents)
    if folds < 2:
        return (np.bincount(labels, minlength=classes) / documents)[labels]
    spread = patterns.std(axis=0)
    scaled = (patterns - patterns.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    inputs = torch.from_numpy(scaled).float().clamp(-5, 5)
    targets = torch.from_numpy(labels)
    fold = torch.randperm(documents, generator=rng) % folds
    is_learnt = (fold != torch.arange(folds)[:, None]).float()
    network = _Networks(folds, features, classes, rng)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    for _ in range(STEPS):
        losses = nn.functional.cross_entropy(
            network(inputs).flatten(0, 1), targets.repeat(folds), reduction="none"
        ).view(folds, documents)
        loss = ((losses * is_learnt).sum(dim=1) / is_learnt.sum(dim=1)).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        shares = network(inputs).softmax(dim=-1)
    return shares[fold, torch.arange(documents), targets].double().numpy()


def neutral_weights(
    propensity: PerDocument, labels: Labels, lowest: float = 0.1, highest: float = 10.0
) -> PerDocument:
    """w = P(label) / propensity, clipped, then normalised to mean 1 within each label.

    So every label keeps its share of the whole: sum of w over label c / sum of w = P(c).
    """
    prior = np.bincount(labels) / len(labels)
    raw = np.clip(prior[labels] / np.maximum(propensity, 1e-12), lowest, highest)
    totals, counts = np.bincount(labels, weights=raw), np.bincount(labels)
    return raw * (counts / np.where(totals > 0, totals, 1.0))[labels]


def effective_sample_size(weights: PerDocument) -> float:
    """(sum w)² / sum w²: how many documents of equal weight are worth as much."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


class _Networks(nn.Module):
    """As many two-layer networks as folds, side by side."""

    def __init__(self, folds: int, features: int, classes: int, rng: torch.Generator) -> None:
        super().__init__()
        first = torch.randn(folds, features, WIDTH, generator=rng) / max(1, features) ** 0.5
        self.first = nn.Parameter(first)
        self.first_bias = nn.Parameter(torch.zeros(folds, 1, WIDTH))
        self.second = nn.Parameter(torch.zeros(folds, WIDTH, classes))
        self.second_bias = nn.Parameter(torch.zeros(folds, 1, classes))

    def forward(
        self, inputs: Float[torch.Tensor, "documents features"]
    ) -> Float[torch.Tensor, "folds documents classes"]:
        """Logits of every document by every network."""
        inner = torch.tanh(inputs @ self.first + self.first_bias)
        return inner @ self.second + self.second_bias
