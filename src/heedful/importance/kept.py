"""Logits of texts of which only some words are kept: what erasure asks for, many times per text.

context-free encoder     states stay; only the weights over the kept words are projected again
anything else            all shortened texts in packed batches
"""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.model.classifier import AttentionClassifier, TextClassifier
from heedful.model.layers import TokenWise
from heedful.text.batching import Batch, Batches
from heedful.text.vocabulary import Encoded

Rows = Int[ndarray, " variants"]
IsKept = Bool[ndarray, "variants tokens"]
Logits = Float[Tensor, "variants classes"]
CELLS_AT_ONCE = 2**22  # weights of variants that are held together


@torch.inference_mode()
def logits_of_kept(model: TextClassifier, batch: Batch, document: Rows, is_kept: IsKept) -> Logits:
    """Logits of documents of the batch, variant by variant, with only the kept words in them."""
    is_kept = is_kept & batch.is_token.cpu().numpy()[document]
    if (
        isinstance(model, AttentionClassifier)
        and isinstance(model.encoder, TokenWise)
        and model.key_encoder is None
        and not model.has_text_query
    ):
        return _from_new_weights(model, batch, document, is_kept)
    return _from_shortened_texts(model, batch, document, is_kept)


def _from_new_weights(
    model: AttentionClassifier, batch: Batch, document: Rows, is_kept: IsKept
) -> Logits:
    trace = model(batch)
    rows = torch.from_numpy(document).to(trace.hidden.device)
    kept = torch.from_numpy(is_kept).to(trace.hidden.device)
    logits = trace.logits.new_empty(len(rows), trace.logits.shape[1])
    order = rows.argsort(stable=True)
    counts = rows.bincount(minlength=len(trace.hidden)).tolist()
    # A document's variants share its states, so their contexts are one product of matrices.
    for number, own in enumerate(order.split(counts)):
        for some in own.split(max(1, CELLS_AT_ONCE // kept.shape[1])):
            scores = trace.scores[number].expand(len(some), -1)
            weights = model.project(scores, kept[some])
            logits[some] = model.output(weights @ trace.hidden[number])
    return logits


def _from_shortened_texts(
    model: TextClassifier, batch: Batch, document: Rows, is_kept: IsKept
) -> Logits:
    ids = batch.token_ids.cpu().numpy()[document]
    starts = np.concatenate([[0], np.cumsum(is_kept.sum(axis=1))])
    shortened = Batches(Encoded(ids[is_kept], starts), device=batch.token_ids.device)
    logits = [(some.indices, model(some).logits) for some in shortened.by_length()]
    order = np.concatenate([indices for indices, _ in logits])
    return torch.cat([rows for _, rows in logits])[torch.from_numpy(np.argsort(order))]
