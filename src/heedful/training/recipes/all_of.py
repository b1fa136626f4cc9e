"""Several penalties at once."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.model.classifier import TextClassifier
from heedful.model.encoders import EncoderSettings
from heedful.text.batching import Batch
from heedful.training.recipe import AnyTrace, Material, Notes, Penalised, Phase, recipes


@recipes.register("all-of")
@dataclass(frozen=True)
class AllOf(Penalised):
    """The sum of several penalties, written with commas: `tying,vw-penalty`.

    objective = cross_entropy + penalty of each
    """

    of: str = "tying,vw-penalty"
    epochs: int = 8

    def __post_init__(self) -> None:
        at_least(1, epochs=self.epochs)
        for spec in self.of.split(","):
            if not isinstance(recipes.make(spec), Penalised):
                known = [name for name, member in recipes.items() if issubclass(member, Penalised)]
                raise ConfigError(
                    f"{spec.partition(':')[0]} cannot be combined: it is more than a penalty on "
                    f"the loss. Available: {', '.join(n for n in known if n != 'all-of')}."
                )

    @property
    def parts(self) -> list[Penalised]:
        """The recipes whose penalties are added up."""
        made = [recipes.make(spec) for spec in self.of.split(",")]
        return [recipe for recipe in made if isinstance(recipe, Penalised)]

    @property
    def teaches_attention(self) -> bool:
        """Whether any of them does."""
        return any(part.teaches_attention for part in self.parts)

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What any of them needs."""
        return {name: value for part in self.parts for name, value in part.wants(given).items()}

    def fitted(self, encoder: EncoderSettings) -> EncoderSettings:
        """As each of them needs it, in their order."""
        for part in self.parts:
            encoder = part.fitted(encoder)
        return encoder

    def check(self, model: TextClassifier, material: Material) -> None:
        """Whatever any of them refuses."""
        for part in self.parts:
            part.check(model, material)

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """What each of them needs."""
        return nn.ModuleList(part.prepare(model, material) for part in self.parts)

    def before(
        self, model: TextClassifier, material: Material, prepared: nn.Module
    ) -> Iterator[Phase]:
        """What comes before the penalty of each, in their order."""
        for part, own in self._with_prepared(prepared):
            yield from part.before(model, material, own)

    def held(self, model: TextClassifier) -> Sequence[nn.Module]:
        """What any of them holds."""
        return [module for part in self.parts for module in part.held(model)]

    def averaged(self, model: TextClassifier) -> float | None:
        """As the first of them that says so."""
        said = (part.averaged(model) for part in self.parts)
        return next((epochs for epochs in said if epochs is not None), None)

    def rate_share_at_end(self, model: TextClassifier) -> float:
        """The least that any of them leaves."""
        return min(part.rate_share_at_end(model) for part in self.parts)

    def kept(self, model: TextClassifier) -> Literal["best", "last"]:
        """The last epoch if any of them ends with it."""
        return "last" if any(part.kept(model) == "last" for part in self.parts) else "best"

    def counted_too(self, model: TextClassifier) -> Mapping[str, nn.Module]:
        """What any of them names."""
        return {k: v for part in self.parts for k, v in part.counted_too(model).items()}

    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """The sum."""
        penalties = [
            part.penalty(model, batch, trace, own, rng)
            for part, own in self._with_prepared(prepared)
        ]
        return torch.stack(penalties).sum()

    def notes(self, model: TextClassifier, material: Material) -> Notes:
        """What each of them notes."""
        return {
            name: value
            for part in self.parts
            for name, value in part.notes(model, material).items()
        }

    def _with_prepared(self, prepared: nn.Module) -> Iterator[tuple[Penalised, nn.Module]]:
        assert isinstance(prepared, nn.ModuleList)
        return zip(self.parts, prepared, strict=True)
