"""Logits of texts of which only some words are kept: what erasure asks for, many times per text.

context-free encoder     states stay; only the weights over the kept words are projected again
recurrent encoder, CPU   products of the inputs are taken once per text and picked from; variants
                         that begin alike share the states of their beginning
anything else            all shortened texts in packed batches
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.interruption import check_interrupted
from heedful.model.classifier import AttentionClassifier, TextClassifier, Trace
from heedful.model.decision import values_of
from heedful.model.inference_math import linear
from heedful.model.layers import Recurrent, TokenWise
from heedful.model.precision import in_parts
from heedful.model.recurrence import steps_of
from heedful.model.shared_steps import beginnings, states_of
from heedful.model.sight import Sight, has_sight
from heedful.text.batching import Batch, sent

Rows = Int[ndarray, " variants"]
IsKept = Bool[ndarray, "variants tokens"]
Logits = Float[Tensor, "variants classes"]
StatesOfOneWay = tuple[Float[Tensor, "_ hidden"], Int[Tensor, "variants width"]]
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
    trace: Trace | None = None,
) -> Logits:
    """Logits of documents of the batch, variant by variant, with only the kept words in them.

    `tell` is told when memory ran short. `trace` is the pass over the batch, if it was made before.
    """
    is_kept = is_kept & batch.is_token.cpu().numpy()[document]
    if isinstance(model, AttentionClassifier) and _is_plain(model):
        if isinstance(model.encoder, TokenWise):
            return _from_new_weights(model, trace or model(batch), document, is_kept)
        if isinstance(model.encoder, Recurrent) and batch.is_token.device.type == "cpu":
            return _from_steps(model, model.encoder, batch, document, is_kept)
    return logits_of_shortened(model, batch, document, is_kept, tell)


def reads_words_alone(model: AttentionClassifier) -> bool:
    """Whether neither a word's state nor its score depends on any other word."""
    return _is_plain(model) and isinstance(model.encoder, TokenWise)


def _is_plain(model: AttentionClassifier) -> bool:
    """Whether attention looks at the states themselves, with a query of its own."""
    return model.key_encoder is None and not model.has_text_query


