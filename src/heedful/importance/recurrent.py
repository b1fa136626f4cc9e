"""Leave-one-out for recurrent encoders: go on from the states before the deleted word.

Without word t, the states before t are unchanged from left to right, and those after t from right
to left. So each direction only takes the steps behind the deleted word, and the products of the
inputs, most of the work with wide embeddings, are taken once for all deletions.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.model.classifier import AttentionClassifier, Output
from heedful.model.layers import Recurrent, WithSkip, turn_round
from heedful.model.recurrence import Steps, steps_of

Embedded = Float[Tensor, "batch tokens embedding"]
Hidden = Float[Tensor, "batch tokens hidden"]
IsToken = Bool[Tensor, "batch tokens"]
Pairs = Float[Tensor, "batch deleted tokens views"]
Look = Callable[[Tensor, int], Tensor]
"""(changed states [deleted batch hidden], place) -> attention score and outputs of each."""


def recurrent_part(model: AttentionClassifier) -> Recurrent | None:
    """The recurrent encoder whose states can be taken up again, if the model has one."""
    encoder = model.encoder.inner if isinstance(model.encoder, WithSkip) else model.encoder
    is_linear = isinstance(model.output, Output)
    return encoder if isinstance(encoder, Recurrent) and is_linear else None


def logits_without_each_word(
    model: AttentionClassifier, encoder: Recurrent, embedded: Embedded, is_token: IsToken
) -> Float[Tensor, "batch tokens classes"]:
    """For each word of each document, the logits of the document without it."""
    turned = turn_round(embedded, is_token)
    forth = encoder.forwards(embedded)[0]
    if encoder.backwards is None:
        after = _pairs(steps_of(encoder.forwards), embedded, _look(model, embedded, None))
        # One way only: the states before the deleted word stay as they are.
        at_each = _views(model, forth, embedded).unsqueeze(1)
        before = at_each.expand_as(after)
    else:
        back = turn_round(encoder.backwards(turned)[0], is_token)
        look_forth = _look(model, embedded, back)
        look_back = _look(model, turned, turn_round(forth, is_token), is_turned=True)
        after = _pairs(steps_of(encoder.forwards), embedded, look_forth)
        before = _turn_pairs(_pairs(steps_of(encoder.backwards), turned, look_back), is_token)
    place = torch.arange(is_token.shape[1], device=is_token.device)
    pairs = torch.where((place > place.unsqueeze(1)).unsqueeze(-1), after, before)
    remaining = is_token.unsqueeze(1) & (place != place.unsqueeze(1))
    weights = model.project(pairs[..., 0], remaining)
    return _decide(model, weights, pairs[..., 1:])


def _pairs(steps: Steps, inputs: Embedded, look: Look) -> Pairs:
    """What is seen at each place behind each deleted word; zero elsewhere.

    One row per deleted word travels along the text. At place s, the rows of words 0 .. s-1 take the
    step, and the row of word s starts from the state before it.
    """
    products = steps.products(inputs).transpose(0, 1)
    tokens, batch = products.shape[:2]
    whole = (inputs.new_zeros(batch, steps.hidden_size),) * steps.parts
    rows = tuple(inputs.new_zeros(tokens, batch, steps.hidden_size) for _ in whole)
    pairs: Tensor | None = None
    for place in range(tokens):
        if place:
            moved = steps.step(products[place], tuple(part[:place] for part in rows))
            seen = look(moved[0], place)
            if pairs is None:
                pairs = inputs.new_zeros(batch, tokens, tokens, seen.shape[-1])
            pairs[:, :place, place] = seen.transpose(0, 1)
            for part, new in zip(rows, moved, strict=True):
                part[:place] = new
        for part, before in zip(rows, whole, strict=True):
            part[place] = before
        whole = steps.step(products[place], whole)
    if pairs is None:  # texts of one word: there is no place behind it
        pairs = inputs.new_zeros(batch, 1, 1, look(whole[0].unsqueeze(0), 0).shape[-1])
    return pairs


def _look(
    model: AttentionClassifier, own: Embedded, unchanged: Hidden | None, is_turned: bool = False
) -> Look:
    """How states of which one direction has changed are seen: completed, scored and put out."""

    def look(changed: Tensor, place: int) -> Tensor:
        state = changed
        if unchanged is not None:
            other = unchanged[:, place].expand_as(changed)
            state = torch.cat([other, changed] if is_turned else [changed, other], dim=-1)
        return _views(model, state, own[:, place].expand(*changed.shape[:2], -1))

    return look


def _views(
    model: AttentionClassifier,
    state: Float[Tensor, "rows columns hidden"],
    own: Float[Tensor, "rows columns embedding"],
) -> Float[Tensor, "rows columns views"]:
    """Attention score, then outputs, of states whose words' embeddings are `own`."""
    if isinstance(model.encoder, WithSkip):
        state = model.encoder.join(state, own)
    outputs = state @ _output(model).linear.weight.t()
    return torch.cat([model.alignment(state).unsqueeze(-1), outputs], dim=-1)


def _turn_pairs(pairs: Pairs, is_token: IsToken) -> Pairs:
    """Pairs of places in turned texts as pairs of places in the texts themselves."""
    batch, tokens, _, views = pairs.shape
    rows_turned = turn_round(pairs.flatten(2), is_token).view(batch, tokens, tokens, views)
    columns = rows_turned.transpose(1, 2).flatten(2)
    return turn_round(columns, is_token).view(batch, tokens, tokens, views).transpose(1, 2)


def _decide(
    model: AttentionClassifier,
    weights: Float[Tensor, "batch deleted tokens"],
    outputs: Float[Tensor, "batch deleted tokens outputs"],
) -> Float[Tensor, "batch deleted classes"]:
    scores = (weights.unsqueeze(-2) @ outputs).squeeze(-2)
    output = _output(model)
    bias = output.linear.bias
    return output.logits(scores if bias is None else scores + bias)


def _output(model: AttentionClassifier) -> Output:
    assert isinstance(model.output, Output)  # `recurrent_part` has seen to it
    return model.output
