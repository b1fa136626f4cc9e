"""Train a model that answers as another does, and looks elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import at_least
from heedful.model.classifier import Attends, TextClassifier, Trace
from heedful.model.projections import projections
from heedful.text.batching import Batch
from heedful.training.recipe import (
    Material,
    Notes,
    OnBase,
    Phase,
    needs_attention,
    needs_base,
    recipes,
)

SMALL = 1e-10  # added inside logarithms, as in the reference code
DENSE = ("softmax", "uniform", "frozen")  # projections that leave no word without weight

PerDocument = Float[Tensor, " batch"]


@recipes.register("adversary")
@dataclass(frozen=True)
class Adversary(OnBase):
    """Answer as the base does while attending elsewhere (Wiegreffe & Pinter 2019).

    objective = mean of TVD(answer, base's) - adversary_weight * KL(weights | base's)

    No label is seen. The divergence is KL, or JSD where the base is sparse and KL would be
    infinite. TVD is half the sum of absolute differences; `halves_tvd` halves it once more, as the
    reference code does for two labels. The epoch of lowest loss is kept; no dropout.
    """

    base: str | None = None
    adversary_weight: float = 1e-3
    divergence: Literal["auto", "kl", "jsd"] = "auto"
    halves_tvd: bool = False
    epochs: int = 80
    epochs_without_gain: int = 10

    def __post_init__(self) -> None:
        at_least(0, adversary_weight=self.adversary_weight)
        at_least(1, epochs=self.epochs, epochs_without_gain=self.epochs_without_gain)

    def check(self, model: TextClassifier, material: Material) -> None:
        """Both must attend."""
        needs_attention(model, "adversary")
        if material.base is not None:
            needs_attention(material.base, "adversary's base")

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """One phase."""
        attends = needs_attention(model, "adversary")
        base = needs_attention(needs_base(material, "adversary"), "adversary's base")
        uses_jsd = self.divergence == "jsd" or (self.divergence == "auto" and _is_sparse(base))
        apart = jsd if uses_jsd else kl

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            with torch.no_grad():
                theirs = base(batch)
            ours = model(batch)
            distance = tvd(ours, theirs) / (2 if self.halves_tvd else 1)
            return (distance - self.adversary_weight * apart(ours.weights, theirs.weights)).mean()

        def notes() -> Notes:
            return how_far(attends, base, material)

        yield Phase(
            objective,
            [model],
            self.epochs,
            keep="lowest-loss",
            patience=self.epochs_without_gain,
            has_dropout=False,
            after_epoch=notes,
        )


def tvd(ours: Trace, theirs: Trace) -> PerDocument:
    """Half the sum of absolute differences of the probabilities."""
    differences = ours.logits.softmax(dim=-1) - theirs.logits.softmax(dim=-1)
    return differences.abs().sum(dim=-1) / 2


def kl(ours: Float[Tensor, "batch tokens"], theirs: Float[Tensor, "batch tokens"]) -> PerDocument:
    """Sum of ours * log(ours / theirs), in nats."""
    return (ours * ((ours + SMALL).log() - (theirs + SMALL).log())).sum(dim=-1)


def jsd(ours: Float[Tensor, "batch tokens"], theirs: Float[Tensor, "batch tokens"]) -> PerDocument:
    """Mean KL of both from their middle; at most ln 2."""
    middle = (ours + theirs) / 2
    return (kl(ours, middle) + kl(theirs, middle)) / 2


@torch.no_grad()
def how_far(model: Attends, base: Attends, material: Material) -> Notes:
    """Mean TVD and JSD from the base over the training documents."""
    totals = torch.zeros(2, dtype=torch.float64)
    for batch in material.documents.by_length():
        ours, theirs = model(batch), base(batch)
        distances = (tvd(ours, theirs), jsd(ours.weights, theirs.weights))
        totals += torch.stack([d.double().sum().cpu() for d in distances])
    mean = (totals / max(1, len(material.documents))).tolist()
    return {"tvd": mean[0], "jsd": mean[1]}


def _is_sparse(model: Attends) -> bool:
    return projections.name_of(model.project) not in DENSE
