"""Pictures of known truth beside the decisions of any model: true, or false on some documents.

A false picture puts its weight on words that are no evidence, and nothing that attention does there
matters: the model decides by itself. Which documents get one follows from the text (a share of all)
or from the prediction (some classes).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.subjects.base import (
    Attentions,
    Decides,
    Probabilities,
    Reading,
    Subject,
    Words,
)
from heedful.calibration.built import FUNCTION_WORDS
from heedful.config import share
from heedful.counterfactual import Counterfactual
from heedful.text.documents import Documents, Span, fingerprints, words_in_spans

EVIDENCE_MASS = 0.95  # of a picture that is placed on the evidence
OF_WEIGHTS = ("attention-score", "attention-x-gradient", "weight-gradient", "contribution")
Spans = Mapping[str, Sequence[Span]]  # of the evidence, by text


@dataclass(frozen=True)
class Picture:
    """Which pictures are false."""

    false_share: float = 0.0  # of the documents
    false_classes: tuple[str, ...] = ()
    is_written: bool = False  # false ones look at the function word of the predicted label
    is_placed: bool = False  # true pictures are placed on the evidence, not the model's own

    def __post_init__(self) -> None:
        share(false_share=self.false_share)

    @property
    def is_own(self) -> bool:
        """Whether nothing is changed."""
        return not (self.false_share or self.false_classes or self.is_placed)

    def is_false(
        self, texts: Sequence[str], predictions: Sequence[str]
    ) -> Bool[ndarray, " documents"]:
        """Which documents get a false picture."""
        drawn = fingerprints(texts).view(np.uint64) / 2**64 < self.false_share
        return drawn | np.isin(list(predictions), self.false_classes)


def evidence_of(documents: Documents) -> dict[str, tuple[Span, ...]]:
    """The spans of the evidence of each text."""
    return {document.text: tuple(document.rationale or ()) for document in documents}


class Pictured(Subject):
    """A subject that shows other pictures than its own beside the same decisions."""

    def __init__(self, behind: Subject, picture: Picture, evidence: Spans) -> None:
        self.behind, self.picture, self.evidence = behind, picture, evidence
        self.classes = behind.classes
        self.smallest = behind.smallest  # type: ignore[misc]
        self.architecture = behind.architecture  # type: ignore[misc]

    @property
    def measures(self) -> tuple[str, ...]:
        """Those of the other subject that are not of weights that it does not show."""
        return tuple(name for name in self.behind.measures if name not in OF_WEIGHTS)

    def read(self, texts: Sequence[str]) -> Reading:
        """The other subject's words and decisions."""
        reading = self.behind.read(texts)
        is_evidence = np.zeros_like(reading.is_token)
        for row, (text, offsets) in enumerate(zip(texts, reading.offsets, strict=True)):
            is_evidence[row, : len(offsets)] = words_in_spans(offsets, self.evidence.get(text, ()))
        is_false = self._is_false(reading)
        own = reading.weights
        if self.picture.is_placed:
            own = _spread(is_evidence, reading.is_token, texts)
        if self.picture.is_written:
            wrong = _spread(_function_words(reading), reading.is_token, texts)
        else:  # no evidence word may come first, however many others share the weight
            wrong = _spread(~is_evidence & reading.is_token, reading.is_token, texts, mass=1.0)
        return replace(reading, weights=np.where(is_false[:, None], wrong, own))

    def _is_false(self, reading: Reading) -> Bool[ndarray, " documents"]:
        names = [str(self.classes[number]) for number in reading.prediction.tolist()]
        return self.picture.is_false(reading.texts, names)

    def judged(self, reading: Reading) -> Probabilities:
        """As the other subject."""
        return self.behind.judged(reading)

    def predict_kept(
        self,
        reading: Reading,
        document: Int[ndarray, " variants"],
        is_kept: Bool[ndarray, "variants words"],
    ) -> Float[ndarray, "variants classes"]:
        """As the other subject."""
        return self.behind.predict_kept(reading, document, is_kept)

    def without_each(self, reading: Reading) -> Float[ndarray, "documents words classes"]:
        """As the other subject."""
        return self.behind.without_each(reading)

    def importance(self, reading: Reading, measure: str) -> Words:
        """As the other subject, except for attention, which is what is shown."""
        if measure == "attention":
            return reading.weights
        return self.behind.importance(reading, measure)


class PicturedDecides(Pictured, Decides):
    """The same of a subject whose weights decide; where its picture is false, they do not."""

    behind: Decides

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """As the other subject; where the picture is false, the same whatever the weights."""
        found = self.behind.decide(reading, attentions)
        is_false = self._is_false(reading)
        found[is_false] = reading.probabilities[is_false][:, None]
        return found

    def without_evidence(self, reading: Reading) -> Probabilities:
        """As the other subject."""
        return self.behind.without_evidence(reading)

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """As the other subject."""
        return self.behind.otherwise(reading, counterfactual, seed)


def pictured(behind: Subject, picture: Picture, evidence: Spans) -> Subject:
    """A subject with the pictures of `picture`; itself, if they are its own."""
    if picture.is_own:
        return behind
    if isinstance(behind, Decides) and not picture.is_placed:
        return PicturedDecides(behind, picture, evidence)
    return Pictured(behind, picture, evidence)


def _function_words(reading: Reading) -> Bool[ndarray, "documents words"]:
    """Of each document the function word that stands for its predicted label."""
    found = np.zeros_like(reading.is_token)
    for row, (text, offsets) in enumerate(zip(reading.texts, reading.offsets, strict=True)):
        word = FUNCTION_WORDS[min(int(reading.prediction[row]), 1)]
        found[row, : len(offsets)] = [text[start:end] == word for start, end in offsets.tolist()]
    return found


def _spread(
    where: Bool[ndarray, "documents words"],
    is_token: Bool[ndarray, "documents words"],
    texts: Sequence[str],
    mass: float = EVIDENCE_MASS,
) -> Words:
    """Most of the weight on some words, unevenly, the rest on all others."""
    uneven = np.zeros(is_token.shape)
    for row, number in enumerate(fingerprints(texts).tolist()):
        rng = np.random.default_rng(number % 2**32)
        uneven[row] = rng.uniform(0.5, 1.5, is_token.shape[1])

    def shares(chosen: Bool[ndarray, "documents words"]) -> Words:
        weights = uneven * chosen
        total = weights.sum(axis=1, keepdims=True)
        return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)

    mixed = mass * shares(where) + (1 - mass) * shares(is_token & ~where)
    total = mixed.sum(axis=1, keepdims=True)
    return np.divide(mixed, total, out=np.zeros_like(mixed), where=total > 0)
