"""What a recipe is: a way to train, told as phases.

A phase says what to minimise, which modules learn and for how long. `phases` is a generator, so
work between two stages simply stands between two yields. The loop in `fit.py` never asks which
recipe it runs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.model.classifier import Attends, PooledTrace, TextClassifier, Trace
from heedful.model.encoders import EncoderSettings
from heedful.model.pretrained import PretrainedEncoder
from heedful.registry import Registry
from heedful.text.batching import Batch, Batches

AnyTrace = Trace | PooledTrace
Objective = Callable[[TextClassifier, Batch, torch.Generator], Float[Tensor, ""]]
Notes = Mapping[str, float]  # by name; written to the history with the epoch's loss


def no_notes(*_: object) -> Notes:
    """Nothing to note."""
    return {}


@dataclass(frozen=True)
class Phase:
    """One stretch of training: minimise `objective`; only the modules in `learns` change."""

    objective: Objective
    learns: Sequence[nn.Module]
    epochs: int
    epochs_to_come: int = 0  # in later phases, at most
    holds: Sequence[nn.Module] = ()  # parts of these that do not change
    keep: Literal["best", "last", "lowest-loss"] = "best"  # the epoch whose weights it ends with
    # The dev score that selects the best epoch; None: that of the training.
    select_by: Literal["accuracy", "loss"] | None = None
    name: str = ""  # in the history
    patience: int | None = None  # None: the training's own
    averaging: float | None = None  # epochs over which weights are averaged; None: the training's
    # Learning rate at the end of the phase, as a share of that at its start; it falls linearly.
    final_rate_share: float = 1.0
    scored: nn.Module | None = None  # whose dev score tells the best epoch; None: the model's
    counted_too: Mapping[str, nn.Module] = field(default_factory=dict)  # as much as it, by name
    has_dropout: bool = True
    before_epoch: Callable[[torch.Generator], Notes] = no_notes
    after_epoch: Callable[[], Notes] = no_notes


@dataclass(frozen=True)
class Material:
    """What a recipe works with beside the model."""

    documents: Batches  # to learn from
    words: Sequence[str]  # the vocabulary
    base: TextClassifier | None = None  # a finished model, for a recipe that works on one
    classes: int = 0  # also those that no document has; 0: as many as the documents' labels


class Recipe(ABC):
    """A way to train. Subclasses are frozen dataclasses; their fields are their options."""

    epochs: int | None  # None: depends on the model

    def wants(self, given: Collection[str]) -> Mapping[str, Any]:
        """Settings that the recipe needs beside those given, which hold as they are."""
        return {}

    def fitted(self, encoder: EncoderSettings) -> EncoderSettings:
        """The encoder with what the recipe needs, where nothing was said of it."""
        return encoder

    def check(self, model: TextClassifier, material: Material) -> None:  # noqa: B027
        """Refuse a model or documents that the recipe does not fit, before anything is saved."""

    @abstractmethod
    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """The phases in order; replayed on resume, so work between yields must be pure."""

    def seen(self, model: TextClassifier, material: Material) -> nn.Module:
        """What is scored in the end: the model, unless it learnt to work with another."""
        return model

    def measured(
        self, model: TextClassifier, material: Material, documents: Batches
    ) -> Mapping[str, float]:
        """What else is worth knowing of its answers on some documents."""
        return {}

    def seen_beside(self, model: TextClassifier) -> Mapping[str, nn.Module]:
        """What else is scored, by name."""
        return {}


class OnBase(Recipe):
    """A recipe that works on a finished model: the run named by `base`.

    Where none is named, one is trained first, with `base_settings` changed.
    """

    base: str | None

    @property
    def base_settings(self) -> Mapping[str, Any]:
        """What is changed to train a base."""
        return {"recipe": "standard"}


class Penalised(Recipe):
    """A recipe that adds a penalty to the cross-entropy; several make one with `all-of`.

    objective = cross_entropy + penalty
    """

    def check(self, model: TextClassifier, material: Material) -> None:
        """Whatever does not fit shows when it is prepared."""
        self.prepare(model, material)

    @property
    def teaches_attention(self) -> bool:
        """Whether it makes no sense for a model whose attention cannot learn."""
        return False

    def prepare(self, model: TextClassifier, material: Material) -> nn.Module:
        """Whatever else learns or is needed, as a module; says so if the model does not fit."""
        return nn.Identity()

    @abstractmethod
    def penalty(
        self,
        model: TextClassifier,
        batch: Batch,
        trace: AnyTrace,
        prepared: nn.Module,
        rng: torch.Generator,
    ) -> Float[Tensor, ""]:
        """The penalty of one batch, weight included."""

    def notes(self, model: TextClassifier, material: Material) -> Notes:
        """What is worth knowing after an epoch."""
        return {}

    def before(
        self, model: TextClassifier, material: Material, prepared: nn.Module
    ) -> Iterator[Phase]:
        """Phases that come before the one with the penalty: none, unless a recipe says so."""
        yield from ()

    def length(self, model: TextClassifier, documents: int) -> int:
        """At most this many epochs with the penalty, given the number of documents."""
        assert self.epochs is not None  # a recipe whose epochs depend on the model overrides this
        return self.epochs

    def held(self, model: TextClassifier) -> Sequence[nn.Module]:
        """Parts of the model that do not change while the penalty is learnt."""
        return ()

    def averaged(self, model: TextClassifier) -> float | None:
        """Epochs over which weights are averaged while it is learnt; None: the training's own."""
        return None

    def rate_share_at_end(self, model: TextClassifier) -> float:
        """The learning rate when the penalty has been learnt, as a share of that at the start."""
        return 1.0

    def kept(self, model: TextClassifier) -> Literal["best", "last"]:
        """Which epoch it ends with."""
        return "best"

    def counted_too(self, model: TextClassifier) -> Mapping[str, nn.Module]:
        """Whose dev scores count as much as the model's in choosing the best epoch, by name."""
        return {}

    def phases(self, model: TextClassifier, material: Material) -> Iterator[Phase]:
        """What comes before, then one phase with the penalty."""
        prepared = self.prepare(model, material)
        yield from self.before(model, material, prepared)

        def objective(
            model: TextClassifier, batch: Batch, rng: torch.Generator
        ) -> Float[Tensor, ""]:
            trace = model(batch)
            return cross_entropy(trace, batch) + self.penalty(model, batch, trace, prepared, rng)

        yield Phase(
            objective,
            learns=[model, prepared],
            holds=self.held(model),
            final_rate_share=self.rate_share_at_end(model),
            epochs=self.length(model, len(material.documents)),
            averaging=self.averaged(model),
            keep=self.kept(model),
            counted_too=self.counted_too(model),
            after_epoch=lambda: self.notes(model, material),
        )


