"""The arms of the default-token experiment: one model, trained in five ways (Bai et al. 2021).

An arm takes a fresh default-token model and the bench it is trained on, trains it, and gives what
is tested. All but `random` are a recipe as it stands: the model is one more that attends.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import ConfigError
from heedful.model.classifier import Attends, TextClassifier
from heedful.model.default_tokens import DefaultTokenClassifier
from heedful.model.projections import KHot, Projection, softmax
from heedful.registry import Registry
from heedful.text.batching import Batches
from heedful.training.fit import TrainingSettings, fit
from heedful.training.recipe import Material, Recipe
from heedful.training.recipes.mask_neutral import MaskNeutral
from heedful.training.recipes.random_pretraining import RandomPretraining
from heedful.training.recipes.standard import Standard

ORDINARY = "ordinary"  # beside the arms: a classifier that may read the text
REFERENCE = "learned"
MITIGATIONS = ("random-pretrained", "mask-neutral")


@dataclass(frozen=True)
class Bench:
    """What every arm of one seed shares."""

    training: TrainingSettings
    material: Material
    dev: Batches | None
    epochs: int
    mask: Projection

    @property
    def at_random(self) -> RandomPretraining:
        """Random weights that look like those of the mask: one law for each kind."""
        if isinstance(self.mask, KHot):
            return RandomPretraining(law="k-subset", kept=self.mask.k, epochs=self.epochs)
        return RandomPretraining(law="softmax-noise", epochs=self.epochs)

    def fit(
        self, model: TextClassifier, recipe: Recipe, *, chooses_epoch: bool = True
    ) -> list[dict[str, Any]]:
        """Train the model by the recipe; the best epoch on dev is kept, or else the last."""
        recipe.check(model, self.material)
        settings = replace(self.training, recipe=recipe)
        return fit(model, settings, self.material, self.dev if chooses_epoch else None)


@dataclass(frozen=True)
class Taught:
    """A trained arm: what is tested, and how training went."""

    model: TextClassifier
    history: list[dict[str, Any]]

    @property
    def effective_documents(self) -> float | None:
        """How many documents of equal weight the reweighed ones were worth in the last epoch."""
        return self.history[-1].get("notes", {}).get("effective_documents")


Arm = Callable[[DefaultTokenClassifier, Bench], Taught]
arms: Registry[Arm] = Registry("arm")


@arms.register("learned")
def learned(model: DefaultTokenClassifier, bench: Bench) -> Taught:
    """Attention and all else learn together."""
    return Taught(model, bench.fit(model, Standard(bench.epochs)))


@arms.register("random")
def random(model: DefaultTokenClassifier, bench: Bench) -> Taught:
    """Weights are drawn at random, in training and in testing."""
    rng = torch.Generator().manual_seed(bench.training.seed)

    def draw(
        scores: Float[Tensor, "batch places"], is_token: Bool[Tensor, "batch places"]
    ) -> Float[Tensor, "batch places"]:
        return bench.at_random.draw(is_token, rng)

    blind: Attends = model.seen_with(projection=draw)
    return Taught(blind, bench.fit(blind, Standard(bench.epochs)))


@arms.register("frozen")
def frozen(model: DefaultTokenClassifier, bench: Bench) -> Taught:
    """Attention keeps its random initial values; only values and output learn."""
    for part in model.attention_parts:
        part.requires_grad_(False)
    return Taught(model, bench.fit(model, Standard(bench.epochs)))


@arms.register("random-pretrained")
def random_pretrained(model: DefaultTokenClassifier, bench: Bench) -> Taught:
    """Values and output learn under random weights first, then attention alone."""
    return Taught(model, bench.fit(model, bench.at_random))


@arms.register("mask-neutral")
def mask_neutral(model: DefaultTokenClassifier, bench: Bench) -> Taught:
    """Documents are weighed so that the pattern tells nothing of the label."""
    # Dev documents are not weighed, so the best epoch there is the one that leaks most: the first
    # ones, before the weights take hold. The last epoch stands instead.
    recipe = MaskNeutral(epochs=bench.epochs)
    return Taught(model, bench.fit(model, recipe, chooses_epoch=False))


def check_mask(mask: Projection, tokens: int) -> None:
    """Refuse a mask that has no random law of its own, or that cannot differ between texts."""
    if not (mask is softmax or isinstance(mask, KHot)):
        raise ConfigError(
            "the mask should be softmax or k-hot (k-hot:k=1): the random weights it is compared "
            "with are known for these two."
        )
    if isinstance(mask, KHot) and mask.k >= tokens:
        raise ConfigError(
            f"k-hot with k = {mask.k} keeps all of {tokens} tokens, so every text gets the same "
            "mask. Use a smaller k or more tokens."
        )
