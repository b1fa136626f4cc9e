"""Fine-tune and compress in turn: attention learnt through an information bottleneck."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import at_least
from heedful.errors import ConfigError
from heedful.model.classifier import Attends, TextClassifier, Trace, attend
from heedful.model.outputs import BottleneckOutput, divergence_from_standard
from heedful.text.batching import Batch, Batches
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
    """Learn states under fixed attention, then attention through a bottleneck, in turn.

    learner:     cross_entropy                                    attention is held
    compressor:  cross_entropy(code) + compression_weight * KL(code | N(0, 1))   states are held
    code = mean + spread * N(0, 1),  both read off the context (Zhou et al., ACL Findings 2021)

    Before the first iteration everything learns together for `warm_epochs`. A phase ends with its
    best dev epoch. With `annealed_from` the weight falls from there to `compression_weight` over
    the iterations. Predictions are the compressor's, from the mean code; the learner's head is
    scored beside.
    """

    compression_weight: float = 1e-3
    annealed_from: float | None = None
    iterations: int = 5
    epochs: int = 5  # of each phase, at most
    warm_epochs: int = 2

    def __post_init__(self) -> None:
        at_least(
            0,
            compression_weight=self.compression_weight,
            annealed_from=self.annealed_from,
            warm_epochs=self.warm_epochs,
        )
        at_least(1, iterations=self.iterations, epochs=self.epochs)

    @property
    def wants(self) -> Mapping[str, Any]:
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

        def notes() -> Notes:
            return {"attention_entropy": mean_entropy(attends, material.documents)}

        def learn(model: TextClassifier, batch: Batch, rng: torch.Generator) -> Float[Tensor, ""]:
            return cross_entropy_of(learner(batch).logits, batch)

        if self.warm_epochs:
            parts = [*states, *attends.attention_parts, output.learner]
            yield Phase(
                learn, parts, self.warm_epochs, name="warm start", scored=learner, after_epoch=notes
            )
        for number in range(self.iterations):
            yield Phase(
                learn,
                [*states, output.learner],
                self.epochs,
                name=f"learner {number + 1}",
                scored=learner,
                after_epoch=notes,
            )
            yield Phase(
                compress(self._weight(number)),
                [*attends.attention_parts, *output.compressor_parts],
                self.epochs,
                name=f"compressor {number + 1}",
                after_epoch=notes,
            )

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
                "vat compresses through a bottleneck, and this model's output is none. "
                "Leave output as it is, or set output=bottleneck."
            )
        return attends, attends.output


def compress(weight: float) -> Objective:
    """The compressor's objective."""

    def objective(model: TextClassifier, batch: Batch, rng: torch.Generator) -> Float[Tensor, ""]:
        assert isinstance(model, Attends)
        assert isinstance(model.output, BottleneckOutput)
        trace: Trace = model(batch)
        context = model.dropout(attend(trace.hidden, trace.weights))
        mean, spread = model.output.encode(context)
        noise = torch.randn(mean.shape, generator=rng).to(mean)
        fit = cross_entropy_of(model.output.decoder(mean + spread * noise), batch)
        return fit + weight * divergence_from_standard(mean, spread).mean()

    return objective


@torch.no_grad()
def mean_entropy(model: Attends, documents: Batches) -> float:
    """Mean over documents of more than one word of H(weights) / log n."""
    total, count = 0.0, 0
    for batch in documents.by_length():
        weights = model(batch).weights
        words = model.places(batch).sum(dim=1)
        asked = words > 1
        entropy = -torch.xlogy(weights, weights).sum(dim=1)[asked] / words[asked].log()
        total, count = total + float(entropy.sum()), count + int(asked.sum())
    return total / max(count, 1)
