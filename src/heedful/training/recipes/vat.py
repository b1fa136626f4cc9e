"""Fine-tune and compress in turn: attention learnt through an information bottleneck."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.model.classifier import Attends, TextClassifier, Trace, attend
from heedful.model.outputs import BottleneckOutput, divergence_from_standard
from heedful.text.batching import Batch
from heedful.training.recipe import (
    Material,
    Notes,
    Objective,
    Phase,
    Recipe,
    cross_entropy_of,
    needs_attention,
    recipes,
)


@recipes.register("vat")
@dataclass(frozen=True)
class VAT(Recipe):
    """Alternate between learning states and learning attention through a bottleneck (Zhou et al.).

    learner:     cross_entropy                       attention's parameters are held
    compressor:  cross_entropy(code) + compression_weight * KL(code | N(0, 1))   states are held
    code = mean + spread * N(0, 1),  both read off the context (Zhou et al., ACL Findings 2021)

    The learner's gradient reaches the states also through the weights that attention gives them,
    as in the paper; with `learner_holds="weights"` the weights themselves count as fixed.

    Before the first iteration everything learns together for `warm_epochs`. A phase ends with its
    best dev epoch. With `annealed_from` the weight falls from there to `compression_weight` over
    the iterations. Predictions are the compressor's, from the mean code; the learner's head is
    scored beside.
    """

    compression_weight: float = 1e-3
    annealed_from: float | None = None
    iterations: int = 5
    epochs: int = 5  # of each phase, at most
    epochs_without_gain: int = 2  # after which a phase ends
    warm_epochs: int = 2
    learner_holds: Literal["parameters", "weights"] = "parameters"  # of attention

    def __post_init__(self) -> None:
        at_least(
            0,
            compression_weight=self.compression_weight,
            annealed_from=self.annealed_from,
            warm_epochs=self.warm_epochs,
        )
        at_least(
            1,
            iterations=self.iterations,
            epochs=self.epochs,
            epochs_without_gain=self.epochs_without_gain,
        )

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """What it needs of the model."""
        return {"output": "bottleneck"}

    def check(self, model: TextClassifier, material: Material) -> None:
        """Attention and a bottleneck are needed."""
        self._parts(model)

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """The warm start, then learner and compressor in turn."""
        attends, output = self._parts(model)
        learner = attends.seen_with(output=output.learner)
        states = [model.embedding, model.dropout, model.encoder]
        looks = Spread()

        def learn(model: TextClassifier, batch: Batch, rng: torch.Generator) -> Float[Tensor, ""]:
            trace: Trace = learner(batch)
            looks.add(trace.weights, attends.places(batch))
            return cross_entropy_of(trace.logits, batch)

        def learn_under_fixed_weights(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            trace: Trace = learner(batch)
            looks.add(trace.weights, attends.places(batch))
            return cross_entropy_of(learner.decide(trace.hidden, trace.weights.detach()), batch)

        def phase(
            name: str, objective: Objective, parts: list[nn.Module], epochs: int, later: int
        ) -> Phase:
            return Phase(
                objective,
                parts,
                epochs,
                epochs_to_come=later * self.epochs,
                name=name,
                patience=self.epochs_without_gain,
                scored=None if name.startswith("compressor") else learner,
                before_epoch=looks.forget,
                after_epoch=looks.notes,
            )

        if self.warm_epochs:
            parts = [*states, *attends.attention_parts, output.learner]
            yield phase("warm start", learn, parts, self.warm_epochs, later=2 * self.iterations)
        holds_weights = self.learner_holds == "weights"
        fit = learn_under_fixed_weights if holds_weights else learn
        for number in range(self.iterations):
            later = 2 * (self.iterations - number - 1)  # phases, once this iteration is over
            parts = [*states, output.learner]
            yield phase(f"learner {number + 1}", fit, parts, self.epochs, later + 1)
            parts = [*attends.attention_parts, *output.compressor_parts]
            compressor = compress(self._weight(number), looks)
            yield phase(f"compressor {number + 1}", compressor, parts, self.epochs, later)

    def seen_beside(self, model: TextClassifier) -> Mapping[str, nn.Module]:
        """The learner's head."""
        attends, output = self._parts(model)
        return {"learner": attends.seen_with(output=output.learner)}

    def _weight(self, iteration: int) -> float:
        """The compression weight of an iteration."""
        if self.annealed_from is None or self.iterations == 1:
            return self.compression_weight
        done = iteration / (self.iterations - 1)
        return self.annealed_from + done * (self.compression_weight - self.annealed_from)

    def _parts(self, model: TextClassifier) -> tuple[Attends, BottleneckOutput]:
        attends = needs_attention(model, "vat")
        if not isinstance(attends.output, BottleneckOutput):
            raise ConfigError(
                "vat needs a bottleneck as output, and this model has another one. "
                "Leave output as it is, or set output=bottleneck."
            )
        return attends, attends.output


class Spread:
    """How even attention was in an epoch: mean of H(weights) / log n over documents."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def forget(self, rng: torch.Generator) -> Notes:
        """An epoch begins."""
        self.total, self.count = 0.0, 0
        return {}

    @torch.no_grad()
    def add(
        self, weights: Float[Tensor, "batch tokens"], is_token: Bool[Tensor, "batch tokens"]
    ) -> None:
        """Some documents more; those of one word have no spread."""
        words = is_token.sum(dim=1)
        asked = words > 1
        entropy = -torch.xlogy(weights, weights).sum(dim=1)[asked] / words[asked].log()
        self.total, self.count = self.total + float(entropy.sum()), self.count + int(asked.sum())

    def notes(self) -> Notes:
        """The mean, in the history."""
        return {"attention_entropy": self.total / max(self.count, 1)}


def compress(weight: float, looks: Spread) -> Objective:
    """The compressor's objective."""

    def objective(model: TextClassifier, batch: Batch, rng: torch.Generator) -> Float[Tensor, ""]:
        assert isinstance(model, Attends)
        assert isinstance(model.output, BottleneckOutput)
        trace: Trace = model(batch)
        looks.add(trace.weights, model.places(batch))
        mean, spread = model.output.encode(attend(trace.hidden, trace.weights))
        noise = torch.randn(mean.shape, generator=rng).to(mean)
        fit = cross_entropy_of(model.output.decoder(mean + spread * noise), batch)
        return fit + weight * divergence_from_standard(mean, spread).mean()

    return objective
