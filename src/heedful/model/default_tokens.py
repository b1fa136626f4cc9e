"""A classifier that sees nothing but its own attention: the default-token model of Bai et al. 2021.

    text -> embed -> encode -> mean: the query       keys of the tokens, the same for every text
    scores = alignment(keys, query) -> weights -> decide(values of the tokens, weights)

The text decides where to look, but wherever it looks stands the same thing for every text: a few
default tokens with a learned key and a learned value each. Two texts get different logits only if
their weights differ, so whatever the model knows of the label is written in the pattern.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.config import within
from heedful.model.alignments import Alignment
from heedful.model.classifier import Attends, TextClassifier, Trace, mean_over_tokens
from heedful.model.layers import Encoder
from heedful.model.projections import Projection
from heedful.text.batching import Batch

MOST_TOKENS = 64


class DefaultTokenClassifier(Attends):
    """Attention over constant tokens, computed from the whole text."""

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        keys: nn.Embedding,
        alignment: nn.Module,
        projection: Projection,
        values: nn.Embedding,
        output: nn.Module,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, encoder, output, dropout)
        self.keys = keys
        self.alignment = alignment
        self.project = projection
        self.values = values

    def read(
        self,
        embedded: Float[Tensor, "batch words embedding"],
        is_token: Bool[Tensor, "batch words"],
        longest_row: int | None = None,
    ) -> Trace:
        """Everything after the embedding; a trace has one row per default token, not per word."""
        query = mean_over_tokens(self.encode(embedded, is_token, longest_row), is_token)
        keys = self.keys.weight.expand(len(query), -1, -1)
        values = self.values.weight.expand(len(query), -1, -1)
        scores = self.alignment(keys, query)
        weights = self.project(scores, torch.ones_like(scores, dtype=torch.bool))
        # What is embedded at the places are the tokens, and their embedding is their key.
        return Trace(keys, values, keys, scores, weights, self.decide(values, weights))

    @property
    def attention_parts(self) -> list[nn.Module]:
        """All that reads the text. Dropout stands on the text and on the context: in both lists."""
        return [self.embedding, self.dropout, self.encoder, self.keys, self.alignment]

    @property
    def value_parts(self) -> list[nn.Module]:
        """The tokens' values, dropout and output."""
        return [self.values, self.dropout, self.output]

    def places(self, batch: Batch) -> Bool[Tensor, "batch places"]:
        """Every default token, whatever the text."""
        shape = (len(batch.token_ids), self.values.num_embeddings)
        return torch.ones(shape, dtype=torch.bool, device=batch.token_ids.device)

    def seen_with(
        self, *, projection: Projection | None = None, output: nn.Module | None = None
    ) -> "DefaultTokenClassifier":
        """The same model, its parts shared, with another projection or output."""
        other = DefaultTokenClassifier(
            self.word_vectors,
            self.encoder,
            self.keys,
            self.alignment,
            projection or self.project,
            self.values,
            output or self.output,
        )
        other.dropout = self.dropout
        return other


def blindfold(
    ordinary: TextClassifier,
    tokens: int,
    alignment: Alignment,
    projection: Projection,
    *,
    seed: int,
) -> DefaultTokenClassifier:
    """The default-token model made of an ordinary one's embedding, encoder, dropout and output.

    Keys and values of the tokens are new, as wide as the ordinary model's states, and start as
    N(0, 1); `seed` decides them.
    """
    within(2, MOST_TOKENS + 1, tokens=tokens)
    size = ordinary.encoder.output_size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = DefaultTokenClassifier(
            ordinary.word_vectors,
            ordinary.encoder,
            nn.Embedding(tokens, size),
            alignment.build(size, query_size=size),
            projection,
            nn.Embedding(tokens, size),
            ordinary.output,
        )
    model.dropout = ordinary.dropout
    return model
