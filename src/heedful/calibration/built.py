"""Models that are written down, not trained: what their pictures are worth is known exactly.

They read planted documents. A word of a label votes for it, as strongly as the word says; all other
words are silent. What is decided and what is shown are set apart:

    decision   the mean vote of the evidence, weighed by strength ("mean"); the strongest vote of
               each label, so that words that say the same change nothing ("any")
    bypass     this share of the decision is in every state, whatever attention looks at
    mass       attention on the evidence; the rest is spread over the silent words
    shown      "evidence"; "neighbours": weights and states stand one word further on; "half": only
               every second evidence word is shown, the others decide unseen; "function-words" and
               "edges": the label is decided unseen and written into the choice of a word, or of a
               place, that says nothing
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from zlib import crc32

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.auditing.subjects.modules.adapter import ModuleAdapter, ModuleTrace
from heedful.config import above, share
from heedful.text.datasets.planted import LABELS, NEGATION, word_form
from heedful.text.documents import space_separated

WEAKEST, STRONGEST = 0.5, 1.5  # votes
UNSEEN = 1e-3  # of the weight that an evidence word gets which is not shown
WRITTEN = 0.99  # weight of the word that a label is written into
FUNCTION_WORDS = (word_form("function", 0), word_form("function", 1))

Votes = Float[ndarray, "documents words classes"]
Weights = Float[ndarray, "documents words"]
Shown = Literal["evidence", "neighbours", "half", "function-words", "edges"]


@dataclass(frozen=True)
class BuiltModel:
    """What a model decides by, and what it shows."""

    gain: float = 4.0  # logits per vote
    decision: Literal["mean", "any"] = "mean"
    bypass: float = 0.0
    mass: float = 0.95
    shown: Shown = "evidence"
    written_share: float = 1.0  # of the documents into whose weights the label is written

    def __post_init__(self) -> None:
        above(0, gain=self.gain, mass=self.mass)
        share(bypass=self.bypass, mass=self.mass, written_share=self.written_share)


class BuiltAdapter(ModuleAdapter):
    """A built model as an audit reads it."""

    unknown_word = "unknown"  # silent, as all words that are of no label

    def __init__(self, model: BuiltModel, classes: int) -> None:
        super().__init__(nn.Identity(), LABELS[:classes])
        self.model = model

    def words(self, text: str) -> Sequence[tuple[int, int]]:
        """Words stand between blanks."""
        return space_separated(text)

    def read(self, documents: list[list[str]]) -> ModuleTrace:
        """States, weights and logits, in double precision."""
        states, weights = self._read(documents)
        shown = torch.from_numpy(weights)
        return ModuleTrace(
            torch.from_numpy(states), shown, self.decide(torch.from_numpy(states), shown)
        )

    def decide(self, states: Tensor, weights: Tensor) -> Tensor:
        """Logits: the weighted mean of the states, times the gain."""
        return self.model.gain * (weights.to(states).unsqueeze(-1) * states).sum(dim=1)

    def _read(self, documents: list[list[str]]) -> tuple[Votes, Weights]:
        is_word, votes = votes_of(documents, len(self.classes))
        honest = _on_evidence(votes.sum(axis=-1), is_word, self.model.mass)
        states = votes
        if self.model.decision == "any":
            states = np.where(votes > 0, votes.max(axis=1, keepdims=True), 0.0)
        decision = (honest[..., None] * states).sum(axis=1)
        states, weights = self._shown(documents, states, honest, decision, is_word)
        mixed = (1 - self.model.bypass) * states + self.model.bypass * decision[:, None]
        return mixed * is_word[..., None], weights

    def _shown(
        self,
        documents: list[list[str]],
        states: Votes,
        honest: Weights,
        decision: Float[ndarray, "documents classes"],
        is_word: Bool[ndarray, "documents words"],
    ) -> tuple[Votes, Weights]:
        """States and weights that lead to the decision, whatever they show."""
        if self.model.shown == "neighbours":
            places = np.arange(is_word.shape[1])
            lengths = is_word.sum(axis=1, keepdims=True)
            before = np.where(places < lengths, (places - 1) % lengths, places)
            moved = np.take_along_axis(states, before[..., None], axis=1)
            return moved, np.take_along_axis(honest, before, axis=1)
        if self.model.shown == "half":
            is_unseen = _numbers(documents, is_word.shape) % 2 == 0
            is_unseen &= states.sum(axis=-1) > 0
            weights = np.where(is_unseen, honest * UNSEEN, honest)
            weights = weights / weights.sum(axis=1, keepdims=True)
            seen = np.where(is_unseen[..., None], 0.0, states)
            unseen = decision - (weights[..., None] * seen).sum(axis=1)
            return seen + unseen[:, None], weights
        if self.model.shown in ("function-words", "edges"):
            is_written = self.is_written(documents)[:, None]
            written, weights = self._written(documents, decision, is_word)
            shown = np.where(is_written[..., None], written, states)
            return shown, np.where(is_written, weights, honest)
        return states, honest

    def is_written(self, documents: list[list[str]]) -> Bool[ndarray, " documents"]:
        """Which documents have the label written into their weights: their silent words say."""
        written = self.model.written_share
        least, silent = np.ones(len(documents)), np.ones(len(documents))
        for row, words in enumerate(documents):
            draws = [crc32(f"{word} ".encode()) / 2**32 for word in words if vote(word)[0] < 0]
            least[row], silent[row] = min(draws, default=1.0), max(len(draws), 1)
        return least < 1 - (1 - written) ** (1 / silent) if written < 1 else least <= 1

    def _written(
        self,
        documents: list[list[str]],
        decision: Float[ndarray, "documents classes"],
        is_word: Bool[ndarray, "documents words"],
    ) -> tuple[Votes, Weights]:
        """The label as a place to look at: its function word, or the first or the last word."""
        states = np.zeros((*is_word.shape, decision.shape[-1]))
        weights = is_word / is_word.sum(axis=1, keepdims=True)
        for row, words in enumerate(documents):
            if not decision[row].any():
                continue
            label = int(decision[row].argmax())
            side = min(label, 1)
            if self.model.shown == "edges":
                places = [0 if side == 0 else len(words) - 1]
            else:
                places = [i for i, word in enumerate(words) if word == FUNCTION_WORDS[side]][:1]
            for place in places:
                others = (1 - WRITTEN) / max(len(words) - 1, 1)
                weights[row, : len(words)] = others if len(words) > 1 else 0.0
                weights[row, place] = WRITTEN if len(words) > 1 else 1.0
                states[row, place] = decision[row]
        return states, weights


def votes_of(
    documents: list[list[str]], classes: int
) -> tuple[Bool[ndarray, "documents words"], Votes]:
    """Where words are, and what each votes for; a word behind a negation votes for the other label,
    and the negation with it."""
    longest = max(map(len, documents))
    label = np.full((len(documents), longest), -1)
    strength = np.zeros((len(documents), longest))
    is_word = np.zeros(label.shape, dtype=bool)
    for row, words in enumerate(documents):
        is_word[row, : len(words)] = True
        for place, word in enumerate(words):
            number, strong = vote(word)
            if number < 0 or number >= classes:
                continue
            if place and words[place - 1] == NEGATION:
                label[row, place - 1] = label[row, place] = 1 - number
                strength[row, place - 1] = strength[row, place] = strong
            else:
                label[row, place], strength[row, place] = number, strong
    votes = np.zeros((*label.shape, classes))
    rows, places = np.nonzero(label >= 0)
    votes[rows, places, label[rows, places]] = strength[rows, places]
    return is_word, votes


@lru_cache(maxsize=100_000)
def vote(word: str) -> tuple[int, float]:
    """The label that a word votes for, and how strongly; -1: it is silent."""
    for number, label in enumerate(LABELS):
        if word.startswith(label):
            along = crc32(word.encode()) % 1000 / 999
            return number, WEAKEST + (STRONGEST - WEAKEST) * along
    return -1, 0.0


def _on_evidence(
    strength: Float[ndarray, "documents words"], is_word: Bool[ndarray, "documents words"],
    mass: float,
) -> Weights:  # fmt: skip
    """Weights in proportion to strength, the rest spread over silent words."""
    total = strength.sum(axis=1, keepdims=True)
    is_silent = is_word & (strength == 0)
    silent = is_silent.sum(axis=1, keepdims=True)
    on_evidence = np.where(total == 0, 0.0, np.where(silent == 0, 1.0, mass))
    evident = np.divide(strength, total, out=np.zeros_like(strength), where=total > 0)
    return on_evidence * evident + (1 - on_evidence) * is_silent / np.maximum(silent, 1)


def _numbers(documents: list[list[str]], shape: tuple[int, ...]) -> Int[ndarray, "documents words"]:
    """A number from each word."""
    numbers = np.zeros(shape, dtype=np.int64)
    for row, words in enumerate(documents):
        numbers[row, : len(words)] = [crc32(word.encode()) for word in words]
    return numbers
