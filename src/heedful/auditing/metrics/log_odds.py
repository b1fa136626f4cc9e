"""Probabilities read in log-odds: how far a decision moves, however sure the model is.

A probability near 1 can hardly move, so a sure model looks as if it ignored what it relies on. In
log-odds, multiplying all logits by a constant multiplies every move by it, and ratios stay.
"""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

SMALLEST = 1e-300  # probabilities below are taken for this, so that logarithms stay finite


def log_odds(
    probabilities: Float[ndarray, "*rows classes"],
    target: Int[ndarray, "*rows"],
    smallest: float = SMALLEST,
) -> Float[ndarray, "*rows"]:
    """log p(target) - log p(any other class).

    The other classes are added up, not taken as 1 - p, so nothing cancels where p is near 1.
    """
    at = target[..., None]
    own = np.take_along_axis(probabilities, at, axis=-1)[..., 0]
    others = probabilities.copy()
    np.put_along_axis(others, at, 0.0, axis=-1)
    rest = others.sum(axis=-1)
    return np.log(np.maximum(own, smallest)) - np.log(np.maximum(rest, smallest))
