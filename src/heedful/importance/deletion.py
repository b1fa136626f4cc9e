"""Logits of a text without each of its words, exactly, without reading it again from the start.

context-free encoder, softmax     a rank-one change of the context: all words at once
context-free encoder, other       states stay; only the weights are projected again
recurrent encoder                 input products are taken once, and each direction goes on from
                                  the unchanged states before the deleted word
anything else                     all shortened texts in packed batches
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.importance.recurrent import logits_without_each_word, recurrent_part
from heedful.model.classifier import AttentionClassifier
from heedful.model.decision import decide_many
from heedful.model.layers import TokenWise
from heedful.model.projections import frozen, softmax, uniform
from heedful.text.batching import Batch

Logits = Float[Tensor, "batch tokens classes"]
TOKENS_AT_ONCE = 65_536  # of shortened texts that are read together


def logits_without_each(model: AttentionClassifier, batch: Batch) -> Logits:
    """For each word of each document, the logits of the document without it."""
    is_plain = model.key_encoder is None and not model.has_text_query
    if is_plain and isinstance(model.encoder, TokenWise):
        if model.project in (softmax, uniform, frozen):
            return _from_rank_one_changes(model, batch)
        return _from_new_weights(model, batch)
    if is_plain and (encoder := recurrent_part(model)):
        embedded = model.embedding(batch.token_ids)
        return logits_without_each_word(model, encoder, embedded, batch.is_token)
    return _from_shortened_texts(model, batch)


def _from_rank_one_changes(model: AttentionClassifier, batch: Batch) -> Logits:
    """Softmax over one token less: context' = (context - weight_t hidden_t) / (1 - weight_t).

    When a weight is near 1 the difference would cancel, so the heaviest token of each document is
    taken out by projecting again; any other has at most half the weight.
    """
    trace = model(batch)
    weights = trace.weights
    rows = torch.arange(len(weights), device=weights.device)
    heaviest = weights.argmax(dim=1)
    rest = (1 - weights).clamp(min=0.25)
    context = (weights.unsqueeze(1) @ trace.hidden).squeeze(1)
    contexts = (context.unsqueeze(1) - weights.unsqueeze(-1) * trace.hidden) / rest.unsqueeze(-1)
    without_heaviest = batch.is_token.clone()
    without_heaviest[rows, heaviest] = False
    again = model.project(trace.scores, without_heaviest)
    contexts[rows, heaviest] = (again.unsqueeze(1) @ trace.hidden).squeeze(1)
    is_single = batch.is_token.sum(dim=1) == 1
    contexts[is_single] = 0.0
    return model.output(contexts.flatten(0, 1)).unflatten(0, weights.shape)


def _from_new_weights(model: AttentionClassifier, batch: Batch) -> Logits:
    """States do not change; the weights over the remaining tokens are projected again."""
    trace = model(batch)
    tokens = batch.is_token.shape[1]
    others = ~torch.eye(tokens, dtype=torch.bool, device=batch.is_token.device)
    remaining = batch.is_token.unsqueeze(1) & others
    weights = model.project(trace.scores.unsqueeze(1).expand(remaining.shape), remaining)
    return decide_many(model, trace.hidden, weights)


def _from_shortened_texts(model: AttentionClassifier, batch: Batch) -> Logits:
    """Every document once per word, that word deleted, read in packed batches."""
    embedded = model.embedding(batch.token_ids)
    rows, places = batch.is_token.nonzero(as_tuple=True)
    classes = model.output(embedded.new_zeros(1, model.encoder.output_size)).shape[-1]
    logits = embedded.new_zeros(*batch.token_ids.shape, classes)
    lengths = batch.is_token.sum(dim=1)
    order = lengths[rows].argsort(descending=True, stable=True)
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[rows[order[start]]]) - 1)
        some = order[start : start + max(1, TOKENS_AT_ONCE // longest)]
        row, place = rows[some], places[some]
        logits[row, place] = model.read(*_shortened(embedded, lengths, row, place, longest)).logits
        start += len(some)
    return logits


def _shortened(
    embedded: Float[Tensor, "batch tokens embedding"],
    lengths: Int[Tensor, " batch"],
    row: Int[Tensor, " variants"],
    place: Int[Tensor, " variants"],
    width: int,
) -> tuple[Tensor, Tensor]:
    """Embeddings and mask of documents `row` without their word at `place`."""
    column = torch.arange(width, device=row.device)
    source = column + (column >= place.unsqueeze(1))
    source = source.clamp(max=embedded.shape[1] - 1)
    is_token = column < (lengths[row] - 1).unsqueeze(1)
    return embedded[row.unsqueeze(1), source], is_token
