"""Outcomes of trainings on the test documents -> the numbers of an arm, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.bootstrap import BootstrapSettings, Estimate, over_seeds

FOLDS = 5  # of the classifier that sees only the weights
LOWEST = 1e-12  # probability; no document weighs without bound

PerDocument = Float[ndarray, " documents"]


@dataclass(frozen=True)
class Truth:
    """The labels of the test documents, and how common each label is in training."""

    labels: Int[ndarray, " documents"]
    shares: Float[ndarray, " classes"]

    @cached_property
    def is_majority(self) -> Bool[ndarray, " documents"]:
        """Where always answering the commonest label is right."""
        return self.labels == self.shares.argmax()


@dataclass(frozen=True)
class Outcome:
    """What one training came to on the test documents."""

    seed: int
    probabilities: Float[ndarray, "documents classes"]
    weights: Float[ndarray, "documents tokens"] | None  # None: it attends to nothing
    effective_documents: float | None = None

    def hits(self, truth: Truth) -> PerDocument:
        """1 where the prediction is the label."""
        return (self.probabilities.argmax(axis=1) == truth.labels).astype(np.float64)

    def gain(self, truth: Truth) -> PerDocument:
        """Log probability of the label, beyond its share in training (nats).

        The mean is 0 for a model that answers with the shares, whatever its text. Unlike accuracy
        it counts how sure a model is: one that is right by a hair gains next to nothing.
        """
        of_label = self.probabilities[np.arange(len(truth.labels)), truth.labels]
        share = truth.shares[truth.labels]
        return np.log(np.maximum(of_label.astype(np.float64), LOWEST) / np.maximum(share, LOWEST))

    def told(self, truth: Truth) -> float | None:
        """What the weights tell of the label (nats), by a classifier that sees only them.

        mean of log q(label | weights) / P(label), q never fitted on the document it speaks of: a
        lower bound of their mutual information, about 0 if they tell nothing. None where there are
        no weights, or too few documents of a label to leave some out.
        """
        kinds, labels, counts = np.unique(truth.labels, return_inverse=True, return_counts=True)
        if self.weights is None or len(kinds) < 2 or counts.min() < FOLDS:
            return None
        share = _cross_fitted(self.weights, labels, self.seed)
        return float(np.log(np.maximum(share, LOWEST) * len(labels) / counts[labels]).mean())


@dataclass(frozen=True)
class OfSeed:
    """The numbers of one training."""

    seed: int
    accuracy: float
    gain: float
    told: float | None
    effective_documents: float | None
    mean_weights: tuple[tuple[float, ...], ...] = ()  # per label, per token


@dataclass(frozen=True)
class Finding:
    """The numbers of one arm over its seeds; intervals are over test documents and seeds."""

    accuracy: Estimate
    leak: Estimate  # accuracy beyond that of the commonest label
    gain: Estimate  # nats per document
    seeds: tuple[OfSeed, ...]

    @property
    def is_above_commonest(self) -> bool:
        """Whether it is clearly right more often than the commonest label."""
        return self.leak.interval[0] > 0

    @property
    def shows_label(self) -> bool:
        """Whether the label passes through the weights.

        Accuracy alone does not show that: where labels are shared out otherwise in the test
        documents than in training, a model that gives every text the same answer may beat the
        commonest label. So the weights have to tell the labels apart, where that can be measured.
        """
        return self.is_above_commonest and not self.told <= 0

    @property
    def told(self) -> float:
        """What the weights tell of the label, mean over seeds (nats)."""
        return float(np.mean([one.told if one.told is not None else np.nan for one in self.seeds]))

    @property
    def effective_documents(self) -> float | None:
        """Mean over seeds; None where documents were not weighed."""
        counts = [one.effective_documents for one in self.seeds]
        return float(np.mean([c for c in counts if c is not None])) if all(counts) else None


def find(
    outcomes: Sequence[Outcome], truth: Truth, rng: np.random.Generator, settings: BootstrapSettings
) -> Finding:
    """The numbers of one arm."""
    hits = np.stack([outcome.hits(truth) for outcome in outcomes])
    gains = np.stack([outcome.gain(truth) for outcome in outcomes])
    return Finding(
        accuracy=over_seeds(hits, rng, settings),
        leak=over_seeds(hits - truth.is_majority, rng, settings),
        gain=over_seeds(gains, rng, settings),
        seeds=tuple(
            OfSeed(
                seed=outcome.seed,
                accuracy=float(hits[place].mean()),
                gain=float(gains[place].mean()),
                told=outcome.told(truth),
                effective_documents=outcome.effective_documents,
                mean_weights=_mean_weights(outcome, truth),
            )
            for place, outcome in enumerate(outcomes)
        ),
    )


def _cross_fitted(
    weights: Float[ndarray, "documents tokens"], labels: Int[ndarray, " documents"], seed: int
) -> PerDocument:
    """P(own label | weights) of each document, by a logistic regression that never saw it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    reader = make_pipeline(StandardScaler(), LogisticRegression())
    shares = cross_val_predict(reader, weights, labels, cv=folds, method="predict_proba")
    return shares[np.arange(len(labels)), labels]


def _mean_weights(outcome: Outcome, truth: Truth) -> tuple[tuple[float, ...], ...]:
    """Mean weight of each token over the documents of each label; NaN for a label without any."""
    if outcome.weights is None:
        return ()
    rows = []
    for label in range(len(truth.shares)):
        of_label = outcome.weights[truth.labels == label]
        none = np.full(outcome.weights.shape[1], np.nan)
        rows.append(tuple((of_label.mean(axis=0) if len(of_label) else none).tolist()))
    return tuple(rows)
