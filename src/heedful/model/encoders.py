"""Embedded words to states: one state per token, from no context at all to the whole text.

A member of `encoders` is a settings object; `build(embedding_size)` gives the module, which knows
its `output_size`. A pretrained one brings its own embedding and is built from its source. States of
padding are zero.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from heedful.config import above, at_least, size, within
from heedful.errors import ConfigError
from heedful.model.layers import (
    Blended,
    Convolutions,
    Encoder,
    Places,
    Recurrent,
    Skip,
    Stacked,
    TokenWise,
    Votes,
    with_skip,
)
from heedful.model.pretrained import (
    MINILM,
    PieceEmbedding,
    PretrainedEncoder,
    PretrainedSource,
    WordPooling,
    word_table,
)
from heedful.model.projections import projections
from heedful.model.self_attention import Transformer
from heedful.registry import Registry


class EncoderSettings:
    """Settings of an encoder."""

    shares_threads = False  # True: its steps are large enough to gain from many threads

    def wants(self) -> Mapping[str, Any]:
        """Settings that the encoder is used to, where nothing else is said."""
        return {}


class OverWords(EncoderSettings, ABC):
    """Settings of an encoder of word vectors; `build` makes the module."""

    @abstractmethod
    def build(self, embedding_size: int) -> Encoder:
        """The module for embeddings of this size."""


encoders: Registry[EncoderSettings] = Registry("encoder")


@encoders.register("embedding")
@dataclass(frozen=True)
class EmbeddingOnly(OverWords):
    """No encoder: the state is the word's embedding (Sun & Lu's DP and AD)."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return TokenWise(embedding_size, embedding_size, nn.Identity())


@encoders.register("affine")
@dataclass(frozen=True)
class Affine(OverWords):
    """A linear map of each word's embedding (Sun & Lu's DP-A)."""

    hidden_size: int = 100

    def __post_init__(self) -> None:
        size(hidden_size=self.hidden_size)

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        linear = nn.Linear(embedding_size, self.hidden_size)
        return TokenWise(embedding_size, self.hidden_size, linear)


@encoders.register("mlp")
@dataclass(frozen=True)
class TokenMLP(OverWords):
    """A linear map and tanh of each word's embedding (Jain & Wallace's "average")."""

    hidden_size: int = 128

    def __post_init__(self) -> None:
        size(hidden_size=self.hidden_size)

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        layers = nn.Sequential(nn.Linear(embedding_size, self.hidden_size), nn.Tanh())
        return TokenWise(embedding_size, self.hidden_size, layers)


def _odd_widths(name: str, kernel_sizes: tuple[int, ...]) -> None:
    if not kernel_sizes or any(width % 2 == 0 or not 0 < width < 1000 for width in kernel_sizes):
        listed = "+".join(map(str, kernel_sizes))
        raise ConfigError(f"{name}: kernel_sizes should be odd numbers, not {listed!r}.")


@encoders.register("cnn")
@dataclass(frozen=True)
class CNN(OverWords):
    """Convolutions of several widths over neighbouring words, then ReLU."""

    kernel_sizes: tuple[int, ...] = (1, 3, 5, 7)
    filters: int = 32  # per kernel size

    def __post_init__(self) -> None:
        size(filters=self.filters)
        _odd_widths("cnn", self.kernel_sizes)

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Convolutions(embedding_size, self.kernel_sizes, self.filters)


@encoders.register("votes")
@dataclass(frozen=True)
class LocalVotes(OverWords):
    """Each word has a vote that neighbours may reverse; another encoder weights the votes.

    What a state says comes from its own word, so a weight on a word is a weight on that word.
    Attention, whose keys have read the whole text, only decides how much each vote counts.
    """

    votes: int = 8  # numbers between -1 and 1 for each word
    kernel_sizes: tuple[int, ...] = (3,)  # of the windows whose words may turn a vote
    filters: int = 64  # per kernel size, and for the word alone

    def __post_init__(self) -> None:
        size(votes=self.votes, filters=self.filters)
        _odd_widths("votes", self.kernel_sizes)

    def wants(self) -> Mapping[str, Any]:
        """Keys that have read the text."""
        return {"keys": "bilstm"}

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Votes(embedding_size, self.votes, self.kernel_sizes, self.filters)


@dataclass(frozen=True)
class RecurrentSettings(OverWords, ABC):
    """What all recurrent encoders share; `hidden_size` counts units per direction."""

    hidden_size: int = 128
    skip: Skip = "none"  # how the word's own embedding joins its state (Tutek & Šnajder)
    layers: int = 1  # each further one reads the states of the one below

    def __post_init__(self) -> None:
        size(hidden_size=self.hidden_size, layers=self.layers)

    def _build(self, embedding_size: int, cell: str, directions: int) -> Encoder:
        sizes = [embedding_size, *[directions * self.hidden_size] * (self.layers - 1)]
        layers = [Recurrent(inputs, self.hidden_size, cell, directions) for inputs in sizes]
        inner = layers[0] if len(layers) == 1 else Stacked(layers)
        return with_skip(inner, embedding_size, self.skip)


