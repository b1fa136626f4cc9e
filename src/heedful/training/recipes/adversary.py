"""Train a model that answers as another does, and looks elsewhere."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.model.classifier import Attends, TextClassifier, Trace
from heedful.model.projections import projections
from heedful.text.batching import Batch, Batches
from heedful.training.recipe import (
    Material,
    Notes,
    OnBase,
    Penalised,
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
    """Give the base's answers with different attention (Wiegreffe & Pinter 2019).

    objective = mean of TVD(answer, base's) - adversary_weight * KL(weights | base's)

    No label is seen. The divergence is KL, or JSD where the base is sparse and KL would be
    infinite. TVD is half the sum of absolute differences; `halves_tvd` halves it once more, as the
    reference code does for two labels. The epoch of lowest loss is kept; no dropout. A penalty that
    the base was trained with (tying, mlm, …) belongs in `regulariser`, so that both are of a kind.
    The mean TVD and JSD of each epoch stand in the history.
    """

    base: str | None = None
    adversary_weight: float = 1e-3
    divergence: Literal["auto", "kl", "jsd"] = "auto"
    regulariser: str | None = None  # a penalty that the base was trained with, and this one too
    halves_tvd: bool = False
    epochs: int = 20  # 80 in the reference code
    epochs_without_gain: int = 5  # 10 there

    def __post_init__(self) -> None:
        at_least(0, adversary_weight=self.adversary_weight)
        at_least(1, epochs=self.epochs, epochs_without_gain=self.epochs_without_gain)
        if self.regulariser is not None and not isinstance(
            recipes.make(self.regulariser), Penalised
        ):
            raise ConfigError(
                f"the regulariser of an adversary must be a penalty; {self.regulariser} is not one."
            )

    def check(self, model: TextClassifier, material: Material) -> None:
        """Both must attend."""
        needs_attention(model, "adversary")
        self._regulariser(model, material)
        if material.base is not None:
            needs_attention(material.base, "adversary's base")

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """One phase."""
        base = needs_attention(needs_base(material, "adversary"), "adversary's base")
        uses_jsd = self.divergence == "jsd" or (self.divergence == "auto" and _is_sparse(base))
        apart = jsd if uses_jsd else kl
        penalty, prepared = self._regulariser(model, material)
        totals = torch.zeros(3, dtype=torch.float64)  # TVD, JSD, documents of the epoch so far

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            with torch.no_grad():
                theirs = base(batch)
            ours = model(batch)
            distance = tvd(ours, theirs)
            with torch.no_grad():
                weights_apart = jsd(ours.weights, theirs.weights).sum()
                totals[:2] += torch.stack([distance.sum(), weights_apart]).double().cpu()
                totals[2] += len(distance)
            loss = distance / (2 if self.halves_tvd else 1)
            loss = (loss - self.adversary_weight * apart(ours.weights, theirs.weights)).mean()
            if penalty is not None:
                loss = loss + penalty.penalty(model, batch, ours, prepared, rng)
            return loss

        def begin(rng: torch.Generator) -> Notes:
            totals.zero_()
            return {}

        def notes() -> Notes:
            distance, weights_apart = (totals[:2] / totals[2].clamp(min=1)).tolist()
            return {"tvd": distance, "jsd": weights_apart}

        yield Phase(
            objective,
            [model, prepared],
            self.epochs,
            keep="lowest-loss",
            patience=self.epochs_without_gain,
            has_dropout=False,
            before_epoch=begin,
            after_epoch=notes,
        )

    @torch.no_grad()
    def measured(
        self, model: TextClassifier, material: Material, documents: Batches
    ) -> Mapping[str, float]:
        """Mean TVD of the answers and JSD of the weights from the base's."""
        base = needs_base(material, "adversary")
        totals = torch.zeros(2, dtype=torch.float64)
        for batch in documents.by_length():
            ours, theirs = model(batch), base(batch)
            apart = torch.stack([tvd(ours, theirs).sum(), jsd(ours.weights, theirs.weights).sum()])
            totals += apart.double().cpu()
        mean = (totals / max(1, len(documents))).tolist()
        return {"tvd_from_base": mean[0], "jsd_from_base": mean[1]}

    @property
    def base_settings(self) -> Mapping[str, Any]:
        """A base that this run trains carries the regulariser too."""
        return {"recipe": self.regulariser or "standard"}

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What the regulariser needs."""
        return recipes.make(self.regulariser).wants(given) if self.regulariser else {}

    def _regulariser(
        self, model: TextClassifier, material: Material
    ) -> tuple[Penalised | None, nn.Module]:
        """The penalty that both models carry, and what it needs."""
        if self.regulariser is None:
            return None, nn.Identity()
        recipe = recipes.make(self.regulariser)
        assert isinstance(recipe, Penalised)
        return recipe, recipe.prepare(model, material)


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


def _is_sparse(model: Attends) -> bool:
    return projections.name_of(model.project) not in DENSE
