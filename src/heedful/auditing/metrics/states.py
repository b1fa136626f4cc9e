"""How alike the states of a document are, and what the weights alone look like."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.metrics.registry import metric
from heedful.auditing.metrics.rows import IsToken, PerExample, Rows, divide

TOP_WEIGHTS = 10
BINS = 10
EDGE = 5


@metric("conicity", better="lower", bounds=(0.0, 1.0))
def conicity(states: Float[ndarray, "examples tokens size"], is_token: IsToken) -> PerExample:
    """How alike a document's states are: mean of |cos| between each and their mean.

    1: all point the same way, so that it hardly matters which one is attended to
    (arXiv:2004.14243, whose code takes the absolute value).
    """
    states = states * is_token[..., None]
    tokens = is_token.sum(axis=1)
    middle = divide(states.sum(axis=1), tokens[:, None])
    product = np.abs((states * middle[:, None]).sum(axis=-1))
    lengths = np.linalg.norm(states, axis=-1) * np.linalg.norm(middle, axis=-1, keepdims=True)
    cosine = np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)
    return np.minimum(divide((cosine * is_token).sum(axis=1), tokens), 1.0)


def weight_pattern(weights: Rows, is_token: IsToken) -> Float[ndarray, "examples features"]:
    """A document's weights as numbers that say nothing of its words.

    Length, its ten highest weights, the mass in each tenth of the text, the weights of the first
    and last five words, and the entropy.
    """
    examples, width = weights.shape
    tokens = is_token.sum(axis=1)
    highest = np.zeros((examples, TOP_WEIGHTS))
    kept = min(TOP_WEIGHTS, width)
    highest[:, :kept] = -np.sort(-weights * is_token, axis=1)[:, :kept]
    place = np.arange(width)
    tenth = np.minimum(place * BINS // np.maximum(tokens, 1)[:, None], BINS - 1)
    mass = np.stack([(weights * (tenth == bin_)).sum(axis=1) for bin_ in range(BINS)], axis=1)
    first, last = np.zeros((2, examples, EDGE))
    edge = min(EDGE, width)
    first[:, :edge] = weights[:, :edge]
    from_end = tokens[:, None] - 1 - np.arange(EDGE)
    at_end = np.take_along_axis(weights, np.maximum(from_end, 0), axis=1)
    last = np.where(from_end >= 0, at_end, 0.0)
    logs = np.log(np.where(weights > 0, weights, 1.0))
    entropy = -(weights * logs).sum(axis=1)
    return np.column_stack([np.log1p(tokens), highest, mass, first, last, entropy])