class Recipes(Registry[Recipe]):
    """Also takes several penalties at once: `tying,vw-penalty`."""

    def make(self, spec: str | Mapping[str, Any] | Recipe) -> Recipe:
        """The recipe that a name, a name with options or a list of them stands for."""
        if isinstance(spec, str) and "," in spec:
            return super().make({"name": "all-of", "of": spec})
        return super().make(spec)


recipes: Recipes = Recipes("recipe")


def needs_attention(model: TextClassifier, recipe: str) -> Attends:
    """The model, if it attends; else a sentence."""
    if not isinstance(model, Attends):
        raise ConfigError(f"{recipe} needs attention, and a pooling model has none.")
    return model


def needs_base(material: Material, recipe: str) -> TextClassifier:
    """The finished model to work on."""
    if material.base is None:
        raise ConfigError(f"{recipe} needs a finished model: give its run as base.")
    return material.base.eval().requires_grad_(False)


# Of Tutek & Šnajder: two directions of 150 are as wide as an embedding of 300.
PAPER_SIZES = {"encoder": "bilstm:hidden_size=150", "embedding_size": 300}
SIZES = {"encoder", "embedding_size", "vectors"}  # giving one of these chooses the sizes


def needs_matching_sizes(model: TextClassifier, claim: str) -> None:
    """Refuse a model whose states and embeddings differ in size; `claim` says why they may not."""
    embedding = model.embedding.weight.shape[1]
    if isinstance(model.encoder, PretrainedEncoder):
        _needs_matching_pieces(model.encoder, embedding, claim)
        return
    hidden = model.encoder.output_size
    if hidden != embedding:
        raise ConfigError(
            f"{claim}, so their sizes must match: the encoder has {hidden}, embeddings have "
            f"{embedding}. Change hidden_size (two directions double it) or embedding_size, or "
            "drop the recipe."
        )


def _needs_matching_pieces(encoder: PretrainedEncoder, embedding: int, claim: str) -> None:
    """The same for the pieces of words, and for what learns of a pretrained model."""
    hidden = int(encoder.inner.config.hidden_size)
    if hidden != embedding:
        raise ConfigError(
            f"{claim}, so their sizes must match: this pretrained model gives states of {hidden} "
            f"numbers, and its pieces have vectors of {embedding}. Use another one, or another "
            "recipe."
        )
    if not any(parameter.requires_grad for parameter in encoder.body):
        raise ConfigError(
            f"{claim}, and those of a frozen encoder do not change. Set frozen to false, or use "
            "another recipe."
        )


def by_label(model: TextClassifier, batch: Batch, rng: torch.Generator) -> Float[Tensor, ""]:
    """The objective of a phase that learns from the labels alone."""
    return cross_entropy(model(batch), batch)


def cross_entropy(trace: AnyTrace, batch: Batch) -> Float[Tensor, ""]:
    """Mean negative log probability of the labels (nats), each document counted by its weight."""
    return cross_entropy_of(trace.logits, batch)


def cross_entropy_of(logits: Float[Tensor, "batch classes"], batch: Batch) -> Float[Tensor, ""]:
    """The same for any logits."""
    losses = nn.functional.cross_entropy(logits, batch.labels, reduction="none")
    return (losses * batch.example_weight).mean()
