"""What happens when a word is really taken away.

Leave-one-out is the expensive measure. It is never done by as many naive re-runs as there are
words where the encoder is known: `deletion.py` holds the exact shortcuts.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.importance.base import importances
from heedful.importance.inside import Inside
from heedful.importance.seen import Need, Seen, TokenScores, target_probability
from heedful.model.classifier import AttentionClassifier, Trace
from heedful.model.decision import values_of
from heedful.model.word_subsets import reads_words_alone
from heedful.text.batching import Batch

Rows = Int[Tensor, " some"]
TOKENS_AT_ONCE = {"cpu": 8_192, "cuda": 65_536}  # of texts with a word zeroed, read together


@importances.register("leave-one-out", needs=[Need.DELETIONS])
def leave_one_out(seen: Seen) -> TokenScores:
    """Fall of the target probability when the word is deleted and the text is read again.

    importance_t = p_target(text) - p_target(text without word t)     (Jain & Wallace take |.|)
    """
    return (seen.probability.unsqueeze(-1) - seen.without_each()) * seen.is_token


@importances.register("ablation", needs=[Need.CLASSIFIER])
@torch.no_grad()
def ablation(seen: Inside) -> TokenScores:
    """Fall of the target probability when the word's embedding is set to zero in its place.

    importance_t = p_target(text) - p_target(text with embedded_t = 0)
    """
    model, batch, target = seen.model, seen.batch, seen.target
    embedded = seen.trace.embedded
    whole = target_probability(seen.trace.logits, target)
    zeroed = _other_state if reads_words_alone(model) else _read_again
    rows, places = batch.is_token.nonzero(as_tuple=True)
    scores = whole.new_zeros(embedded.shape[:2])
    at_once = max(
        1, TOKENS_AT_ONCE[embedded.device.type] // (embedded.shape[1] * batch.pieces_per_word)
    )
    for some in torch.arange(len(rows), device=rows.device).split(at_once):
        row, place = rows[some], places[some]
        logits = zeroed(model, seen.trace, batch, row, place)
        scores[row, place] = whole[row] - target_probability(logits, target[row])
    return scores


def _read_again(
    model: AttentionClassifier, trace: Trace, batch: Batch, row: Rows, place: Rows
) -> Float[Tensor, "some classes"]:
    """Logits of documents with the embedding of one word zeroed."""
    without = trace.embedded[row]
    without[torch.arange(len(row)), place] = 0.0
    return model.read(without, batch.is_token[row]).logits


def _other_state(
    model: AttentionClassifier, trace: Trace, batch: Batch, row: Rows, place: Rows
) -> Float[Tensor, "some classes"]:
    """The same where no other state changes: the word has the state of a zero embedding."""
    nothing = torch.zeros_like(trace.embedded[:1, :1])
    state = model.encoder(nothing, torch.ones_like(batch.is_token[:1, :1]))
    values, decide = values_of(model, trace.hidden)
    value, _ = values_of(model, state)
    some = torch.arange(len(row), device=row.device)
    scores = trace.scores[row]
    scores[some, place] = model.alignment(state, None)[0, 0]
    weights = model.project(scores, batch.is_token[row])
    average = (weights.unsqueeze(1) @ values[row]).squeeze(1)
    change = value[0, 0] - values[row, place]
    return decide(average + weights[some, place].unsqueeze(-1) * change)


@importances.register("leave-one-out-states", needs=[Need.DECISIONS])
def leave_one_state_out(seen: Seen) -> TokenScores:
    """Fall of the target probability when a state's weight is set to 0 and the others share it.

    importance_t = p_target(weights) - p_target(weights with weight_t = 0, others / (1 - weight_t))

    States stay as they are (Meister et al.; Serrano & Smith). A state with all the weight leaves an
    empty context.
    """
    without = seen.decide(_without_each)
    return (seen.probability.unsqueeze(-1) - without) * seen.is_token


def _without_each(weights: TokenScores) -> Float[Tensor, "batch tokens tokens"]:
    """Row t: the weights of the others than t, which sum to 1 again."""
    others = ~torch.eye(weights.shape[1], dtype=torch.bool, device=weights.device)
    kept = weights.unsqueeze(1) * others
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(kept.dtype).tiny)
