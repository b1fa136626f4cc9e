"""What if attention were different, or a word were missing? One text, one answer at a time.

`read` runs the model once on the words that are left; `decide` then asks for any weights over them,
which costs a sum and no forward pass. Weights that people draw need not sum to 1: they are shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.counterfactual.adversarial import Adversarial, js_divergence
from heedful.counterfactual.base import counterfactuals
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


@dataclass(frozen=True)
class EditedText:
    """A text without some of its words, as a model reads it."""

    text: str
    offsets: Int[ndarray, "all_words 2"]  # of all its words, also of those that are deleted
    is_kept: Bool[ndarray, " all_words"]
    classes: tuple[Label, ...]
    model: AttentionClassifier
    batch: Batch  # of the words that are kept
    trace: Trace
    decisions: Decisions  # on the words that are kept, of the model that decides

    @property
    def own(self) -> Weights:
        """The model's own attention on the words that are kept."""
        return self.trace.weights[0].double().cpu().numpy()

    @property
    def probabilities(self) -> Float[ndarray, " classes"]:
        """What the model predicts with its own attention."""
        return self.trace.logits[0].double().softmax(dim=-1).cpu().numpy()


@dataclass(frozen=True)
class WhatIf:
    """The prediction under other weights, and how far both moved."""

    weights: Weights  # of the words that are kept; they sum to 1
    probabilities: Float[ndarray, " classes"]
    jsd: float  # between these weights and the model's own, nats
    tvd: float  # between this prediction and the one by the model's own weights


@in_full()
@torch.no_grad()
def read(trained: Trained, text: str, deleted: Sequence[int] = ()) -> EditedText:
    """A text as a model reads it once the words at some places are deleted."""
    model = trained.model
    if not isinstance(model, AttentionClassifier):
        raise ConfigError(
            "this classifier has no attention to change: it was built with pooling "
            f"= {trained.settings.model.pooling!r}."
        )
    offsets = trained.tokenizer.offsets(text)
    is_kept = np.ones(len(offsets), dtype=bool)
    for place in deleted:
        if not 0 <= place < len(offsets):
            raise DataError(
                f"there is no word {place}: the text has {counted(len(offsets), 'word')}, "
                "numbered from 0."
            )
        is_kept[place] = False
    if not is_kept.any():
        raise DataError(
            "no word is left, so there is nothing to attend to."
            if len(offsets)
            else "the text contains no words, so there is nothing to attend to."
        )
    batch = next(trained.batches([text]).by_length())
    if not is_kept.all():
        kept = torch.from_numpy(is_kept).unsqueeze(0).to(batch.is_token.device)
        batch = batch.kept(torch.zeros(1, dtype=torch.long, device=kept.device), kept)
    trace = model(batch)
    by_attention = trace.logits.double().softmax(dim=-1).cpu().numpy()
    left = text if is_kept.all() else only_words(text, offsets, is_kept)
    decisions = trained.decided([left], by_attention)
    return EditedText(text, offsets, is_kept, trained.classes, model, batch, trace, decisions)


@in_full()
@torch.no_grad()
def decide(reading: EditedText, weights: Sequence[float] | Weights | None = None) -> WhatIf:
    """The prediction under the given shares of attention, or under the model's own."""
    own = reading.trace.weights
    given = own if weights is None else _shares(reading, weights).to(own).unsqueeze(0)
    logits = decide_many(reading.model, reading.trace.hidden, given.unsqueeze(1))[0, 0]
    probabilities = logits.double().softmax(dim=-1).cpu().numpy()
    jsd = js_divergence(given.double().unsqueeze(1), own.double().unsqueeze(1))
    return WhatIf(
        weights=given[0].double().cpu().numpy(),
        probabilities=probabilities,
        jsd=float(jsd.clamp(0.0, float(np.log(2)))),
        tvd=float(np.abs(probabilities - reading.probabilities).sum() / 2),
    )


@in_full()
def other_weights(reading: EditedText, name: str, seed: int = 0) -> Weights:
    """Weights of a counterfactual by its name, drawn with a seed.

    Of an adversary's candidates the farthest that keeps the prediction, or else the one that moves
    it least; of others the first.
    """
    rng = torch.Generator().manual_seed(seed)
    counterfactual = counterfactuals.make(name)
    found = counterfactual(reading.model, reading.trace, reading.batch, rng)[0]
    weights = [row.detach().double().cpu().numpy() for row in found]
    if not isinstance(counterfactual, Adversarial):
        return weights[0]
    outcomes = [decide(reading, row) for row in weights]
    same = [one for one in outcomes if one.tvd <= SAME]
    best = max(same, key=lambda one: one.jsd) if same else min(outcomes, key=lambda one: one.tvd)
    return best.weights


def _shares(reading: EditedText, weights: Sequence[float] | Weights) -> torch.Tensor:
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
    return torch.from_numpy(given / given.sum())
