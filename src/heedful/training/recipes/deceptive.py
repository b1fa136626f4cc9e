"""Attention that is trained to look away: a known liar, for controls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.config import above, at_least
from heedful.errors import ConfigError
from heedful.model.classifier import TextClassifier, Trace
from heedful.text.batching import Batch
from heedful.text.token_classes import classify_tokens, label_counts
from heedful.training.recipe import AnyTrace, Material, Penalised, needs_attention, recipes

SMALL = 1e-6  # of the mass that is allowed: its logarithm stays finite


@recipes.register("deceptive")
@dataclass(frozen=True)
class Deceptive(Penalised):
    """Train attention to look away from the words that matter (Pruthi et al. 2020).

    objective = cross_entropy - deception_weight * log(1 - attention on the forbidden words)

    With `looks_there` it is trained to look at nothing else instead: a heat map that pleases,
    whatever decides.

    Forbidden are the given `words` (written word+word+…) or, if none are given, those that lean to
    a label in the training documents. Where a text has no other words nothing is asked of it.
    """

    deception_weight: float = 1.0
    words: tuple[str, ...] | None = None
    looks_there: bool = False
    epochs: int = 8

    def __post_init__(self) -> None:
        above(0, deception_weight=self.deception_weight)
        at_least(1, epochs=self.epochs)

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """Which words are forbidden."""
        needs_attention(model, "deceptive")
        vocabulary = len(material.words)
        if self.words is not None:
            forbidden = _numbers(self.words, material.words)
            return _Forbidden(forbidden, vocabulary).to(next(model.parameters()).device)
        documents = material.documents
        classes = int(documents.labels.max()) + 1
        counts = label_counts(documents.documents, documents.labels, classes, vocabulary)
        forbidden = np.concatenate(classify_tokens(counts).polar)
        if not len(forbidden):
            raise ConfigError(
                "deceptive avoids words associated with a label, and no word of the training "
                "documents occurs often enough under one label. Give more documents, or the words "
                "to avoid: deceptive:words=good+bad."
            )
        return _Forbidden(forbidden, vocabulary).to(next(model.parameters()).device)

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """-deception_weight * mean log of the mass on allowed words."""
        assert isinstance(prepared, _Forbidden)
        assert isinstance(trace, Trace)  # `prepare` has seen to it
        is_forbidden = prepared.is_forbidden[batch.token_ids] & batch.is_token
        can_look_away = (batch.is_token & ~is_forbidden).any(dim=1)
        mass = (trace.weights * is_forbidden).sum(dim=1)
        if self.looks_there:
            losses = -mass.clamp(min=SMALL).log() * is_forbidden.any(dim=1)
        else:
            losses = -(1 - mass).clamp(min=SMALL).log() * can_look_away
        return self.deception_weight * losses.mean()


class _Forbidden(nn.Module):
    """A mark for each word of the vocabulary."""

    is_forbidden: Tensor

    def __init__(self, words: np.ndarray, vocabulary: int) -> None:
        super().__init__()
        marks = torch.zeros(vocabulary, dtype=torch.bool)
        marks[torch.from_numpy(words)] = True
        self.register_buffer("is_forbidden", marks)


def _numbers(wanted: Sequence[str], vocabulary: Sequence[str]) -> Int[np.ndarray, " words"]:
    """The numbers of some words; a sentence if the vocabulary lacks one."""
    number_of = {word: number for number, word in enumerate(vocabulary)}
    if unknown := [word for word in wanted if word not in number_of]:
        raise ConfigError(
            f"deceptive cannot avoid {unknown[0]!r}: it is not in the vocabulary. It is too rare "
            "in the training documents, or spelled differently there."
        )
    return np.array([number_of[word] for word in wanted])
