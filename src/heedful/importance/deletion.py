"""Logits of a text without each of its words, exactly, without reading it again from the start.

context-free encoder, softmax     a rank-one change of the context: all words at once
context-free encoder, other       states stay; only the weights are projected again
recurrent encoder                 input products are taken once, and each direction goes on from
                                  the unchanged states before the deleted word
anything else                     all shortened texts in packed batches
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.importance.recurrent import logits_without_each_word, recurrent_part
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import decide_many, values_of
from heedful.model.layers import TokenWise
from heedful.model.projections import frozen, softmax, uniform
from heedful.model.word_subsets import logits_of_shortened
from heedful.text.batching import Batch

Logits = Float[Tensor, "batch tokens classes"]


def logits_without_each(
    model: AttentionClassifier, batch: Batch, trace: Trace | None = None
) -> Logits:
    """For each word of each document, the logits of the document without it.

    `trace` is the pass over the batch, if it was made before.
    """
    is_plain = model.key_encoder is None and not model.has_text_query
    if is_plain and isinstance(model.encoder, TokenWise):
        if model.project in (softmax, uniform, frozen):
            return _from_rank_one_changes(model, batch, trace or model(batch))
        return _from_new_weights(model, batch, trace or model(batch))
    if is_plain and (encoder := recurrent_part(model)):
        embedded = model.embed(batch)
        return logits_without_each_word(model, encoder, embedded, batch.is_token)
    return _from_shortened_texts(model, batch)


def _from_rank_one_changes(model: AttentionClassifier, batch: Batch, trace: Trace) -> Logits:
    """Softmax over one token less: context' = (context - weight_t hidden_t) / (1 - weight_t).

    When a weight is near 1 the difference would cancel, so the heaviest token of each document is
    taken out by projecting again; any other has at most half the weight. Under a linear output the
    same holds of the values W hidden_t.
    """
    values, decide = values_of(model, trace.hidden)
    weights = trace.weights
    rows = torch.arange(len(weights), device=weights.device)
    heaviest = weights.argmax(dim=1)
    rest = (1 - weights).clamp(min=0.25)
    average = weights.unsqueeze(1) @ values
    averages = (average - weights.unsqueeze(-1) * values) / rest.unsqueeze(-1)
    without_heaviest = batch.is_token.clone()
    without_heaviest[rows, heaviest] = False
    again = model.project(trace.scores, without_heaviest)
    averages[rows, heaviest] = (again.unsqueeze(1) @ values).squeeze(1)
    is_single = batch.is_token.sum(dim=1) == 1
    averages[is_single] = 0.0
    return decide(averages)


def _from_new_weights(model: AttentionClassifier, batch: Batch, trace: Trace) -> Logits:
    """States do not change; the weights over the remaining tokens are projected again."""
    tokens = batch.is_token.shape[1]
    others = ~torch.eye(tokens, dtype=torch.bool, device=batch.is_token.device)
    remaining = batch.is_token.unsqueeze(1) & others
    weights = model.project(trace.scores.unsqueeze(1).expand(remaining.shape), remaining)
    return decide_many(model, trace.hidden, weights)


def _from_shortened_texts(model: AttentionClassifier, batch: Batch) -> Logits:
    """Every document once per word, that word deleted, read in packed batches."""
    is_token = batch.is_token.cpu().numpy()
    rows, places = is_token.nonzero()
    is_kept = is_token[rows]
    is_kept[np.arange(len(rows)), places] = False
    found = logits_of_shortened(model, batch, rows, is_kept)
    logits = found.new_zeros(*batch.token_ids.shape, found.shape[-1])
    logits[batch.is_token] = found  # both go through the words row by row
    return logits
