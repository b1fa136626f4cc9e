"""Leave-one-out for recurrent encoders: go on from the states before the deleted word.

Without word t, the states before t are unchanged from left to right, and those after t from right
to left. So each direction only takes the steps behind the deleted word, and the products of the
inputs, most of the work with wide embeddings, are taken once for all deletions. On a GPU,
`heedful.model.recurrent_launches` takes the steps of LSTMs.
"""

from collections.abc import Sequence
from functools import cache
from types import ModuleType

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.interruption import check_interrupted
from heedful.model.classifier import AttentionClassifier
from heedful.model.inference_math import linear
from heedful.model.layers import Recurrent, WithSkip, turn_round
from heedful.model.recurrence import steps_of
from heedful.model.sight import Sight, has_sight

Embedded = Float[Tensor, "batch tokens embedding"]
IsToken = Bool[Tensor, "batch tokens"]
Logits = Float[Tensor, "batch tokens classes"]
Pairs = Float[Tensor, "batch deleted tokens views"]
ROWS_AT_ONCE = 1600  # shortened texts that travel together, so that their gates fit into a cache


def recurrent_part(model: AttentionClassifier) -> Recurrent | None:
    """The recurrent encoder whose states can be taken up again, if the model has one."""
    encoder = model.encoder.inner if isinstance(model.encoder, WithSkip) else model.encoder
    return encoder if isinstance(encoder, Recurrent) and has_sight(model) else None


@torch.no_grad()
def logits_without_each_word(
    model: AttentionClassifier, encoder: Recurrent, embedded: Embedded, is_token: IsToken
) -> Logits:
    """For each word of each document, the logits of the document without it."""
    is_cached = embedded.device.type == "cpu"
    at_once = max(1, ROWS_AT_ONCE // embedded.shape[1]) if is_cached else len(embedded)
    parts = zip(embedded.split(at_once), is_token.split(at_once), strict=True)
    return torch.cat([_logits_of_few(model, encoder, *part) for part in parts])


def _logits_of_few(
    model: AttentionClassifier, encoder: Recurrent, embedded: Embedded, is_token: IsToken
) -> Logits:
    """The same for documents that are taken at once; zero behind the longest."""
    width, longest = is_token.shape[1], max(1, int(is_token.sum(dim=1).max()))
    embedded, is_token = embedded[:, :longest], is_token[:, :longest]
    sight = Sight(model)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    kernels = _kernels() if embedded.is_cuda else None
    find = pairs_without_each_word
    if kernels is not None and kernels.can_take(layers, sight, embedded, find):
        find = kernels.pairs_without_each_word
    pairs = find(layers, sight, embedded, is_token)
    place = torch.arange(longest, device=is_token.device)
    remaining = is_token.unsqueeze(1) & (place != place.unsqueeze(1))
    weights = model.project(pairs[..., 0], remaining)
    logits = sight.decide((weights.unsqueeze(-2) @ pairs[..., 1:]).squeeze(-2))
    return nn.functional.pad(logits, (0, 0, 0, width - longest))


@cache
def _kernels() -> ModuleType | None:
    """`recurrent_launches`; None where Triton is not installed."""
    try:
        from heedful.model import recurrent_launches
    except ImportError:
        return None
    return recurrent_launches


def pairs_without_each_word(
    layers: Sequence[nn.Module], sight: Sight, embedded: Embedded, is_token: IsToken
) -> Pairs:
    """Views at each place of each document without each of its words.

    One layer reads from left to right, a second one from right to left. Where there is no token,
    and at the place of the deleted word, numbers are finite and mean nothing.
    """
    if len(layers) == 1:
        after, before = _one_way(layers[0], sight, embedded)
    else:
        after, before = _both_ways(layers, sight, embedded, is_token)
    place = torch.arange(is_token.shape[1], device=is_token.device)
    return torch.where((place > place.unsqueeze(1)).unsqueeze(-1), after, before)


def _one_way(layer: nn.Module, sight: Sight, embedded: Embedded) -> tuple[Pairs, Pairs]:
    """Views at places after and before each deleted word, read from left to right only."""
    hidden = layer(embedded)[0]
    own = sight.inner(torch.zeros_like(hidden), embedded)
    after = _behind(layer, sight, sight.weight[:, : hidden.shape[-1]], embedded, own)
    return after, sight(sight.inner(hidden, embedded)).unsqueeze(1).expand_as(after)


def _both_ways(
    layers: Sequence[nn.Module], sight: Sight, embedded: Embedded, is_token: IsToken
) -> tuple[Pairs, Pairs]:
    """Views at places after and before each deleted word, where one direction has changed."""
    forwards, backwards = layers
    turned = turn_round(embedded, is_token)
    forth, back = forwards(embedded)[0], turn_round(backwards(turned)[0], is_token)
    nothing, size = torch.zeros_like(forth), forth.shape[-1]
    of_back = sight.inner(torch.cat([nothing, back], dim=-1), embedded)
    of_forth = turn_round(sight.inner(torch.cat([forth, nothing], dim=-1), embedded), is_token)
    after = _behind(forwards, sight, sight.weight[:, :size], embedded, of_back)
    before = _behind(backwards, sight, sight.weight[:, size : 2 * size], turned, of_forth)
    return after, _turn_pairs(before, is_token)


def _behind(
    layer: nn.Module,
    sight: Sight,
    weight: Float[Tensor, "inner hidden"],
    inputs: Embedded,
    unchanged: Float[Tensor, "batch tokens inner"],
) -> Pairs:
    """Views at each place behind each deleted word; zero elsewhere.

    `weight` maps the layer's states, `unchanged` is what everything else adds at each place. Row 0
    of the states reads the whole text, row 1 + t the text without word t: it starts from row 0's
    state before t and skips t.
    """
    steps = steps_of(layer)
    products, unchanged = steps.products(inputs).transpose(0, 1), unchanged.transpose(0, 1)
    tokens, batch = products.shape[:2]
    state = tuple(
        inputs.new_zeros(tokens + 1, batch, steps.hidden_size) for _ in range(steps.parts)
    )
    pairs = inputs.new_zeros(tokens, tokens, batch, sight.views)
    for place in range(tokens):
        check_interrupted()
        for part in state:
            part[place + 1] = part[0]
        steps.advance(products[place], tuple(part[: place + 1] for part in state))
        changed = linear(state[0][1 : place + 1], weight)
        pairs[place, :place] = sight(changed.add_(unchanged[place]))
    return pairs.permute(2, 1, 0, 3)


def _turn_pairs(pairs: Pairs, is_token: IsToken) -> Pairs:
    """Pairs of places in turned texts as pairs of places in the texts themselves."""
    batch, tokens, _, views = pairs.shape
    rows_turned = turn_round(pairs.flatten(2), is_token).view(batch, tokens, tokens, views)
    columns = rows_turned.transpose(1, 2).flatten(2)
    return turn_round(columns, is_token).view(batch, tokens, tokens, views).transpose(1, 2)
