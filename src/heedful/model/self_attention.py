"""Self-attention layers: every state reads every other, with any projection inside."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.model.layers import Embedded, Encoder, Hidden, IsToken
from heedful.model.projections import Projection


class Transformer(Encoder):
    """Post-norm self-attention layers over embeddings with sinusoidal positions."""

    def __init__(
        self,
        embedding_size: int,
        *,
        hidden_size: int,
        layers: int,
        heads: int,
        feed_forward: int,
        dropout: float,
        projection: Projection,
    ) -> None:
        super().__init__()
        self.output_size = hidden_size
        self.entrance = nn.Linear(embedding_size, hidden_size)
        self.layers = nn.ModuleList(
            SelfAttentionLayer(hidden_size, heads, feed_forward, dropout, projection)
            for _ in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

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

    def __init__(
        self, size: int, heads: int, feed_forward: int, dropout: float, projection: Projection
    ) -> None:
        super().__init__()
        self.heads = heads
        self.project = projection
        self.query_key_value = nn.Linear(size, 3 * size)
        self.merge = nn.Linear(size, size)
        self.feed_forward = nn.Sequential(
            nn.Linear(size, feed_forward),
            nn.ReLU(),
            nn.Linear(feed_forward, size),
        )
        self.norm_attention = nn.LayerNorm(size)
        self.norm_feed_forward = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

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


def sinusoids(tokens: int, size: int) -> Float[Tensor, "tokens size"]:
    """The usual position signal: sines and cosines of falling frequency."""
    place = torch.arange(tokens).unsqueeze(1)
    rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10_000.0) / size))
    signal = torch.zeros(tokens, size)
    signal[:, 0::2] = torch.sin(place * rate)
    signal[:, 1::2] = torch.cos(place * rate)[:, : size // 2]
    return signal
