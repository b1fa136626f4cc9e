"""Leave-one-out for recurrent encoders: go on from the states before the deleted word.

`recurrent_steps` does so step by step, on any device. On a GPU `recurrent_kernel` takes all steps
of an LSTM in one kernel, where it works.
"""

from collections.abc import Sequence
from functools import cache
from types import ModuleType

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.model.classifier import AttentionClassifier
from heedful.model.layers import Recurrent, WithSkip
from heedful.model.recurrent_steps import pairs_by_steps
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
    pairs = _pairs(layers, sight, embedded, is_token)
    place = torch.arange(longest, device=is_token.device)
    remaining = is_token.unsqueeze(1) & (place != place.unsqueeze(1))
    weights = model.project(pairs[..., 0], remaining)
    logits = sight.decide((weights.unsqueeze(-2) @ pairs[..., 1:]).squeeze(-2))
    return nn.functional.pad(logits, (0, 0, 0, width - longest))


def _pairs(
    layers: Sequence[nn.Module], sight: Sight, embedded: Embedded, is_token: IsToken
) -> Pairs:
    """Views at each place of each document without each of its words."""
    kernel = _kernel() if embedded.is_cuda else None
    if kernel is None or not kernel.can_take(layers, sight, embedded):
        return pairs_by_steps(layers, sight, embedded, is_token)
    return kernel.pairs_by_kernel(layers, sight, embedded, is_token)


@cache
def _kernel() -> ModuleType | None:
    """The module of the kernel, where there is Triton."""
    try:
        from heedful.model import recurrent_kernel
    except ImportError:
        return None
    return recurrent_kernel
