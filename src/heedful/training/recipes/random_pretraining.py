"""Learn to read under random attention first; only then learn where to look.

A law of random weights takes `is_token` and a generator, and gives a point of the simplex per row
(zeros where a row has no token).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.config import above, at_least
from heedful.errors import ConfigError
from heedful.model.classifier import AttentionClassifier, TextClassifier
from heedful.model.projections import projections, softmax
from heedful.text.batching import Batch
from heedful.training.recipe import (
    Material,
    Phase,
    Recipe,
    by_label,
    cross_entropy_of,
    needs_attention,
    recipes,
)

IsToken = Bool[Tensor, "*rows tokens"]
Weights = Float[Tensor, "*rows tokens"]


@recipes.register("random-pretraining")
@dataclass(frozen=True)
class RandomPretraining(Recipe):
    """First train all but attention, under random weights; then attention alone (Bai et al. 2021).

    stage 1:  cross_entropy under weights that know nothing of the text    attention is held
    stage 2:  cross_entropy                                                all else is held

    What reads the values never profits from the pattern of the weights, so attention cannot learn
    to write the label into it. Keys have an encoder of their own (keys = separate), or freezing the
    values would freeze attention too. Weights are drawn as softmax of N(0, spread²), as `kept`
    words drawn at random, or by a Dirichlet law: choose what attention is expected to look like.
    """

    law: Literal["softmax-noise", "k-subset", "dirichlet"] = "softmax-noise"
    spread: float = 3.0
    kept: int = 5
    concentration: float = 0.5
    epochs: int = 8  # of each stage, at most

    def __post_init__(self) -> None:
        above(0, spread=self.spread, concentration=self.concentration)
        at_least(1, kept=self.kept, epochs=self.epochs)

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What it needs of the model."""
        return {"keys": "separate"}

    def check(self, model: TextClassifier, material: Material) -> None:
        """Keys must be apart from values."""
        attends = needs_attention(model, "random-pretraining")
        name = projections.name_of(attends.project)
        if name in ("uniform", "frozen"):
            raise ConfigError(
                f"random-pretraining trains attention in its second stage, which cannot learn "
                f"with the projection {name}. Choose another projection."
            )
        if isinstance(attends, AttentionClassifier) and attends.key_encoder is None:
            raise ConfigError(
                "random-pretraining freezes the encoder of the values while attention learns, so "
                "attention needs its own encoder: leave keys as it is, or set keys=separate."
            )

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """Two stages."""
        attends = needs_attention(model, "random-pretraining")
        at_random = attends.seen_with(projection=self._same_each_time)
        yield Phase(
            self.read_at_random,
            attends.value_parts,
            self.epochs,
            epochs_to_come=self.epochs,
            name="random weights",
            scored=at_random,
        )
        yield Phase(by_label, attends.attention_parts, self.epochs, name="attention")

    def read_at_random(
        self, model: TextClassifier, batch: Batch, rng: torch.Generator
    ) -> Float[Tensor, ""]:
        """The loss of a batch under random weights."""
        attends = needs_attention(model, "random-pretraining")
        weights = self.draw(attends.places(batch), rng)
        return cross_entropy_of(attends.decide(attends(batch).hidden, weights), batch)

    def draw(self, is_token: IsToken, rng: torch.Generator) -> Weights:
        """Random weights by the chosen law."""
        if self.law == "k-subset":
            return random_subset(is_token, rng, self.kept)
        if self.law == "dirichlet":
            return dirichlet(is_token, rng, self.concentration)
        return softmax_noise(is_token, rng, self.spread)

    def _same_each_time(self, scores: Weights, is_token: IsToken) -> Weights:
        """A projection that ignores the scores; the same draws whenever dev is scored."""
        return self.draw(is_token, torch.Generator().manual_seed(0))


def softmax_noise(is_token: IsToken, rng: torch.Generator, spread: float) -> Weights:
    """Softmax of N(0, spread²) draws."""
    noise = torch.randn(is_token.shape, generator=rng).to(is_token.device)
    return softmax(spread * noise, is_token)


def random_subset(is_token: IsToken, rng: torch.Generator, kept: int) -> Weights:
    """The same weight for `kept` tokens drawn without replacement; for all, if they are fewer."""
    draws = torch.rand(is_token.shape, generator=rng).to(is_token.device)
    order = draws.masked_fill(~is_token, 2.0).argsort(dim=-1)
    chosen = torch.zeros_like(draws).scatter(-1, order[..., :kept], 1.0) * is_token
    return chosen / chosen.sum(dim=-1, keepdim=True).clamp(min=1)


def dirichlet(is_token: IsToken, rng: torch.Generator, concentration: float) -> Weights:
    """Dirichlet with the same concentration everywhere: the lower, the fewer tokens matter."""
    seed = int(torch.randint(2**62, (), generator=rng))
    drawn = np.random.default_rng(seed).standard_gamma(concentration, tuple(is_token.shape))
    gammas = torch.from_numpy(np.maximum(drawn, 1e-30)).to(is_token.device) * is_token
    total = gammas.sum(dim=-1, keepdim=True)
    return (gammas / total.masked_fill(total == 0, 1.0)).to(torch.get_default_dtype())
