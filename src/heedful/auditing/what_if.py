"""What if attention were different, or a word were missing, for whatever can be audited?

    Subject, text, deleted words ──> SubjectText ── weights ──> prediction

A word is deleted by writing the text without it, as in an audit. The words of the text that is left
may be others: without the hyphen, two words are one. Each word that is kept stands for those of
them that it overlaps, so that weights can be shown and imposed on the words of the whole text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.questions.base import SHORT_SEARCH
from heedful.auditing.subjects.base import Decides, Reading, Subject
from heedful.counterfactual import Counterfactual, counterfactuals
from heedful.counterfactual.adversarial import Adversarial
from heedful.counterfactual.what_if import SAME, EditedText, Probabilities, Weights, kept_words
from heedful.errors import ConfigError
from heedful.text.documents import only_words, places_of_kept
from heedful.training.decisions import decide

SLOW_SEARCH = replace(SHORT_SEARCH, tolerance=SAME)
Shares = Float[ndarray, "kept left"]


@dataclass(frozen=True)
class SubjectText(EditedText):
    """A text without some of its words, as a subject reads it."""

    subject: Subject
    reading: Reading  # of the text that is left
    overlaps: Shares  # 1 where a kept word and a word of the text that is left share characters

    @property
    def own(self) -> Weights:
        """The shown weights."""
        return self._on_kept(self.reading.weights[0])

    @property
    def probabilities(self) -> Probabilities:
        """As it was read."""
        return self.reading.probabilities[0]

    def under(self, weights: Weights) -> Probabilities:
        """By a pass through the model with other weights in it."""
        subject = self.subject
        if not isinstance(subject, Decides):
            raise ConfigError(f"{why_no_decisions(subject)}. Words can be deleted.")
        imposed = weights @ self._shares_of_left
        return subject.decide(self.reading, imposed[None, None])[0, 0]

    def candidates(self, counterfactual: Counterfactual, seed: int) -> list[Weights]:
        """As the subject gives them; an adversary's search is short where each step is slow."""
        subject = self.subject
        if not isinstance(subject, Decides):
            raise ConfigError(f"{why_no_decisions(subject)}. Words can be deleted.")
        if isinstance(counterfactual, Adversarial) and subject.decides_slowly:
            counterfactual = SLOW_SEARCH
        found = subject.otherwise(self.reading, counterfactual, seed)[0]
        return [self._on_kept(row) for row in found]

    def _on_kept(self, weights: Float[ndarray, " left"]) -> Weights:
        """Weights of the words that are left as weights of the kept ones, shared evenly."""
        sharing = np.maximum(self.overlaps.sum(axis=0), 1)
        return self.overlaps @ (weights / sharing)

    @property
    def _shares_of_left(self) -> Shares:
        """How a kept word's weight goes to the words it overlaps: as their shown weights do."""
        own = self.overlaps * self.reading.weights[0]
        nowhere = own.sum(axis=1, keepdims=True) == 0
        shares = np.where(nowhere, self.overlaps, own)
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)


def read_with(subject: Subject, text: str, deleted: Sequence[int] = ()) -> SubjectText:
    """A text as a subject reads it once the words at some places are deleted."""
    whole = subject.read([text])
    offsets = whole.offsets[0]
    is_kept = kept_words(len(offsets), deleted)
    left = whole
    places = offsets
    if not is_kept.all():
        left = subject.read([only_words(text, offsets, is_kept)])
        places = places_of_kept(text, offsets, is_kept)
    new = left.offsets[0]
    overlaps = np.zeros((len(places), left.weights.shape[1]))
    overlaps[:, : len(new)] = (places[:, :1] < new[:, 1]) & (places[:, 1:] > new[:, 0])
    decisions = decide(left.probabilities, left.probabilities, subject.classes)
    return SubjectText(text, offsets, is_kept, subject.classes, decisions, subject, left, overlaps)


def why_no_decisions(subject: Subject) -> str:
    """Why other weights cannot be tried on a subject; nothing if they can."""
    if isinstance(subject, Decides):
        return ""
    return subject.refuses("decisive") or Decides.missing


def replacements(subject: Subject) -> list[str]:
    """The counterfactuals that can be tried on a subject, by name."""
    if not isinstance(subject, Decides):
        return []
    return [name for name in counterfactuals if subject.can_seek(counterfactuals.make(name))]
