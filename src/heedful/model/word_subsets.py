"""Logits of texts of which only some words are kept: what erasure asks for, many times per text.

context-free encoder     states stay; only the weights over the kept words are projected again
recurrent encoder, CPU   products of the inputs are taken once per text and picked from; a step is
                         taken by those variants that have a word there, so there is no padding
anything else            all shortened texts in packed batches
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from heedful.interruption import check_interrupted
from heedful.model.classifier import AttentionClassifier, TextClassifier
from heedful.model.layers import Recurrent, TokenWise
from heedful.model.precision import in_parts
from heedful.model.recurrence import steps_of
from heedful.text.batching import Batch

Rows = Int[ndarray, " variants"]
IsKept = Bool[ndarray, "variants tokens"]
Logits = Float[Tensor, "variants classes"]
CELLS_AT_ONCE = 2**22  # weights of variants that are held together
TOKENS_AT_ONCE = {"cpu": 16_384, "cuda": 262_144}  # of shortened texts that are read together
ROWS_AT_ONCE = 400  # variants that a recurrent layer reads together: their gates stay in the cache


@torch.inference_mode()
def logits_of_kept(
    model: TextClassifier,
    batch: Batch,
    document: Rows,
    is_kept: IsKept,
    tell: Callable[[str], None] = lambda note: None,
) -> Logits:
    """Logits of documents of the batch, variant by variant, with only the kept words in them.

    `tell` is told when memory ran short.
    """
    is_kept = is_kept & batch.is_token.cpu().numpy()[document]
    if (
        isinstance(model, AttentionClassifier)
        and model.key_encoder is None
        and not model.has_text_query
    ):
        if isinstance(model.encoder, TokenWise):
            return _from_new_weights(model, batch, document, is_kept)
        if isinstance(model.encoder, Recurrent) and batch.is_token.device.type == "cpu":
            return _from_steps(model, model.encoder, batch, document, is_kept)
    return logits_of_shortened(model, batch, document, is_kept, tell)


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
            check_interrupted()
            scores = trace.scores[number].expand(len(some), -1)
            weights = model.project(scores, kept[some])
            logits[some] = model.output(weights @ trace.hidden[number])
    return logits


def _from_steps(
    model: AttentionClassifier, encoder: Recurrent, batch: Batch, document: Rows, is_kept: IsKept
) -> Logits:
    embedded = model.embed(batch)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    products = [steps_of(layer).products(embedded).flatten(0, 1) for layer in layers]
    chunks = []
    order = np.argsort(-is_kept.sum(axis=1), kind="stable")
    for some in np.split(order, range(ROWS_AT_ONCE, len(order), ROWS_AT_ONCE)):
        words, lengths = _places(document[some], is_kept[some])
        places = torch.arange(words.shape[1])
        is_token = places < lengths.unsqueeze(1)
        hidden = embedded.new_zeros(*words.shape, encoder.output_size)
        ways = hidden.chunk(len(layers), dim=-1)
        _run(layers[0], products[0], words, lengths, ways[0])
        if encoder.backwards is not None:
            _run(layers[1], products[1], words, lengths, ways[1], is_backwards=True)
        weights = model.project(model.alignment(hidden, None), is_token)
        chunks.append(model.decide(hidden, weights))
    return torch.cat(chunks)[torch.from_numpy(np.argsort(order))]


def _places(
    document: Rows, is_kept: IsKept
) -> tuple[Int[Tensor, "variants width"], Int[Tensor, " variants"]]:
    """The kept words of each variant as places in the flattened batch, and how many there are."""
    lengths = is_kept.sum(axis=1)
    row, place = np.nonzero(is_kept)
    column = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    words = np.zeros((len(document), max(1, int(lengths.max(initial=0)))), dtype=np.int64)
    words[row, column] = document[row] * is_kept.shape[1] + place
    return torch.from_numpy(words), torch.from_numpy(lengths)


def _run(
    layer: nn.Module,
    products: Float[Tensor, "places gates"],
    words: Int[Tensor, "variants width"],
    lengths: Int[Tensor, " variants"],
    hidden: Float[Tensor, "variants width hidden"],
    *,
    is_backwards: bool = False,
) -> None:
    """Write the states of a layer over words whose products are picked; longest variants first."""
    steps = steps_of(layer)
    variants, width = words.shape
    state = tuple(products.new_zeros(variants, steps.hidden_size) for _ in range(steps.parts))
    rows = torch.arange(variants)
    for step in range(width):
        check_interrupted()
        count = int((lengths > step).sum())
        places = lengths[:count] - 1 - step if is_backwards else torch.full((count,), step)
        going = tuple(part[:count] for part in state)
        steps.advance(products[words[rows[:count], places]], going)
        hidden[rows[:count], places] = going[0]


def logits_of_shortened(
    model: TextClassifier,
    batch: Batch,
    document: Rows,
    is_kept: IsKept,
    tell: Callable[[str], None] = lambda note: None,
) -> Logits:
    """The same for any model: shortened texts in packed batches, longest first."""
    if not len(document):
        return model(batch).logits[:0]
    device = batch.token_ids.device
    documents, kept = torch.from_numpy(document).to(device), torch.from_numpy(is_kept).to(device)
    lengths = is_kept.sum(axis=1)
    order = np.argsort(-lengths, kind="stable")

    def read(some: Rows) -> Logits:
        rows = torch.from_numpy(some).to(device)
        return model(batch.kept(documents[rows], kept[rows])).logits

    at_once = TOKENS_AT_ONCE[device.type] // batch.pieces_per_word
    chunks, start = [], 0
    while start < len(order):
        size = max(1, at_once // max(1, int(lengths[order[start]])))
        chunks += in_parts(order[start : start + size], read, tell)
        start += size
    return torch.cat(chunks)[torch.from_numpy(np.argsort(order)).to(device)]
