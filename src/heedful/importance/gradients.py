"""What an infinitesimal change would do: gradients of inputs, of states and of weights.

Three different things are called "the gradient" in this literature. Each has a name of its own here
that says what is differentiated, by what, and whether attention may follow (free) or not (held).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.config import at_least
from heedful.importance.base import Complete, importances
from heedful.importance.seen import (
    Held,
    Need,
    Part,
    Pass,
    PositionScores,
    Seen,
    TokenScores,
    Vectors,
    gradient,
    of_target,
    target_probability,
)


@importances.register("gradient-x-input", needs=[Need.EMBEDDINGS])
def gradient_times_input(seen: Seen) -> TokenScores:
    """First-order fall of the target logit if a word's embedding went to zero; attention free.

    importance_t = < d logit_target / d embedded_t , embedded_t >
    """
    return _by_embeddings(seen, of_target, _product)


@importances.register("gradient-x-input-held", needs=[Need.EMBEDDINGS, Need.HELD_ATTENTION])
def gradient_times_input_held(seen: Seen) -> TokenScores:
    """The same of the target probability with the weights held fixed (Jain & Wallace).

    importance_t = < d p_target / d embedded_t , embedded_t >,  weights constant
    """
    return _by_embeddings(seen, target_probability, _product, held="weights")


@importances.register("decomposition", needs=[Need.HELD_LAYERS])
def decomposition(seen: Seen) -> TokenScores:
    """What a word adds to the target logit, with everything nonlinear held fixed.

    importance_t = < d logit_target / d x_t , x_t >,  x: the output of the embedding layer;
    attention weights, deviations of normalisation and act(z) / z constant

    Together with special positions and biases they sum to the logit; biases are nobody's here
    (DecompX, arXiv:2306.02873, shares them out). For Transformers: one pass there and back.
    """
    return _by_embeddings(seen, of_target, _product, held="layers")


@importances.register("gradient-norm", needs=[Need.EMBEDDINGS], is_signed=False)
def gradient_norm(seen: Seen) -> TokenScores:
    """Length of the gradient of the target probability by a word's embedding; attention free.

    importance_t = | d p_target / d embedded_t |     (Meister et al.; has no sign)

    For Hugging Face models it is that of the target logit, summed over the pieces of a word.
    """
    value = of_target if seen.of == "logits" else target_probability
    return _by_embeddings(seen, value, lambda slope, embedded: slope.norm(dim=-1))


@importances.register("state-gradient-norm", needs=[Need.STATES], is_signed=False)
def state_gradient_norm(seen: Seen) -> TokenScores:
    """Length of the gradient of the target probability by a state; attention free.

    importance_t = | d p_target / d hidden_t |     (Meister et al.; has no sign)
    """

    def score(part: Part) -> PositionScores:
        states, logits = part.states()
        return gradient(target_probability(logits, part.target), states).norm(dim=-1)

    return seen.by_parts(score)


@importances.register("weight-gradient", needs=[Need.WEIGHTS, Need.DECISIONS])
def weight_gradient(seen: Seen) -> TokenScores:
    """How the target probability would change with a state's weight (Serrano & Smith).

    importance_t = d p_target / d weight_t
    """
    return seen.by_weights(lambda weights, slope: slope)


@importances.register("attention-x-gradient", needs=[Need.WEIGHTS])
def attention_times_gradient(seen: Seen) -> TokenScores:
    """Weight times its gradient: first-order fall of the probability if the weight went to zero.

    importance_t = weight_t * d p_target / d weight_t

    For Hugging Face models it is that of the target logit, summed over the layers, heads and rows
    that the readout looks at.
    """
    return seen.by_weights(lambda weights, slope: weights * slope)


@importances.register("integrated-gradients")
@dataclass(frozen=True)
class IntegratedGradients(Complete):
    """Gradients of the target logit integrated from zero embeddings; attention free.

    importance_t = < embedded_t , mean over a in 0..1 of d logit_target(a embedded) / d embedded_t >

    They sum to the difference between the logit and that of zero embeddings (arXiv:1703.01365).
    Gauss-Legendre points, as in Captum; they are exact for smooth paths with few steps. Positions
    that belong to no word, such as [CLS], keep their embeddings on the way.
    """

    needs = frozenset({Need.EMBEDDINGS, Need.OTHER_EMBEDDINGS})
    steps: int = 20

    def __post_init__(self) -> None:
        at_least(1, steps=self.steps)

    def of(self, seen: Seen) -> TokenScores:
        """The scores; see the class."""
        return seen.by_parts(self._of_part, passes=self.steps)

    def expected_sum(self, seen: Seen) -> Float[Tensor, " batch"]:
        """The logit less that of words with zero embeddings."""

        def rise(part: Part) -> Float[Tensor, " batch"]:
            logits, zero = part.run().logits, _run_at(part, torch.zeros(1)).logits
            return of_target(logits, part.target) - of_target(zero, part.target)

        return seen.sums(rise)

    def _of_part(self, part: Part) -> PositionScores:
        points, shares = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(self.steps))
        total: Vectors | None = None
        chunks = zip(points.split(part.copies), shares.split(part.copies), strict=True)
        for some, their_shares in chunks:
            copies = part.repeated(len(some))
            found = _run_at(copies, (some + 1) / 2)
            slope = gradient(of_target(found.logits, copies.target), found.embedded)
            slope = slope.unflatten(0, (len(some), -1))
            each = (their_shares / 2).to(slope)
            mean = torch.tensordot(each, slope, dims=1)
            total = mean if total is None else total + mean
        assert total is not None  # there is at least one step
        return _product(total, found.own[: len(total)])


def _by_embeddings(
    seen: Seen,
    value: Callable[[Tensor, Tensor], Tensor],
    score: Callable[[Vectors, Vectors], PositionScores],
    *,
    held: Held = "nothing",
) -> TokenScores:
    """`score` of the gradient of a value with respect to the embeddings, and of these."""

    def of_part(part: Part) -> PositionScores:
        found = part.run(held=held)
        return score(gradient(value(found.logits, part.target), found.embedded), found.embedded)

    return seen.by_parts(of_part)


def _product(slope: Vectors, embedded: Vectors) -> PositionScores:
    return (slope * embedded).sum(dim=-1)


def _run_at(part: Part, points: Float[Tensor, " copies"]) -> Pass:
    """A pass from embeddings of words that are scaled down, each copy of the documents by its own
    point."""
    rows = points.repeat_interleave(len(part.target) // len(points))

    def scaled(vectors: Vectors) -> Vectors:
        shorter = rows.to(vectors)[:, None, None] * vectors
        return torch.where(part.is_word.unsqueeze(-1), shorter, vectors)

    return part.run(scaled)
