"""Positions of a model -> words: weights summed over pieces, special positions left out."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.readouts.base import PositionWeights

SPECIAL = -1  # the word of a position that belongs to none: [CLS], [SEP], padding

WordOf = Int[Tensor, "batch positions"]


def sum_over_pieces(
    scores: PositionWeights, word_of: WordOf, words: int
) -> Float[Tensor, "batch words"]:
    """The scores of each word's pieces, added up."""
    place = word_of.clamp(min=0)
    of_words = torch.where(word_of == SPECIAL, torch.zeros_like(scores), scores)
    return scores.new_zeros(len(scores), words).scatter_add(1, place, of_words)


def special_share(scores: PositionWeights, word_of: WordOf) -> Float[Tensor, " batch"]:
    """The share of all scores that belongs to no word; 0 where there are none at all."""
    scores = scores.double()
    of_none = torch.where(word_of == SPECIAL, scores, torch.zeros_like(scores)).sum(dim=1)
    return of_none / scores.sum(dim=1).clamp(min=torch.finfo(torch.double).tiny)


def pool_to_words(
    scores: PositionWeights, word_of: WordOf, words: int
) -> Float[Tensor, "batch words"]:
    """Weights of words that sum to 1; even ones where the model gives no word any weight."""
    # In double precision, so that weights which sum to 1 here still do in an audit.
    of_words = sum_over_pieces(scores.double(), word_of, words)
    return shares_of_words(of_words, sum_over_pieces(torch.ones_like(scores), word_of, words) > 0)


def shares_of_words(
    of_words: Float[Tensor, "batch words"], is_word: Bool[Tensor, "batch words"]
) -> Float[Tensor, "batch words"]:
    """Weights that sum to 1; even ones where all are 0."""
    total = of_words.sum(dim=1, keepdim=True)
    of_words = torch.where(total > 0, of_words, is_word.to(of_words.dtype))
    return of_words / of_words.sum(dim=1, keepdim=True).clamp(min=torch.finfo(torch.double).tiny)
