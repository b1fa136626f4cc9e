"""Classifiers: embed -> encode -> align -> project -> decide, and the baselines without attention.

A forward pass returns what it computed and writes nothing on its arguments. Its second half,
`decide(hidden, weights)`, is public: "what if attention were different?" is another argument.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.errors import ConfigError
from heedful.interruption import check_interrupted
from heedful.model.layers import Encoder
from heedful.model.pretrained import PieceEmbedding, PretrainedEncoder
from heedful.model.projections import Projection
from heedful.text.batching import Batch
from heedful.text.vocabulary import UNKNOWN_WORD

WordEmbedding = nn.Embedding | PieceEmbedding
Pooling = Literal["attention", "mean", "max", "last"]

Embedded = Float[Tensor, "batch tokens embedding"]
Hidden = Float[Tensor, "batch tokens hidden"]
IsToken = Bool[Tensor, "batch tokens"]
Logits = Float[Tensor, "batch classes"]


@dataclass(frozen=True)
class Trace:
    """Everything one forward pass computed, in the order it was computed."""

    embedded: Float[Tensor, "batch tokens embedding"]
    hidden: Float[Tensor, "batch tokens hidden"]  # the values that attention weighs
    keys: Float[Tensor, "batch tokens keys"]  # what it looks at; `hidden` unless they are apart
    scores: Float[Tensor, "batch tokens"]
    weights: Float[Tensor, "batch tokens"]
    logits: Float[Tensor, "batch classes"]


@dataclass(frozen=True)
class PooledTrace:
    """One forward pass of a model without attention."""

    embedded: Float[Tensor, "batch tokens embedding"]
    hidden: Float[Tensor, "batch tokens hidden"]
    logits: Float[Tensor, "batch classes"]


class TextClassifier(nn.Module, ABC):
    """What every classifier of this package is: an embedding, an encoder and an output."""

    def __init__(
        self, embedding: WordEmbedding, encoder: Encoder, output: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.output = output
        self.dropout = nn.Dropout(dropout)  # on embeddings and on the context; only in training

    def forward(self, batch: Batch) -> Trace | PooledTrace:
        """Embed the words, then read them."""
        embedded = self.embed(batch)
        if not self.encoder.has_own_dropout:
            embedded = self.dropout(embedded)
        return self.read(embedded, batch.is_token, batch.longest_row)

    def embed(self, batch: Batch) -> Embedded:
        """The vector of each word: its own, or those of its pieces end to end."""
        if isinstance(self.embedding, PieceEmbedding):
            assert batch.piece_ids is not None
            return self.embedding(batch.piece_ids)
        return self.embedding(batch.token_ids)

    def unknown_vector(self, size: int) -> Float[Tensor, " size"]:
        """The vector of a word that is not known, as long as those of the other words of a text."""
        if not isinstance(self.embedding, PieceEmbedding):
            return self.embedding.weight[UNKNOWN_WORD]
        assert isinstance(self.encoder, PretrainedEncoder)
        piece = self.embedding.weight[self.encoder.unknown]
        return nn.functional.pad(piece, (0, size - len(piece)))

    def pooled_vectors(self, embedded: Embedded) -> Float[Tensor, "batch tokens pooled"]:
        """Vectors of words that are all of one size, however many pieces a word has."""
        if isinstance(self.embedding, PieceEmbedding):
            return self.embedding.pooled(embedded)
        return embedded

    @property
    def word_vectors(self) -> nn.Embedding:
        """A vector for each word of the vocabulary; a pretrained model has none, and says so."""
        if isinstance(self.embedding, PieceEmbedding):
            raise ConfigError(
                "this needs a vector for each whole word, and a pretrained encoder has vectors "
                "only for pieces of words. Use another encoder."
            )
        return self.embedding

    @abstractmethod
    def read(
        self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None
    ) -> Trace | PooledTrace:
        """Everything after the embedding; `longest_row` is that of the batch, if it is known."""

    def encode(
        self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None
    ) -> Hidden:
        """The states."""
        if isinstance(self.encoder, PretrainedEncoder):
            return self.encoder(embedded, is_token, longest_row)
        return self.encoder(embedded, is_token)


class Attends(TextClassifier):
    """A classifier that weighs states, whatever it weighs and however it comes by the weights."""

    alignment: nn.Module
    project: Projection

    @property
    @abstractmethod
    def attention_parts(self) -> list[nn.Module]:
        """What decides where to look, and nothing else."""

    @property
    @abstractmethod
    def value_parts(self) -> list[nn.Module]:
        """What decides what is seen there and what is made of it."""

    @abstractmethod
    def read(self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None) -> Trace:
        """Everything after the embedding."""

    @abstractmethod
    def places(self, batch: Batch) -> Bool[Tensor, "batch places"]:
        """True where there is something to attend to."""

    @abstractmethod
    def seen_with(
        self, *, projection: Projection | None = None, output: nn.Module | None = None
    ) -> "Attends":
        """The same model, its parts shared, with another projection or output."""

    def decide(self, hidden: Hidden, weights: Float[Tensor, "batch tokens"]) -> Logits:
        """Logits for the given attention: pass other weights to ask 'what if?'."""
        return self.output(self.dropout(attend(hidden, weights)))


def attend(hidden: Hidden, weights: Float[Tensor, "batch tokens"]) -> Float[Tensor, "batch hidden"]:
    """The context: states weighed and summed."""
    return (weights.unsqueeze(1) @ hidden).squeeze(1)


class AttentionClassifier(Attends):
    """embed -> encode -> align -> project -> decide; each arrow is one replaceable part.

    `key_encoder`, if given, makes the keys from the embeddings, so that what attention looks at and
    what it passes on can be trained apart. With `has_text_query` the mean of the keys is the query.
    """

    def __init__(
        self,
        embedding: WordEmbedding,
        encoder: Encoder,
        alignment: nn.Module,
        projection: Projection,
        output: nn.Module,
        *,
        key_encoder: Encoder | None = None,
        has_text_query: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, encoder, output, dropout)
        self.key_encoder = key_encoder
        self.alignment = alignment
        self.project = projection
        self.has_text_query = has_text_query

    def forward(self, batch: Batch) -> Trace:
        """Embed the words, then read them, unless what the encoder makes of them is known."""
        known = batch.known
        if known is None or known.by is not self.encoder or self.key_encoder is not None:
            trace = super().forward(batch)
            assert isinstance(trace, Trace)
            return trace
        assert isinstance(self.encoder, PretrainedEncoder)
        hidden = self.encoder.of_states(known.states, batch.is_token)
        return self._attended(self.embed(batch), hidden, batch.is_token)

    def read(self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None) -> Trace:
        """Everything after the embedding."""
        return self._attended(embedded, self.encode(embedded, is_token, longest_row), is_token)

    def _attended(self, embedded: Embedded, hidden: Hidden, is_token: IsToken) -> Trace:
        check_interrupted()
        keys = self.key_encoder(embedded, is_token) if self.key_encoder is not None else hidden
        query = mean_over_tokens(keys, is_token) if self.has_text_query else None
        scores = self.alignment(keys, query)
        weights = self.project(scores, is_token)
        return Trace(embedded, hidden, keys, scores, weights, self.decide(hidden, weights))

    @property
    def attention_parts(self) -> list[nn.Module]:
        """The alignment, and the encoder of the keys where they have their own."""
        return [self.alignment] if self.key_encoder is None else [self.key_encoder, self.alignment]

    @property
    def value_parts(self) -> list[nn.Module]:
        """Embedding, dropout, encoder and output."""
        return [self.embedding, self.dropout, self.encoder, self.output]

    def places(self, batch: Batch) -> Bool[Tensor, "batch tokens"]:
        """Every word."""
        return batch.is_token

    def seen_with(
        self, *, projection: Projection | None = None, output: nn.Module | None = None
    ) -> "AttentionClassifier":
        """The same model, its parts shared, with another projection or output."""
        other = AttentionClassifier(
            self.embedding,
            self.encoder,
            self.alignment,
            projection or self.project,
            output or self.output,
            key_encoder=self.key_encoder,
            has_text_query=self.has_text_query,
        )
        other.dropout = self.dropout
        return other


class PooledClassifier(TextClassifier):
    """The baselines: states pooled by mean, by maximum, or only the last one."""

    def __init__(
        self,
        embedding: WordEmbedding,
        encoder: Encoder,
        pooling: Literal["mean", "max", "last"],
        output: nn.Module,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, encoder, output, dropout)
        self.pooling = pooling

    def read(
        self, embedded: Embedded, is_token: IsToken, longest_row: int | None = None
    ) -> PooledTrace:
        """Everything after the embedding."""
        hidden = self.encode(embedded, is_token, longest_row)
        return PooledTrace(embedded, hidden, self.output(self.dropout(self.pool(hidden, is_token))))

    def pool(self, hidden: Hidden, is_token: IsToken) -> Float[Tensor, "batch hidden"]:
        """One vector per text; zero for a text without words."""
        if self.pooling == "mean":
            return mean_over_tokens(hidden, is_token)
        if self.pooling == "max":
            highest = hidden.masked_fill(~is_token.unsqueeze(-1), -torch.inf).amax(dim=1)
            return highest.masked_fill(~is_token.any(dim=1, keepdim=True), 0.0)
        last = (is_token.sum(dim=1) - 1).clamp(min=0)
        final = hidden[torch.arange(len(hidden), device=hidden.device), last]
        if self.encoder.is_two_way:  # the way back ends at the first word
            half = hidden.shape[-1] // 2
            final = torch.cat([final[:, :half], hidden[:, 0, half:]], dim=-1)
        return final


def mean_over_tokens(
    rows: Float[Tensor, "batch tokens size"], is_token: IsToken
) -> Float[Tensor, "batch size"]:
    """Mean over real tokens; zero for a text without words."""
    total = (rows * is_token.unsqueeze(-1)).sum(dim=1)
    return total / is_token.sum(dim=1, keepdim=True).clamp(min=1)