@encoders.register("rnn")
@dataclass(frozen=True)
class RNN(RecurrentSettings):
    """Elman network, left to right."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "rnn", directions=1)


@encoders.register("birnn")
@dataclass(frozen=True)
class BiRNN(RecurrentSettings):
    """Elman network, both ways."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "rnn", directions=2)


@encoders.register("gru")
@dataclass(frozen=True)
class GRU(RecurrentSettings):
    """Gated recurrent unit, left to right."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "gru", directions=1)


@encoders.register("bigru")
@dataclass(frozen=True)
class BiGRU(RecurrentSettings):
    """Gated recurrent unit, both ways."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "gru", directions=2)


@encoders.register("lstm")
@dataclass(frozen=True)
class LSTM(RecurrentSettings):
    """Long short-term memory, left to right."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "lstm", directions=1)


@encoders.register("bilstm")
@dataclass(frozen=True)
class BiLSTM(RecurrentSettings):
    """Long short-term memory, both ways (Jain & Wallace's and Meister's BiLSTM)."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "lstm", directions=2)


@encoders.register("orthogonal-lstm")
@dataclass(frozen=True)
class Orthogonal(RecurrentSettings):
    """LSTM whose states are orthogonal to the mean of the earlier states (arXiv:2004.14243)."""

    hidden_size: int = 256

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "orthogonal-lstm", directions=1)


@encoders.register("transformer")
@dataclass(frozen=True)
class SmallTransformer(OverWords):
    """Self-attention layers; the weights inside may be sparse too."""

    hidden_size: int = 128
    layers: int = 1
    heads: int = 4
    feed_forward: int = 256
    dropout: float = 0.1
    self_projection: str = "softmax"  # any projection, used inside self-attention

    def __post_init__(self) -> None:
        projections.make(self.self_projection)
        size(
            hidden_size=self.hidden_size,
            layers=self.layers,
            heads=self.heads,
            feed_forward=self.feed_forward,
        )
        within(0, 1, dropout=self.dropout)
        if self.hidden_size % self.heads:
            raise ConfigError(
                f"transformer: hidden_size ({self.hidden_size}) must be divisible by heads "
                f"({self.heads})."
            )

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Transformer(
            embedding_size,
            hidden_size=self.hidden_size,
            layers=self.layers,
            heads=self.heads,
            feed_forward=self.feed_forward,
            dropout=self.dropout,
            projection=projections.make(self.self_projection),
        )


@encoders.register("blended")
@dataclass(frozen=True)
class Blend(OverWords):
    """A control: each state is the word's embedding blended with the mean of its text's.

    With `share` 1 all states of a text are the same, so weights have no path to the decision.
    """

    share: float = 0.5  # of the mean

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ConfigError(f"blended: share should be between 0 and 1, not {self.share}.")

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Blended(embedding_size, self.share)


@encoders.register("places")
@dataclass(frozen=True)
class PlaceOnly(OverWords):
    """A control: the state is a learned vector of its position, whatever the word.

    What such a model knows of a text can only stand in the pattern of its weights; its keys come
    from another encoder (keys = bilstm).
    """

    hidden_size: int = 16
    places: int = 8  # the last one's vector serves all places from there on

    def __post_init__(self) -> None:
        size(hidden_size=self.hidden_size, places=self.places)

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Places(self.hidden_size, self.places)


@encoders.register("pretrained")
@dataclass(frozen=True)
class Pretrained(EncoderSettings):
    """A BERT-family model: fine-tuned, or frozen; pieces are pooled to words (Zhou et al.)."""

    source: str = MINILM  # a folder made by save_pretrained, a hub name, or minilm
    frozen: bool = False
    pieces: WordPooling = "mean"  # how the states of a word's pieces become one
    head_speed: float = 10.0  # times the learning rate, for attention and output
    weights: bool = True  # False: only its architecture, from random numbers
    votes: int | None = None  # a layer turns each state into this many numbers in (-1, 1); 0: none
    layers: int | None = None  # read end to end, from the embeddings to the last; 1: only the last

    shares_threads = True

    def __post_init__(self) -> None:
        above(0, head_speed=self.head_speed)
        at_least(0, votes=self.votes)
        at_least(1, layers=self.layers)

    def wants(self) -> Mapping[str, Any]:
        """Small steps for what has learnt already, few rounds, little dropout."""
        rate = 1e-4 if self.frozen else 5e-5  # times head_speed for what starts from nothing
        return {
            "optimizer": f"adam:learning_rate={rate}",
            "recipe": f"standard:epochs={8 if self.frozen else 4}",
            "dropout": 0.1,
            "gradient_clip": 1.0,
        }

    def load(self) -> PretrainedSource:
        """The source, with weights unless they are not wanted."""
        source = PretrainedSource.load(self.source)
        return source if self.weights else source.without_weights

    def build(self, source: PretrainedSource) -> PretrainedEncoder:
        """The module."""
        return PretrainedEncoder(
            source,
            self.pieces,
            is_frozen=self.frozen,
            head_speed=self.head_speed,
            votes=self.votes or 0,
            layers=self.layers or 1,
        )

    def embedding(self, source: PretrainedSource) -> PieceEmbedding:
        """The vectors of its pieces."""
        return PieceEmbedding(word_table(source.model(self.frozen)), self.frozen)
