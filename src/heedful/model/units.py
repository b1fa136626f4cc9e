"""What word-level objectives see: words, or the pieces by which a pretrained model knows them.

Each has a number, a vector of its own and, after reading, a state of its own.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.model.classifier import PooledTrace, TextClassifier, Trace
from heedful.model.pretrained import PieceEmbedding, PretrainedEncoder
from heedful.text.batching import Batch
from heedful.text.pieces import NO_PIECE
from heedful.text.vocabulary import SPECIAL_WORDS


@dataclass(frozen=True)
class Units:
    """The words of some texts, or all their pieces in a row."""

    ids: Int[Tensor, "batch units"]
    is_unit: Bool[Tensor, "batch units"]
    is_known: Bool[Tensor, "batch units"]  # has a vector that means this one alone


def units_of(model: TextClassifier, batch: Batch) -> Units:
    """The units of a batch as the model knows them."""
    if not isinstance(model.embedding, PieceEmbedding):
        is_known = batch.is_token & (batch.token_ids >= len(SPECIAL_WORDS))
        return Units(batch.token_ids, batch.is_token, is_known)
    assert batch.piece_ids is not None
    assert isinstance(model.encoder, PretrainedEncoder)
    is_piece = ((batch.piece_ids != NO_PIECE) & batch.is_token.unsqueeze(-1)).flatten(1)
    ids = batch.piece_ids.flatten(1).clamp(min=0)
    return Units(ids, is_piece, is_piece & (ids != model.encoder.unknown))


def unit_table(model: TextClassifier) -> Float[Tensor, "vocabulary size"]:
    """The vectors of all units."""
    return model.embedding.weight


def first_ordinary(model: TextClassifier) -> int:
    """The lowest number of an ordinary unit; special words come first, special pieces anywhere."""
    return 0 if isinstance(model.embedding, PieceEmbedding) else len(SPECIAL_WORDS)


def usual_mask(model: TextClassifier) -> Float[Tensor, " size"]:
    """Where the vector of a masked unit starts: at 0 for words, at the model's own for pieces.

    A piece that is zero is none, so a model without a mask of its own starts at the mean piece.
    """
    table = unit_table(model).detach()
    if not isinstance(model.encoder, PretrainedEncoder):
        return torch.zeros_like(table[0])
    own = model.encoder.mask
    return table.mean(dim=0) if own is None else table[own].clone()


def embed_units(
    model: TextClassifier, ids: Int[Tensor, "batch units"]
) -> Float[Tensor, "batch units size"]:
    """A vector for each unit."""
    if isinstance(model.embedding, PieceEmbedding):
        return nn.functional.embedding(ids, model.embedding.weight)
    return model.embedding(ids)


def read_units(
    model: TextClassifier, embedded: Float[Tensor, "batch units size"], batch: Batch, units: Units
) -> Float[Tensor, "batch units hidden"]:
    """The state of each unit, read in a pass of its own."""
    encoder = model.encoder
    if not isinstance(encoder, PretrainedEncoder):
        return encoder(model.dropout(embedded), batch.is_token)
    pieces = (embedded * units.is_unit.unsqueeze(-1)).unflatten(1, (batch.is_token.shape[1], -1))
    states, _ = encoder.read_pieces(pieces.flatten(2), batch.is_token, batch.longest_row)
    return states.flatten(1, 2)


def unit_states(
    model: TextClassifier, batch: Batch, units: Units, trace: Trace | PooledTrace
) -> Float[Tensor, "batch units hidden"]:
    """The state of each unit; those of words are in the trace, those of pieces are read again."""
    if not isinstance(model.embedding, PieceEmbedding):
        return trace.hidden
    return read_units(model, embed_units(model, units.ids), batch, units)
