"""What if attention were different, or a word were missing? One text, one answer at a time.

An `EditedText` is a text without some of its words, as some model reads it; `decide` then asks for
any weights over the words that are left. `read` makes one of a run, where `decide` costs a sum and
no forward pass; `auditing/what_if.py` makes one of any subject of an audit. Weights that people
draw need not sum to 1: they are shares.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.counterfactual.adversarial import Adversarial, js_divergence
from heedful.counterfactual.base import Counterfactual, counterfactuals
from heedful.errors import ConfigError, DataError, counted
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import decide_many
from heedful.model.precision import in_full
from heedful.text.batching import Batch
from heedful.text.documents import only_words
from heedful.training.decisions import Decisions
from heedful.training.task import Label
from heedful.training.trained import Trained

SAME = 0.01  # TVD up to which two predictions count as the same (arXiv:1902.10186, section 4.2.2)
Weights = Float[ndarray, " words"]


Probabilities = Float[ndarray, " classes"]


@dataclass(frozen=True)
class EditedText(ABC):
    """A text without some of its words, as a model reads it."""

    text: str
    offsets: Int[ndarray, "all_words 2"]  # of all its words, also of those that are deleted
    is_kept: Bool[ndarray, " all_words"]
    classes: tuple[Label, ...]
    decisions: Decisions  # on the words that are kept, of the model that decides

    @property
    @abstractmethod
    def own(self) -> Weights:
        """The model's own attention on the words that are kept."""

    @property
    @abstractmethod
    def probabilities(self) -> Probabilities:
        """What the model predicts with its own attention."""

    @abstractmethod
    def under(self, weights: Weights) -> Probabilities:
        """What it predicts with these weights on the words that are kept; they sum to 1."""

    @abstractmethod
    def candidates(self, counterfactual: Counterfactual, seed: int) -> list[Weights]:
        """The weights of a counterfactual, which may give several."""


@dataclass(frozen=True)
class TracedText(EditedText):
    """One that a run has read."""

    model: AttentionClassifier
    batch: Batch  # of the words that are kept
    trace: Trace

    @property
    def own(self) -> Weights:
        """As the pass found it."""
        return self.trace.weights[0].double().cpu().numpy()

    @property
    def probabilities(self) -> Probabilities:
        """As the pass found them."""
        return self.trace.logits[0].double().softmax(dim=-1).cpu().numpy()

    @in_full()
    @torch.no_grad()
    def under(self, weights: Weights) -> Probabilities:
        """The states as they are, summed by other weights."""
        given = torch.from_numpy(weights).to(self.trace.weights)[None, None]
        logits = decide_many(self.model, self.trace.hidden, given)[0, 0]
        return logits.double().softmax(dim=-1).cpu().numpy()

    @in_full()
    def candidates(self, counterfactual: Counterfactual, seed: int) -> list[Weights]:
        """As the counterfactual makes them."""
        rng = torch.Generator().manual_seed(seed)
        found = counterfactual(self.model, self.trace, self.batch, rng)[0]
        return [row.detach().double().cpu().numpy() for row in found]


@dataclass(frozen=True)
class WhatIf:
    """The prediction under other weights, and how far both moved."""

    weights: Weights  # of the words that are kept; they sum to 1
    probabilities: Float[ndarray, " classes"]
    jsd: float  # between these weights and the model's own, nats
    tvd: float  # between this prediction and the one by the model's own weights


@in_full()
@torch.no_grad()
def read(trained: Trained, text: str, deleted: Sequence[int] = ()) -> TracedText:
    """A text as a run reads it once the words at some places are deleted."""
    model = trained.model
    if not isinstance(model, AttentionClassifier):
        raise ConfigError(
            "this classifier has no attention to change: it was built with pooling "
            f"= {trained.settings.model.pooling!r}."
        )
    offsets = trained.tokenizer.offsets(text)
    is_kept = kept_words(len(offsets), deleted)
    batch = next(trained.batches([text]).by_length())
    if not is_kept.all():
        kept = torch.from_numpy(is_kept).unsqueeze(0).to(batch.is_token.device)
        batch = batch.kept(torch.zeros(1, dtype=torch.long), kept)
    trace = model(batch)
    by_attention = trace.logits.double().softmax(dim=-1).cpu().numpy()
    left = text if is_kept.all() else only_words(text, offsets, is_kept)
    decisions = trained.decided([left], by_attention)
    return TracedText(text, offsets, is_kept, trained.classes, decisions, model, batch, trace)


def kept_words(words: int, deleted: Sequence[int]) -> Bool[ndarray, " words"]:
    """Which words are left once some are deleted; at least one has to be."""
    is_kept = np.ones(words, dtype=bool)
    for place in deleted:
        if not 0 <= place < words:
            raise DataError(
                f"no word {place}: the text has {counted(words, 'word')}, numbered from 0."
            )
        is_kept[place] = False
    if not is_kept.any():
        raise DataError(
            "no word is left, so there is nothing to attend to."
            if words
            else "the text contains no words, so there is nothing to attend to."
        )
    return is_kept


def decide(reading: EditedText, weights: Sequence[float] | Weights | None = None) -> WhatIf:
    """The prediction under the given shares of attention, or under the model's own."""
    own = reading.own
    given = own if weights is None else _shares(reading, weights)
    probabilities = reading.probabilities if weights is None else reading.under(given)
    jsd = js_divergence(*(torch.from_numpy(one)[None, None] for one in (given, own)))
    return WhatIf(
        weights=given,
        probabilities=probabilities,
        jsd=float(jsd.clamp(0.0, float(np.log(2)))),
        tvd=float(np.abs(probabilities - reading.probabilities).sum() / 2),
    )


def other_weights(reading: EditedText, name: str, seed: int = 0) -> Weights:
    """Weights of a counterfactual by its name, drawn with a seed.

    Of an adversary's candidates the farthest that keeps the prediction, or else the one that moves
    it least; of others the first.
    """
    counterfactual = counterfactuals.make(name)
    weights = reading.candidates(counterfactual, seed)
    if not isinstance(counterfactual, Adversarial):
        return weights[0]
    outcomes = [decide(reading, row) for row in weights]
    same = [one for one in outcomes if one.tvd <= SAME]
    best = max(same, key=lambda one: one.jsd) if same else min(outcomes, key=lambda one: one.tvd)
    return best.weights


def _shares(reading: EditedText, weights: Sequence[float] | Weights) -> Weights:
    given = np.asarray(weights, dtype=np.float64)
    words = int(reading.is_kept.sum())
    if given.shape != (words,):
        raise DataError(
            f"expected a weight for each of {counted(words, 'word')} that are left, got "
            f"{len(given):,}."
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise DataError("weights are shares of attention: they must be finite and not negative.")
    largest = float(given.max())
    if largest == 0:
        raise DataError("all weights are 0. Give at least one word a weight above 0.")
    given = given / largest  # very large and very small numbers still sum
    return given / given.sum()
