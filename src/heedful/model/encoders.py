"""Embedded words to states: one state per token, from no context at all to the whole text.

A member of `encoders` is a settings object; `build(embedding_size)` gives the module, which knows
its `output_size`. States of padding are zero.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.config import size, within
from heedful.errors import ConfigError
from heedful.model.projections import Projection, projections
from heedful.model.recurrence import OrthogonalLSTM
from heedful.registry import Registry

Embedded = Float[Tensor, "batch tokens embedding"]
Hidden = Float[Tensor, "batch tokens hidden"]
IsToken = Bool[Tensor, "batch tokens"]


class Encoder(nn.Module, ABC):
    """A module from embedded words to one state per token."""

    output_size: int
    reads_context = True  # False: a state depends on its own word alone
    is_two_way = False  # True: the second half of a state has read the text from its end

    @abstractmethod
    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states; zero where there is no token."""


class EncoderSettings(ABC):
    """Settings of an encoder; `build` makes the module."""

    @abstractmethod
    def build(self, embedding_size: int) -> Encoder:
        """The module for embeddings of this size."""


encoders: Registry[EncoderSettings] = Registry("encoder")


@encoders.register("embedding")
@dataclass(frozen=True)
class EmbeddingOnly(EncoderSettings):
    """No encoder: the state is the word's embedding (Sun & Lu's DP and AD)."""

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return TokenWise(embedding_size, embedding_size, nn.Identity())


@encoders.register("affine")
@dataclass(frozen=True)
class Affine(EncoderSettings):
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
class TokenMLP(EncoderSettings):
    """A linear map and tanh of each word's embedding (Jain & Wallace's "average")."""

    hidden_size: int = 128

    def __post_init__(self) -> None:
        size(hidden_size=self.hidden_size)

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        layers = nn.Sequential(nn.Linear(embedding_size, self.hidden_size), nn.Tanh())
        return TokenWise(embedding_size, self.hidden_size, layers)


@encoders.register("cnn")
@dataclass(frozen=True)
class CNN(EncoderSettings):
    """Convolutions of several widths over neighbouring words, then ReLU."""

    kernel_sizes: tuple[int, ...] = (1, 3, 5, 7)
    filters: int = 32  # per kernel size

    def __post_init__(self) -> None:
        size(filters=self.filters)
        if not self.kernel_sizes or any(
            width % 2 == 0 or not 0 < width < 1000 for width in self.kernel_sizes
        ):
            listed = "+".join(map(str, self.kernel_sizes))
            raise ConfigError(f"cnn: kernel_sizes should be odd numbers, not {listed!r}.")

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Convolutions(embedding_size, self.kernel_sizes, self.filters)


Skip = Literal["none", "concat", "residual"]


@dataclass(frozen=True)
class RecurrentSettings(EncoderSettings, ABC):
    """What all recurrent encoders share; `hidden_size` counts units per direction."""

    hidden_size: int = 128
    skip: Skip = "none"  # how the word's own embedding joins its state (Tutek & Šnajder)

    def __post_init__(self) -> None:
        size(hidden_size=self.hidden_size)

    def _build(self, embedding_size: int, cell: str, directions: int) -> Encoder:
        inner = Recurrent(embedding_size, self.hidden_size, cell, directions)
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
    """LSTM whose states are kept at right angles to the mean of those before (arXiv:2004.14243)."""

    hidden_size: int = 256

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return self._build(embedding_size, "orthogonal-lstm", directions=1)


@encoders.register("transformer")
@dataclass(frozen=True)
class SmallTransformer(EncoderSettings):
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
                f"transformer: hidden_size should be a multiple of heads; "
                f"{self.hidden_size} is none of {self.heads}."
            )

    def build(self, embedding_size: int) -> Encoder:
        """The module."""
        return Transformer(embedding_size, self)


class TokenWise(Encoder):
    """The same map for every word, blind to its neighbours."""

    reads_context = False

    def __init__(self, embedding_size: int, output_size: int, layers: nn.Module) -> None:
        super().__init__()
        self.output_size = output_size
        self.layers = layers

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        return self.layers(embedded) * is_token.unsqueeze(-1)


class Convolutions(Encoder):
    """One convolution per kernel size, side by side."""

    def __init__(self, embedding_size: int, kernel_sizes: tuple[int, ...], filters: int) -> None:
        super().__init__()
        self.output_size = filters * len(kernel_sizes)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding_size, filters, width, padding=width // 2) for width in kernel_sizes
        )

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        # Padding must be zero, or the words next to it would see how long the batch is.
        channels_first = (embedded * is_token.unsqueeze(-1)).transpose(1, 2)
        views = [convolve(channels_first) for convolve in self.convolutions]
        return torch.cat(views, dim=1).relu().transpose(1, 2) * is_token.unsqueeze(-1)