def _from_new_weights(
    model: AttentionClassifier, trace: Trace, document: Rows, is_kept: IsKept
) -> Logits:
    rows = torch.from_numpy(document).to(trace.hidden.device)
    kept = torch.from_numpy(is_kept).to(trace.hidden.device)
    values, decide = values_of(model, trace.hidden)
    average = values.new_empty(len(rows), values.shape[-1])
    order = rows.argsort(stable=True)
    counts = rows.bincount(minlength=len(trace.hidden)).tolist()
    # A document's variants share its values, so their averages are one product of matrices.
    for number, own in enumerate(order.split(counts)):
        for some in own.split(max(1, CELLS_AT_ONCE // kept.shape[1])):
            check_interrupted()
            scores = trace.scores[number].expand(len(some), -1)
            weights = model.project(scores, kept[some])
            average[some] = weights @ values[number]
    return decide(average)


def _from_steps(
    model: AttentionClassifier, encoder: Recurrent, batch: Batch, document: Rows, is_kept: IsKept
) -> Logits:
    """Texts that begin alike share the states of their beginnings, and of ends likewise."""
    embedded = model.embed(batch)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    products = [steps_of(layer).products(embedded).flatten(0, 1) for layer in layers]
    look = _Views(model) if has_sight(model) else _States(model)
    chunks = []
    order = np.argsort(document, kind="stable")
    for some in np.split(order, range(ROWS_AT_ONCE, len(order), ROWS_AT_ONCE)):
        states = []
        lengths = torch.from_numpy(is_kept[some].sum(axis=1))
        for number, (layer, product) in enumerate(zip(layers, products, strict=True)):
            found = beginnings(document[some], is_kept[some], is_backwards=number == 1)
            node = found.node if number == 0 else _turned(found.node, lengths)
            states.append((states_of(layer, product, found), node))
        is_token = torch.arange(node.shape[1]) < lengths.unsqueeze(1)
        chunks.append(look(states, is_token))
    return torch.cat(chunks)[torch.from_numpy(np.argsort(order))]


def _turned(
    node: Int[Tensor, "variants width"], lengths: Int[Tensor, " variants"]
) -> Int[Tensor, "variants width"]:
    """What belongs to the words of texts read backwards, in the order of the texts."""
    places = (lengths.unsqueeze(1) - 1 - torch.arange(node.shape[1])).clamp(min=0)
    return node.gather(1, places)


class _States:
    """Logits from whole states: any alignment and output."""

    def __init__(self, model: AttentionClassifier) -> None:
        self.model = model

    def __call__(
        self, states: Sequence[StatesOfOneWay], is_token: Bool[Tensor, "variants width"]
    ) -> Logits:
        """Logits of variants from the states of each way and where each word's stands."""
        hidden = torch.cat([hidden[node] for hidden, node in states], dim=-1)
        weights = self.model.project(self.model.alignment(hidden, None), is_token)
        return self.model.decide(hidden, weights)


class _Views:
    """The same through what attention and output see: a state's part in it is found once."""

    def __init__(self, model: AttentionClassifier) -> None:
        self.model, self.sight = model, Sight(model)

    def __call__(
        self, states: Sequence[StatesOfOneWay], is_token: Bool[Tensor, "variants width"]
    ) -> Logits:
        """Logits of variants from the states of each way and where each word's stands."""
        sight, start = self.sight, 0
        inner = sight.bias.expand(int(is_token.sum()), -1)
        for hidden, node in states:
            part = linear(hidden, sight.weight[:, start : start + hidden.shape[1]])
            inner = part.index_select(0, node[is_token]).add_(inner)
            start += hidden.shape[1]
        views = inner.new_zeros(*is_token.shape, sight.views)
        views[is_token] = sight(inner)
        weights = self.model.project(views[..., 0], is_token)
        return sight.decide((weights.unsqueeze(-2) @ views[..., 1:]).squeeze(-2))


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
    documents, kept = torch.from_numpy(document), sent(torch.from_numpy(is_kept), device)
    lengths = is_kept.sum(axis=1)
    order = np.argsort(-lengths, kind="stable")

    def read(some: Rows) -> Logits:
        return model(batch.kept(documents[some], kept[sent(torch.from_numpy(some), device)])).logits

    at_once = TOKENS_AT_ONCE[device.type] // batch.pieces_per_word
    chunks, start = [], 0
    while start < len(order):
        size = max(1, at_once // max(1, int(lengths[order[start]])))
        chunks += in_parts(order[start : start + size], read, tell)
        start += size
    return torch.cat(chunks)[torch.from_numpy(np.argsort(order)).to(device)]


@torch.no_grad()
def logits_of_variants(
    model: TextClassifier,
    batch: Batch,
    document: Int[Tensor, " variants"],
    is_kept: Bool[Tensor, "variants tokens"],
) -> Logits:
    """The same of variants that a GPU chose, which is asked nothing; `document` lies on the CPU.

    Every variant has as much room as its whole text, however few of its words are left.
    """
    sizes = None if batch.sizes is None else batch.sizes.of(document.numpy())

    def read(some: Rows) -> Logits:
        those, of_some = slice(some[0], some[-1] + 1), None if sizes is None else sizes.of(some)
        return model(batch.kept(document[those], is_kept[those], of_some)).logits

    at_once = TOKENS_AT_ONCE[is_kept.device.type] // batch.pieces_per_word
    step, chunks = max(1, at_once // max(1, is_kept.shape[1])), []
    for start in range(0, len(document), step):
        chunks += in_parts(np.arange(start, min(start + step, len(document))), read)
    return torch.cat(chunks)
