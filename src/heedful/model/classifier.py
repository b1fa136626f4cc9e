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

from heedful.model.layers import Encoder
from heedful.model.projections import Projection
from heedful.text.batching import Batch

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


class Output(nn.Module):
    """Context to logits, linear.

    With two classes there is one vector W, as in the papers: the logits are -s/2 and s/2 with
    s = W · context, so that softmax over them is the sigmoid of s and neither class is special.
    """

    def __init__(self, context_size: int, classes: int, has_bias: bool) -> None:
        super().__init__()
        self.is_binary = classes == 2
        self.linear = nn.Linear(context_size, 1 if self.is_binary else classes, bias=has_bias)

    def forward(self, context: Float[Tensor, "batch hidden"]) -> Logits:
        """One logit per class."""
        return self.logits(self.linear(context))

    def logits(self, scores: Float[Tensor, "*rows scores"]) -> Float[Tensor, "*rows classes"]:
        """Logits from what the linear map gives: one number for two classes, else one per class."""
        return torch.cat([-scores, scores], dim=-1) / 2 if self.is_binary else scores


class TextClassifier(nn.Module, ABC):
    """What every classifier of this package is: an embedding, an encoder and an output."""

    def __init__(
        self, embedding: nn.Embedding, encoder: Encoder, output: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.output = output
        self.dropout = nn.Dropout(dropout)  # on embeddings and on the context; only in training

    def forward(self, batch: Batch) -> Trace | PooledTrace:
        """Embed the words, then read them."""
        return self.read(self.dropout(self.embedding(batch.token_ids)), batch.is_token)

    @abstractmethod
    def read(self, embedded: Embedded, is_token: IsToken) -> Trace | PooledTrace:
        """Everything after the embedding."""


class AttentionClassifier(TextClassifier):
    """embed -> encode -> align -> project -> decide; each arrow is one replaceable part.

    `key_encoder`, if given, makes the keys from the embeddings, so that what attention looks at and
    what it passes on can be trained apart. With `has_text_query` the mean of the keys is the query.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
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

    def read(self, embedded: Embedded, is_token: IsToken) -> Trace:
        """Everything after the embedding."""
        hidden = self.encoder(embedded, is_token)
        keys = self.key_encoder(embedded, is_token) if self.key_encoder is not None else hidden
        query = mean_over_tokens(keys, is_token) if self.has_text_query else None
        scores = self.alignment(keys, query)
        weights = self.project(scores, is_token)
        return Trace(embedded, hidden, keys, scores, weights, self.decide(hidden, weights))

    def decide(self, hidden: Hidden, weights: Float[Tensor, "batch tokens"]) -> Logits:
        """Logits for the given attention: pass other weights to ask 'what if?'."""
        context = (weights.unsqueeze(1) @ hidden).squeeze(1)
        return self.output(self.dropout(context))


class PooledClassifier(TextClassifier):
    """The baselines: states pooled by mean, by maximum, or only the last one."""

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        pooling: Literal["mean", "max", "last"],
        output: nn.Module,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, encoder, output, dropout)
        self.pooling = pooling

    def read(self, embedded: Embedded, is_token: IsToken) -> PooledTrace:
        """Everything after the embedding."""
        hidden = self.encoder(embedded, is_token)
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
