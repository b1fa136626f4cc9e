"""What happens when a word is really taken away.

Leave-one-out is the expensive measure. It is never done by as many naive re-runs as there are
words: `deletion.py` holds the exact shortcuts.
"""

import torch

from heedful.importance.base import (
    Target,
    TokenScores,
    importances,
    target_probability,
)
from heedful.importance.deletion import logits_without_each
from heedful.model.classifier import AttentionClassifier
from heedful.model.decision import decide_many
from heedful.text.batching import Batch

TOKENS_AT_ONCE = 65_536  # of texts with one word zeroed that are read together


@importances.register("leave-one-out")
@torch.no_grad()
def leave_one_out(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """Fall of the target probability when the word is deleted and the text is read again.

    importance_t = p_target(text) - p_target(text without word t)     (Jain & Wallace take |.|)
    """
    whole = target_probability(model(batch).logits, target)
    without = target_probability(logits_without_each(model, batch), target)
    return (whole.unsqueeze(-1) - without) * batch.is_token


@importances.register("ablation")
@torch.no_grad()
def ablation(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """Fall of the target probability when the word's embedding is zeroed; its place stays.

    importance_t = p_target(text) - p_target(text with embedded_t = 0)
    """
    embedded = model.embed(batch)
    whole = target_probability(model.read(embedded, batch.is_token).logits, target)
    rows, places = batch.is_token.nonzero(as_tuple=True)
    scores = whole.new_zeros(embedded.shape[:2])
    at_once = max(1, TOKENS_AT_ONCE // (embedded.shape[1] * batch.pieces_per_word))
    for some in torch.arange(len(rows), device=rows.device).split(at_once):
        row, place = rows[some], places[some]
        without = embedded[row]
        without[torch.arange(len(some)), place] = 0.0
        logits = model.read(without, batch.is_token[row]).logits
        scores[row, place] = whole[row] - target_probability(logits, target[row])
    return scores


@importances.register("leave-one-out-states")
@torch.no_grad()
def leave_one_state_out(model: AttentionClassifier, batch: Batch, target: Target) -> TokenScores:
    """Fall of the target probability when a state's weight goes to 0 and the rest share it.

    importance_t = p_target(weights) - p_target(weights with weight_t = 0, others / (1 - weight_t))

    States stay as they are (Meister et al.; Serrano & Smith). A state with all the weight leaves an
    empty context.
    """
    trace = model(batch)
    whole = target_probability(trace.logits, target)
    tokens = trace.weights.shape[1]
    others = ~torch.eye(tokens, dtype=torch.bool, device=trace.weights.device)
    kept = trace.weights.unsqueeze(1) * others
    kept = kept / kept.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(kept.dtype).tiny)
    without = target_probability(decide_many(model, trace.hidden, kept), target)
    return (whole.unsqueeze(-1) - without) * batch.is_token
