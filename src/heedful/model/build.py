"""Settings to a model: the one place where the parts are put together."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import nn

from heedful.config import above, at_least, family, size, within
from heedful.errors import ConfigError, nearest
from heedful.model.alignments import Alignment, alignments
from heedful.model.classifier import (
    AttentionClassifier,
    PooledClassifier,
    Pooling,
    TextClassifier,
    WordEmbedding,
)
from heedful.model.encoders import EncoderSettings, OverWords, Pretrained, encoders
from heedful.model.layers import Encoder
from heedful.model.outputs import OutputSettings, outputs
from heedful.model.pretrained import PretrainedEncoder, PretrainedSource
from heedful.model.projections import Projection, projections
from heedful.text.vectors import WordVectors
from heedful.text.vocabulary import NO_WORD

SHARED, SEPARATE = "shared", "separate"  # keys: the states, or those of a second such encoder


@dataclass(frozen=True)
class ModelSettings:
    """What a classifier is made of."""

    encoder: EncoderSettings = family(encoders, "bilstm")
    alignment: Alignment = family(alignments, "additive")
    projection: Projection = family(projections, "softmax")
    output: OutputSettings = family(outputs, "linear")
    pooling: Pooling = "attention"  # or a baseline without attention: mean, max, last
    keys: str = "shared"  # separate: attention has its own encoder; or another encoder's name
    query: Literal["learned", "text"] = "learned"  # text: the mean key of each text
    embedding_size: int = 100  # size of word embeddings without a file of vectors
    embedding_bound: float = 0.1  # words without a vector are drawn from U(-bound, bound)
    weight_bound: float | None = None  # weights are drawn from U(-bound, bound); none: PyTorch's
    vectors: str | None = None  # a file of pretrained word vectors
    freeze_vectors: bool = False
    dropout: float = 0.5  # on embeddings and on the context
    output_bias: bool = True

    def __post_init__(self) -> None:
        within(0, 1, dropout=self.dropout)
        size(embedding_size=self.embedding_size)
        at_least(0, embedding_bound=self.embedding_bound)
        above(0, weight_bound=self.weight_bound)
        if self.vectors is not None and isinstance(self.encoder, Pretrained):
            raise ConfigError("a pretrained encoder has its own vectors: drop vectors.")
        self.check_keys()

    def check_keys(self) -> None:
        """Refuse keys that nothing can make."""
        if self.keys in (SHARED, SEPARATE):
            return
        name = self.keys.partition(":")[0]
        known = (SHARED, SEPARATE, *encoders)
        if name not in known:
            raise ConfigError(
                f"no keys named {name!r}.{nearest(name, known)} keys is shared, separate, or the "
                f"name of an encoder: {', '.join(encoders)}."
            )
        both = (encoders.make(self.keys), self.encoder)
        if any(isinstance(encoder, Pretrained) for encoder in both):
            raise ConfigError(
                "keys from another encoder need a vector per word, and a pretrained encoder has "
                "vectors only for pieces of words. Set keys to shared or separate."
            )

    def key_encoder(self, embedding_size: int) -> Encoder:
        """The module that makes keys from word vectors, where another encoder does."""
        encoder = encoders.make(self.keys)
        assert isinstance(encoder, OverWords)
        return encoder.build(embedding_size)


def build_model(
    settings: ModelSettings,
    vocabulary: int,
    classes: int,
    *,
    seed: int,
    vectors: WordVectors | None = None,
    pretrained: PretrainedSource | None = None,
) -> TextClassifier:
    """A fresh model; `seed` decides every initial value and nothing outside is touched.

    A pretrained encoder needs its source.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _assembled(settings, vocabulary, classes, vectors, pretrained)
        if settings.weight_bound is not None:
            _start_within(model, settings.weight_bound)
        return model


def _assembled(
    settings: ModelSettings,
    vocabulary: int,
    classes: int,
    vectors: WordVectors | None,
    pretrained: PretrainedSource | None,
) -> TextClassifier:
    """The parts put together, each with its own initial values."""
    embedding, build_encoder = _inputs(settings, vocabulary, vectors, pretrained)
    encoder = build_encoder()
    output = settings.output.build(encoder.output_size, classes, settings.output_bias)
    if settings.pooling != "attention":
        return PooledClassifier(
            embedding, encoder, settings.pooling, output, dropout=settings.dropout
        )
    key_encoder: Encoder | None = None
    if settings.keys == SEPARATE:
        key_encoder = build_encoder()
    elif settings.keys != SHARED:
        assert isinstance(embedding, nn.Embedding)
        key_encoder = settings.key_encoder(embedding.embedding_dim)
    key_size = (key_encoder or encoder).output_size
    has_text_query = settings.query == "text"
    return AttentionClassifier(
        embedding,
        encoder,
        settings.alignment.build(key_size, key_size if has_text_query else None),
        settings.projection,
        output,
        key_encoder=key_encoder,
        has_text_query=has_text_query,
        dropout=settings.dropout,
    )


def _start_within(model: TextClassifier, bound: float) -> None:
    """Draw initial values from U(-bound, bound).

    Word vectors have a bound of their own. What was pretrained and what normalises keeps its
    values: near 0, a normalisation would shut off whatever passes through it.
    """
    kept: set[nn.Parameter] = set(model.embedding.parameters())
    for part in model.modules():
        if isinstance(part, PretrainedEncoder | nn.LayerNorm):
            kept |= set(part.parameters())
    for parameter in model.parameters():
        if parameter not in kept:
            nn.init.uniform_(parameter, -bound, bound)


def _inputs(
    settings: ModelSettings,
    vocabulary: int,
    vectors: WordVectors | None,
    pretrained: PretrainedSource | None,
) -> tuple[WordEmbedding, Callable[[], Encoder]]:
    """The embedding, and what makes an encoder that fits it."""
    chosen = settings.encoder
    if isinstance(chosen, Pretrained):
        if pretrained is None:
            raise ConfigError("a pretrained encoder needs a source, and none was given.")
        return chosen.embedding(pretrained), partial(chosen.build, pretrained)
    assert isinstance(chosen, OverWords)
    words = _embedding(settings, vocabulary, vectors)
    return words, partial(chosen.build, words.embedding_dim)


def _embedding(
    settings: ModelSettings, vocabulary: int, vectors: WordVectors | None
) -> nn.Embedding:
    columns = settings.embedding_size if vectors is None else vectors.matrix.shape[1]
    matrix = torch.empty(vocabulary, columns)
    matrix.uniform_(-settings.embedding_bound, settings.embedding_bound)
    if vectors is not None:
        matrix[torch.from_numpy(vectors.found)] = torch.from_numpy(vectors.matrix[vectors.found])
    matrix[NO_WORD] = 0.0
    return nn.Embedding.from_pretrained(matrix, freeze=settings.freeze_vectors, padding_idx=NO_WORD)
