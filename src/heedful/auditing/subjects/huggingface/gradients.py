"""Importance by gradients inside a Hugging Face classifier, summed over the pieces of words.

The target is the predicted class: its logit, or its probability where attention is held (as Jain &
Wallace take it). Gradients are asked for by the embeddings alone: no parameter gathers any.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from heedful.auditing.subjects.huggingface.attention import Watch, as_it_was, watching
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.packing import Rows
from heedful.auditing.subjects.huggingface.tokenization import PieceBatch, Pieces
from heedful.readouts import Attended, Readout
from heedful.readouts.pooling import SPECIAL, sum_over_pieces

BY_GRADIENT = ("gradient-x-input", "gradient-norm", "integrated-gradients")
STEPS = 20  # of integrated gradients, as `importance.gradients` has them
POSITIONS_AT_ONCE = 2048  # of a pass that keeps what its gradient needs

Scores = Float[ndarray, "documents words"]
Vectors = Float[Tensor, "batch positions size"]


def input_gradients(
    model: TransformerModel,
    measure: str,
    pieces: Sequence[Pieces],
    is_token: Bool[ndarray, "documents words"],
) -> Scores:
    """Gradient x input (attention free or held), gradient norm, or integrated gradients.

    integrated: embeddings of words go from zero to what they are; special ones stay. Gauss-Legendre
    points, as in `importance.gradients`.
    """
    words = is_token.shape[1]
    is_held = measure == "gradient-x-input-held"

    def run(batch: PieceBatch, _: Rows) -> list[Tensor]:
        if measure == "integrated-gradients":
            of_positions = _integrated(model, batch)
        else:
            embedded, slope = _slope(model, batch, None, is_held)
            of_positions = (
                slope.norm(dim=-1) if measure == "gradient-norm" else (slope * embedded).sum(dim=-1)
            )
        return list(sum_over_pieces(of_positions.double(), batch.word_of, words).cpu())

    found = model.packer.run(pieces, run, lambda longest: POSITIONS_AT_ONCE // longest)
    return torch.stack(found).numpy() * is_token


def weight_gradients(
    model: TransformerModel,
    readout: Readout,
    pieces: Sequence[Pieces],
    is_token: Bool[ndarray, "documents words"],
) -> Scores:
    """Weight times gradient, signed, summed over the layers, heads and rows a readout looks at."""
    layers, heads = readout.layers(model.layers), list(readout.heads(model.heads))

    def read(attended: Attended, batch: PieceBatch) -> Tensor:
        products = [
            attended.row(attended.weights[layer] * attended.gradients[layer])[:, heads].sum(dim=1)
            for layer in layers
        ]
        total = torch.stack(products).sum(dim=0).double()
        return sum_over_pieces(total, batch.word_of, is_token.shape[1])

    rows, _ = model.attend(pieces, read, needs_gradients=True)
    return torch.stack(rows).numpy() * is_token


def _integrated(model: TransformerModel, batch: PieceBatch) -> Float[Tensor, "batch positions"]:
    points, shares = np.polynomial.legendre.leggauss(STEPS)
    is_word = (batch.word_of != SPECIAL)[..., None]
    target = None
    total: Tensor | None = None
    embedded: Tensor | None = None
    for point, share in zip([1.0, *points.tolist()], [0.0, *shares.tolist()], strict=True):

        def scaled(vectors: Vectors, by: float = (point + 1) / 2) -> Vectors:
            return torch.where(is_word, by * vectors, vectors)

        given, slope = _slope(model, batch, scaled, is_held=False, target=target)
        if total is None:  # the first pass, at the text itself, says which class is meant
            embedded, total = given, torch.zeros_like(given)
            with torch.inference_mode(), as_it_was(model.model):
                target = model.model(**batch.inputs).logits.argmax(dim=-1)
        total = total + share / 2 * slope
    assert total is not None
    assert embedded is not None
    return (total * embedded).sum(dim=-1)


def _slope(
    model: TransformerModel,
    batch: PieceBatch,
    change: Callable[[Vectors], Vectors] | None,
    is_held: bool,
    target: Tensor | None = None,
) -> tuple[Vectors, Vectors]:
    """Embeddings, and the gradient of the target by them."""
    around = watching(model.model, Watch(holds=True, keeps=False)) if is_held else nullcontext()
    with torch.enable_grad(), as_it_was(model.model), around, model.embedded(change) as seen:
        logits = model.model(**batch.inputs).logits
        chosen = logits.argmax(dim=-1) if target is None else target
        values = logits.softmax(dim=-1) if is_held else logits
        of_target = values.gather(1, chosen.clone()[:, None]).sum()
        (slope,) = torch.autograd.grad(of_target, seen[0])
    return seen[0].detach(), slope
