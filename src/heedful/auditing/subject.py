"""What an audit sees of a model: a small protocol, never a concrete class.

    Subject        reads texts: words, weights, probabilities; predicts from some of the words
    OpenSubject    also decides with other weights, and measures importance

`ClassifierSubject` is our own classifier, `Decoration` a liar: it shows weights with no path to
the decision. Arrays are padded to the longest document of a reading; `is_token` is True on words.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.counterfactual import Counterfactual
from heedful.counterfactual.adversarial import Adversarial
from heedful.counterfactual.simple import RandomWeights
from heedful.errors import ConfigError
from heedful.importance import importances
from heedful.model.classifier import AttentionClassifier
from heedful.model.decision import decide_many
from heedful.text.batching import Batches
from heedful.text.vocabulary import Encoded
from heedful.training.task import Label
from heedful.training.trained import Trained

Words = Float[ndarray, "documents words"]
IsToken = Bool[ndarray, "documents words"]
Attentions = Float[ndarray, "documents attentions words"]
Probabilities = Float[ndarray, "documents classes"]


@dataclass(frozen=True)
class Reading:
    """Some documents as a subject reads them."""

    is_token: IsToken
    weights: Words  # what the subject shows as its attention
    probabilities: Probabilities
    offsets: tuple[Int[ndarray, "_ 2"], ...]  # of each document's words, in its own characters
    inner: Any = None  # whatever the subject wants to find again

    @property
    def prediction(self) -> Int[ndarray, " documents"]:
        """The class that each document is given."""
        return self.probabilities.argmax(axis=1)

    def moved(
        self, probabilities: Float[ndarray, "documents attentions classes"]
    ) -> Float[ndarray, "documents attentions"]:
        """Total variation between the prediction and each of the others: half the differences."""
        return np.abs(probabilities - self.probabilities[:, None]).sum(axis=-1) / 2

    @property
    def support(self) -> IsToken:
        """Words with any weight: all of them, unless attention is sparse."""
        return self.is_token & (self.weights > 0)


class Subject(ABC):
    """A classifier that shows a weight for each word."""

    classes: tuple[Label, ...]

    @abstractmethod
    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights and probabilities of some texts."""

    @abstractmethod
    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """Probabilities of documents of a reading with only the kept words left in them."""


class OpenSubject(Subject):
    """A classifier that can also be asked to decide with other weights."""

    @abstractmethod
    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities under other weights, the states as they are."""

    @abstractmethod
    def without_evidence(self, reading: Reading) -> Probabilities:
        """Probabilities when no state at all is passed on."""

    @abstractmethod
    def importance(self, reading: Reading, measure: str) -> Words:
        """Signed importance of each word for the prediction."""

    @abstractmethod
    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """Other attentions than the shown ones: uniform, permuted, adversarial, …"""


class ClassifierSubject(OpenSubject):
    """A trained attention classifier."""

    def __init__(self, trained: Trained) -> None:
        if not isinstance(trained.model, AttentionClassifier):
            raise ConfigError(
                "an audit asks about attention, and this classifier has none: it was built with "
                f"pooling = {trained.settings.model.pooling!r}."
            )
        self.trained = trained
        self.model: AttentionClassifier = trained.model
        self.classes = trained.classes

    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights and probabilities of some texts."""
        batch = self.trained.batches(texts).whole()
        with torch.no_grad():
            trace = self.model(batch)
        return Reading(
            is_token=batch.is_token.cpu().numpy(),
            weights=trace.weights.double().cpu().numpy(),
            probabilities=trace.logits.softmax(dim=-1).double().cpu().numpy(),
            offsets=tuple(self.trained.tokenizer.offsets(text) for text in texts),
            inner=(batch, trace),
        )

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """Probabilities of shortened documents, the deleted words physically gone."""
        batch, _ = reading.inner
        ids = batch.token_ids.cpu().numpy()[document]
        kept = is_kept & reading.is_token[document]
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        shortened = Batches(Encoded(ids[kept], starts), device=self.trained.device)
        result = np.empty((len(document), len(self.classes)))
        with torch.inference_mode():
            for some in shortened.by_length():
                probabilities = self.model(some).logits.softmax(dim=-1)
                result[some.indices] = probabilities.double().cpu().numpy()
        return result

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities under other weights."""
        _, trace = reading.inner
        weights = torch.tensor(attentions).to(trace.hidden)
        with torch.inference_mode():
            logits = decide_many(self.model, trace.hidden, weights)
            return logits.softmax(dim=-1).double().cpu().numpy()

    def without_evidence(self, reading: Reading) -> Probabilities:
        """Probabilities of a zero context."""
        return self.decide(reading, np.zeros_like(reading.weights)[:, None])[:, 0]

    def importance(self, reading: Reading, measure: str) -> Words:
        """Signed importance of each word for the prediction."""
        batch, _ = reading.inner
        target = torch.from_numpy(reading.prediction).to(batch.labels)
        scores = importances.make(measure)(self.model, batch, target)
        return scores.double().cpu().numpy()

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """What the counterfactual makes of the shown weights."""
        batch, trace = reading.inner
        shown = replace(trace, weights=torch.tensor(reading.weights).to(trace.weights))
        rng = torch.Generator().manual_seed(seed)
        return counterfactual(self.model, shown, batch, rng).double().cpu().numpy()


class Decoration(OpenSubject):
    """A subject that shows random weights beside the decisions of another: a known liar.

    Whatever weights one puts in its place, it decides as before.
    """

    def __init__(self, behind: OpenSubject, seed: int = 0) -> None:
        self.behind = behind
        self.classes = behind.classes
        self._rng = np.random.default_rng(seed)

    def read(self, texts: Sequence[str]) -> Reading:
        """The other subject's words and decisions, with weights drawn at random."""
        reading = self.behind.read(texts)
        seed = int(self._rng.integers(2**31))
        return replace(reading, weights=self.behind.otherwise(reading, RandomWeights(), seed)[:, 0])

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """As the other subject."""
        return self.behind.predict_kept(reading, document, is_kept)

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """The same probabilities, whatever the weights."""
        count = attentions.shape[1]
        return np.repeat(reading.probabilities[:, None], count, axis=1)

    def without_evidence(self, reading: Reading) -> Probabilities:
        """As the other subject."""
        return self.behind.without_evidence(reading)

    def importance(self, reading: Reading, measure: str) -> Words:
        """As the other subject, except for attention, which is what is shown."""
        return (
            reading.weights if measure == "attention" else self.behind.importance(reading, measure)
        )

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """As the other subject; an adversary, whom nothing holds back, takes the farthest there is.

        That is all on the word with the least weight.
        """
        if not isinstance(counterfactual, Adversarial):
            return self.behind.otherwise(reading, counterfactual, seed)
        least = np.where(reading.is_token, reading.weights, np.inf).argmin(axis=1)
        return np.eye(reading.weights.shape[1])[least][:, None]
