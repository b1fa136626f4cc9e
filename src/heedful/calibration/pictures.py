"""Pictures of known truth beside the decisions of any model: true, or false on some documents.

Where a picture is false, nothing that attention does matters: the model decides by itself. Which
documents get one follows from the text (a share of all) or from the prediction (some classes). What
it puts its weight on:

    elsewhere      all words that are no evidence
    function-word  the function word of the predicted label
    above          one or a few words that are no evidence, then the evidence
    neighbours     the words behind the evidence
    against        the evidence for other labels
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.subjects.base import Attentions, Decides, Reading, Subject, Words
from heedful.auditing.subjects.beside import Beside, BesideDecides
from heedful.calibration.built import FUNCTION_WORDS, vote
from heedful.config import at_least, share
from heedful.text.datasets.planted import LABELS
from heedful.text.documents import Documents, Span, fingerprints, words_in_spans

EVIDENCE_MASS = 0.95  # of a picture that is placed on the evidence
ABOVE_MASS = 0.93  # of words above the evidence
OF_WEIGHTS = ("attention-score", "attention-x-gradient", "weight-gradient", "contribution")
Spans = Mapping[str, Sequence[Span]]  # of the evidence, by text
Wrong = Literal["elsewhere", "function-word", "above", "neighbours", "against"]


@dataclass(frozen=True)
class Picture:
    """Which pictures are false."""

    false_share: float = 0.0  # of the documents
    false_classes: tuple[str, ...] = ()
    wrong: Wrong = "elsewhere"  # what false ones look at
    words_above: int = (
        4  # in false pictures of that kind; in long documents four are hardly noticed
    )
    is_placed: bool = False  # true pictures are placed on the evidence, not the model's own

    def __post_init__(self) -> None:
        share(false_share=self.false_share)
        at_least(1, words_above=self.words_above)

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


class Pictured(Beside):
    """A subject that shows other pictures than its own beside the same decisions."""

    def __init__(self, behind: Subject, picture: Picture, evidence: Spans) -> None:
        super().__init__(behind)
        self.picture, self.evidence = picture, evidence

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
        wrong = _wrong(self.picture, reading, is_evidence, self._predicted(reading))
        return replace(reading, weights=np.where(is_false[:, None], wrong, own))

    def importance(
        self, reading: Reading, measure: str, target: Int[ndarray, " documents"] | None = None
    ) -> Words:
        """As the other subject, except for attention, which is what is shown."""
        if measure == "attention":
            return reading.weights
        return super().importance(reading, measure, target)

    def _predicted(self, reading: Reading) -> list[str]:
        return [str(self.classes[number]) for number in reading.prediction.tolist()]

    def _is_false(self, reading: Reading) -> Bool[ndarray, " documents"]:
        return self.picture.is_false(reading.texts, self._predicted(reading))


class PicturedDecides(Pictured, BesideDecides):
    """The same of a subject whose weights decide; where its picture is false, they do not."""

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """As the other subject; where the picture is false, the same whatever the weights."""
        found = self.behind.decide(reading, attentions)
        is_false = self._is_false(reading)
        found[is_false] = reading.probabilities[is_false][:, None]
        return found


def pictured(behind: Subject, picture: Picture, evidence: Spans) -> Subject:
    """A subject with the pictures of `picture`; itself, if they are its own."""
    if picture.is_own:
        return behind
    if isinstance(behind, Decides) and not picture.is_placed:
        return PicturedDecides(behind, picture, evidence)
    return Pictured(behind, picture, evidence)


def _wrong(
    picture: Picture,
    reading: Reading,
    is_evidence: Bool[ndarray, "documents words"],
    predicted: Sequence[str],
) -> Words:
    """The weights of false pictures."""
    is_token, texts = reading.is_token, reading.texts
    others, wrong = is_token & ~is_evidence, picture.wrong
    if wrong == "above":
        first = others & (others.cumsum(axis=1) <= picture.words_above)
        on_top, below = _spread(first, is_token, texts), _spread(is_evidence, is_token, texts)
        return ABOVE_MASS * on_top + (1 - ABOVE_MASS) * below
    if wrong == "neighbours":
        behind = np.roll(is_evidence, 1, axis=1) & others
        some = np.where(behind.any(axis=1, keepdims=True), behind, others)
        return _spread(some, is_token, texts, mass=1.0)
    if wrong == "elsewhere":  # no evidence word may come first, however many share the weight
        return _spread(others, is_token, texts, mass=1.0)
    if wrong == "function-word":
        side = [FUNCTION_WORDS[min(LABELS.index(label), 1)] for label in predicted]
        return _spread(_words_that(reading, lambda row, word: word == side[row]), is_token, texts)
    against = _words_that(
        reading, lambda row, word: vote(word)[0] not in (-1, LABELS.index(predicted[row]))
    )
    return _spread(against, is_token, texts)


def _words_that(
    reading: Reading, is_so: Callable[[int, str], bool]
) -> Bool[ndarray, "documents words"]:
    found = np.zeros_like(reading.is_token)
    for row, (text, offsets) in enumerate(zip(reading.texts, reading.offsets, strict=True)):
        found[row, : len(offsets)] = [is_so(row, text[a:b]) for a, b in offsets.tolist()]
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
