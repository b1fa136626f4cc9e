"""How alike the states of a document are."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.metrics.base import metric
from heedful.auditing.metrics.rows import IsToken, PerExample, divide


@metric("conicity", better="lower", bounds=(0.0, 1.0))
def conicity(states: Float[ndarray, "examples tokens size"], is_token: IsToken) -> PerExample:
    """How similar a document's states are: mean of |cos| between each and their mean.

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