class Recurrent(Encoder):
    """One recurrent layer, run in one or both directions without packing.

    Padding stands at the end, so left to right it disturbs nothing. Right to left, each text is
    turned round within its own length first. This equals a packed two-way call and costs less.
    """

    def __init__(self, embedding_size: int, hidden_size: int, cell: str, directions: int) -> None:
        super().__init__()
        make: dict[str, type[nn.Module]] = {
            "rnn": nn.RNN,
            "gru": nn.GRU,
            "lstm": nn.LSTM,
            "orthogonal-lstm": OrthogonalLSTM,
        }
        self.output_size = hidden_size * directions
        self.is_two_way = directions == 2
        self.forwards = make[cell](embedding_size, hidden_size, batch_first=True)
        self.backwards = (
            make[cell](embedding_size, hidden_size, batch_first=True) if self.is_two_way else None
        )

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        hidden = self.forwards(embedded)[0]
        if self.backwards is not None:
            turned = self.backwards(turn_round(embedded, is_token))[0]
            hidden = torch.cat([hidden, turn_round(turned, is_token)], dim=-1)
        return hidden * is_token.unsqueeze(-1)


class WithSkip(Encoder):
    """An encoder whose states also carry their own word's embedding."""

    def __init__(self, inner: Encoder, embedding_size: int, skip: Skip) -> None:
        super().__init__()
        self.inner = inner
        self.is_concatenated = skip == "concat"
        self.output_size = inner.output_size + embedding_size * self.is_concatenated

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        return self.join(self.inner(embedded, is_token), embedded * is_token.unsqueeze(-1))

    def join(
        self, state: Float[Tensor, "*rows hidden"], own: Float[Tensor, "*rows embedding"]
    ) -> Float[Tensor, "*rows joined"]:
        """A state and its own word's embedding as one."""
        return torch.cat([state, own], dim=-1) if self.is_concatenated else state + own


def with_skip(encoder: Encoder, embedding_size: int, skip: Skip) -> Encoder:
    """The encoder, with each word's embedding joined to its state if asked for."""
    if skip == "residual" and encoder.output_size != embedding_size:
        raise ConfigError(
            f"a residual embedding is added to the state, so their sizes must match: the encoder "
            f"gives {encoder.output_size}, embeddings have {embedding_size}. "
            "Change hidden_size (two directions double it) or use skip=concat."
        )
    return encoder if skip == "none" else WithSkip(encoder, embedding_size, skip)


class Transformer(Encoder):
    """Post-norm self-attention layers over embeddings with sinusoidal positions."""

    def __init__(self, embedding_size: int, settings: SmallTransformer) -> None:
        super().__init__()
        self.output_size = settings.hidden_size
        self.entrance = nn.Linear(embedding_size, settings.hidden_size)
        self.layers = nn.ModuleList(SelfAttentionLayer(settings) for _ in range(settings.layers))
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, embedded: Embedded, is_token: IsToken) -> Hidden:
        """The states."""
        entered = self.entrance(embedded)
        positions = sinusoids(embedded.shape[1], self.output_size).to(entered)
        hidden = self.dropout(entered + positions)
        for layer in self.layers:
            hidden = layer(hidden, is_token)
        return hidden * is_token.unsqueeze(-1)


class SelfAttentionLayer(nn.Module):
    """Self-attention and a feed-forward network, each followed by sum and norm."""

    def __init__(self, settings: SmallTransformer) -> None:
        super().__init__()
        size = settings.hidden_size
        self.heads = settings.heads
        self.project: Projection = projections.make(settings.self_projection)
        self.query_key_value = nn.Linear(size, 3 * size)
        self.merge = nn.Linear(size, size)
        self.feed_forward = nn.Sequential(
            nn.Linear(size, settings.feed_forward),
            nn.ReLU(),
            nn.Linear(settings.feed_forward, size),
        )
        self.norm_attention = nn.LayerNorm(size)
        self.norm_feed_forward = nn.LayerNorm(size)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, hidden: Hidden, is_token: IsToken) -> Hidden:
        """The next layer's states."""
        batch, tokens, size = hidden.shape
        parts = self.query_key_value(hidden).view(batch, tokens, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / math.sqrt(size // self.heads)
        may_read = is_token[:, None, None, :].expand_as(scores)
        read = (self.project(scores, may_read) @ value).transpose(1, 2).reshape(hidden.shape)
        hidden = self.norm_attention(hidden + self.dropout(self.merge(read)))
        return self.norm_feed_forward(hidden + self.dropout(self.feed_forward(hidden)))


def turn_round(
    rows: Float[Tensor, "batch tokens size"], is_token: IsToken
) -> Float[Tensor, "batch tokens size"]:
    """Each text from its last word to its first; padding stays where it is."""
    lengths = is_token.sum(dim=1, keepdim=True)
    place = torch.arange(rows.shape[1], device=rows.device)
    source = torch.where(is_token, lengths - 1 - place, place)
    return rows.gather(1, source.unsqueeze(-1).expand_as(rows))


def sinusoids(tokens: int, size: int) -> Float[Tensor, "tokens size"]:
    """The usual position signal: sines and cosines of falling frequency."""
    place = torch.arange(tokens).unsqueeze(1)
    rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
    signal = torch.zeros(tokens, size)
    signal[:, 0::2] = torch.sin(place * rate)
    signal[:, 1::2] = torch.cos(place * rate)[:, : size // 2]
    return signal
