"""What attention alone looks like: its pattern, without a word of the text."""

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

TOP_WEIGHTS = 10
BINS = 10
EDGE = 5


def weight_pattern(
    weights: Float[ndarray, "examples tokens"], is_token: Bool[ndarray, "examples tokens"]
) -> Float[ndarray, "examples features"]:
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
    first = np.zeros((examples, EDGE))
    edge = min(EDGE, width)
    first[:, :edge] = weights[:, :edge]
    from_end = tokens[:, None] - 1 - np.arange(EDGE)
    at_end = np.take_along_axis(weights, np.maximum(from_end, 0), axis=1)
    last = np.where(from_end >= 0, at_end, 0.0)
    logs = np.log(np.where(weights > 0, weights, 1.0))
    entropy = -(weights * logs).sum(axis=1)
    return np.column_stack([np.log1p(tokens), highest, mass, first, last, entropy])
