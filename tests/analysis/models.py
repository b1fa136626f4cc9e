"""Small classifiers in double precision, on a few random documents."""

import numpy as np
import torch

from heedful.model.alignments import alignments
from heedful.model.build import ModelSettings, build_model
from heedful.model.classifier import AttentionClassifier
from heedful.model.encoders import encoders
from heedful.text.batching import Batches
from heedful.text.vocabulary import SPECIAL_WORDS, Encoded

VOCABULARY = 20


def a_model(
    encoder: str, alignment: str, classes: int, *, seed: int = 0, **settings
) -> AttentionClassifier:
    of = ModelSettings(
        encoder=encoders.make(encoder),
        alignment=alignments.make(alignment),
        embedding_size=6,
        embedding_bound=1.0,
        **settings,
    )
    model = build_model(of, VOCABULARY, classes, seed=seed)
    assert isinstance(model, AttentionClassifier)
    return model.double()


def some_documents(
    classes: int, documents: int = 9, seed: int = 0, example_weight=None, **options
) -> Batches:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, documents)
    ids = rng.integers(len(SPECIAL_WORDS), VOCABULARY, lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    labels = rng.integers(0, classes, documents)
    return Batches(Encoded(ids, starts), labels, example_weight, **options)


def word_scores(model: AttentionClassifier) -> tuple[torch.Tensor, torch.Tensor]:
    """s_e and a_e of every word alone, with a graph behind them."""
    ids = torch.arange(VOCABULARY).unsqueeze(1)
    hidden = model.encoder(model.embedding(ids), torch.ones_like(ids, dtype=torch.bool))
    polarity = hidden[:, 0] @ model.output.linear.weight.T
    return polarity, model.alignment(hidden, None)[:, 0]
