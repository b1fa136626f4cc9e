"""Small models and batches in double precision for tests of importance."""

import numpy as np
import torch

from heedful.model.build import build_model
from heedful.model.classifier import AttentionClassifier
from heedful.text.batching import Batch, Batches
from heedful.text.vocabulary import Encoded
from heedful.training.settings import Settings
from tests.model.tiny_pretrained import pieces_of, tiny_source

VOCABULARY = 30


def a_model(classes: int = 2, seed: int = 3, **changes) -> AttentionClassifier:
    options = {"embedding_size": 6, "dropout": 0.0, "embedding_bound": 1.0, **changes}
    settings = Settings().with_(**options).model
    model = build_model(settings, VOCABULARY, classes, seed=seed, pretrained=tiny_source())
    return model.double().eval()


def a_batch(*lengths: int, seed: int = 0) -> Batch:
    ids = np.random.default_rng(seed).integers(3, VOCABULARY, sum(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return next(Batches(Encoded(ids, starts, pieces=pieces_of(ids))).by_length())


def without(batch: Batch, row: int, place: int) -> Batch:
    """One document of the batch with one word physically deleted."""
    ids = batch.token_ids[row][batch.is_token[row]].numpy()
    kept = np.delete(ids, place)
    return next(
        Batches(Encoded(kept, np.array([0, len(kept)]), pieces=pieces_of(kept))).by_length()
    )


def predicted(model: AttentionClassifier, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        return model(batch).logits.argmax(dim=-1)
