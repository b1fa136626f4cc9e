"""Guess masked words beside the label."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.config import above, at_least, within
from heedful.model.classifier import TextClassifier
from heedful.model.units import (
    embed_units,
    first_ordinary,
    read_units,
    unit_table,
    units_of,
    usual_mask,
)
from heedful.text.batching import Batch
from heedful.training.recipe import (
    PAPER_SIZES,
    SIZES,
    AnyTrace,
    Material,
    Penalised,
    needs_matching_sizes,
    recipes,
)

MASKED, RANDOM = 0.8, 0.1  # of the chosen words; the rest stay as they are (BERT)


@recipes.register("mlm")
@dataclass(frozen=True)
class MaskedWords(Penalised):
    """Also predict masked words from the states at their positions (arXiv:2005.09379).

    objective = cross_entropy + mlm_weight * mean over chosen places of -log p(word | hidden)
    p(word | hidden) = softmax(E hidden + b),  E the embeddings

    Two passes: a masked one for the words, a clean one for the label, so the classifier never sees
    a mask. 80% of the chosen words are masked, 10% replaced, 10% kept. `predicts_all` guesses the
    word at every place. Of a pretrained encoder, the pieces of words are masked and guessed, and
    what stands for a masked one starts as the model's own mask.
    """

    mlm_weight: float = 1.0
    mask_share: float = 0.15
    predicts_all: bool = False
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(0, mlm_weight=self.mlm_weight)
        above(0, mask_share=self.mask_share)
        within(0, 1, mask_share=self.mask_share)
        at_least(1, epochs=self.epochs)

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """States as wide as embeddings: the paper's sizes."""
        return {} if SIZES & set(given) else PAPER_SIZES

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """The head: a bias per word, and what stands in place of a masked word."""
        needs_matching_sizes(model, "mlm guesses words by comparing states with the embeddings")
        return _Head(len(unit_table(model)), usual_mask(model))

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """mlm_weight * mean loss of the guesses; 0 if none was chosen."""
        assert isinstance(prepared, _Head)
        units = units_of(model, batch)
        draws = torch.rand(units.ids.shape, generator=rng).to(units.ids.device)
        is_chosen = units.is_known & (draws < self.mask_share)
        is_guessed = units.is_known if self.predicts_all else is_chosen
        if not bool(is_guessed.any()):
            return trace.logits.sum() * 0
        embedded = prepared.disguise(model, units.ids, is_chosen, rng)
        hidden = read_units(model, embedded, batch, units)[is_guessed]
        scores = hidden @ unit_table(model).t() + prepared.bias
        loss = nn.functional.cross_entropy(scores, units.ids[is_guessed])
        return self.mlm_weight * loss


class _Head(nn.Module):
    """What guessing needs beside the embeddings."""

    def __init__(self, vocabulary: int, mask: Float[Tensor, " embedding"]) -> None:
        super().__init__()
        self.bias = nn.Parameter(mask.new_zeros(vocabulary))
        self.mask = nn.Parameter(mask)

    def disguise(
        self,
        model: TextClassifier,
        units: Int[Tensor, "batch units"],
        is_chosen: Bool[Tensor, "batch units"],
        rng: torch.Generator,
    ) -> Float[Tensor, "batch units embedding"]:
        """Embeddings in which most chosen units are masked or replaced."""
        draws = torch.rand(units.shape, generator=rng).to(units.device)
        others = torch.randint(
            first_ordinary(model), len(unit_table(model)), units.shape, generator=rng
        )
        is_masked = is_chosen & (draws < MASKED)
        is_replaced = is_chosen & ~is_masked & (draws < MASKED + RANDOM)
        shown = torch.where(is_replaced, others.to(units.device), units)
        return torch.where(is_masked.unsqueeze(-1), self.mask, embed_units(model, shown))
