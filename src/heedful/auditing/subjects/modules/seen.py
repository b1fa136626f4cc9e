"""What measures of importance see of any module: what its adapter shows."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful.auditing.subjects.base import Decides, Reading, SeenReading
from heedful.auditing.subjects.modules.adapter import ModuleTrace
from heedful.auditing.subjects.modules.reader import ModuleReader, Part
from heedful.errors import DataError
from heedful.importance import seen
from heedful.importance.seen import Need, gradient, of_target, through_weights

Logits = Float[Tensor, "part classes"]


def given(reader: ModuleReader, trace: ModuleTrace) -> frozenset[Need]:
    """What measures can look at, once it is seen that what is shown is computed with."""
    logits = reader.decide(trace.states.detach(), trace.weights.detach().requires_grad_())
    if not logits.requires_grad:
        raise DataError(
            "decide should be differentiable. Is it under torch.no_grad, or does it go through "
            "numpy?"
        )
    always = {Need.DELETIONS, Need.DECISIONS, Need.WEIGHTS, Need.TEXTS}
    if trace.states.requires_grad:
        always.add(Need.STATES)
    if trace.embedded is None:
        return frozenset(always)
    if not trace.embedded.requires_grad or not trace.states.requires_grad:
        raise DataError(
            "embedded should let gradients through to the states. Is read under torch.no_grad? "
            "If this cannot be changed, leave out embedded."
        )
    (slope,) = torch.autograd.grad(trace.states.sum(), trace.embedded, allow_unused=True)
    if slope is None:
        raise DataError(
            "embedded should be the tensor that the states are computed from; the states that read "
            "returned do not depend on it. Leave it out if there is none."
        )
    return frozenset(always | {Need.EMBEDDINGS, Need.HELD_ATTENTION})


class SeenModule(SeenReading):
    """A reading of a module, and gradients through what its adapter shows."""

    def __init__(self, subject: Decides, reader: ModuleReader, reading: Reading) -> None:
        super().__init__(subject, reading)
        self.subject, self.reader = subject, reader

    def decide(
        self, change: Callable[[seen.TokenScores], Float[Tensor, "batch attentions tokens"]]
    ) -> Float[Tensor, "batch attentions"]:
        """From the states as they are."""
        found = self.subject.decide(self.reading, change(self.shown).numpy())
        return of_target(torch.from_numpy(found), self.target)

    def by_weights(self, score: Callable[[Tensor, Tensor], Tensor]) -> seen.TokenScores:
        """Back through the decision, from the states that were read."""

        def of_part(part: Part) -> Float[Tensor, "part words"]:
            trace, target = part.trace, self._target_of(part)
            return through_weights(self.reader.decide, trace.states, trace.weights, target, score)

        return self._written(of_part, lambda part: part)

    def by_parts(
        self, score: Callable[[seen.Part], seen.PositionScores], passes: int = 1
    ) -> seen.TokenScores:
        """Parts read again, with gradients; a position is a word."""

        def of_part(part: Part) -> Float[Tensor, "part words"]:
            return score(_WithGradients(self.reader, part, self._target_of(part)))

        return self._written(of_part, self.reader.again)

    def _written(
        self, score: Callable[[Part], Float[Tensor, "part words"]], read: Callable[[Part], Part]
    ) -> seen.TokenScores:
        scores = np.zeros(self.reading.weights.shape)
        _, parts = self.reading.inner
        with self.reader.with_gradients():
            for part in parts:
                part.write(score(read(part)), scores)
        return torch.from_numpy(scores)

    def _target_of(self, part: Part) -> seen.Target:
        return self.target[torch.from_numpy(part.rows)].to(part.is_word.device)


class _WithGradients(seen.Part):
    """Documents that were read with gradients on."""

    def __init__(self, reader: ModuleReader, part: Part, target: seen.Target) -> None:
        self.reader, self.trace = reader, part.trace
        self.is_word, self.target = part.is_word, target

    def run(
        self,
        change: Callable[[seen.Vectors], seen.Vectors] | None = None,
        *,
        held: seen.Held = "nothing",
    ) -> seen.Pass:
        """From the embeddings of the trace; an adapter takes no others."""
        embedded = self.trace.embedded
        assert embedded is not None  # else neither is among what is `given`
        assert change is None
        return seen.Pass(embedded, embedded, self._decided(is_held=held == "weights"))

    def states(self) -> tuple[seen.Vectors, Logits]:
        """Of the trace."""
        return self.trace.states, self._decided()

    def _decided(self, is_held: bool = False) -> Logits:
        weights = self.trace.weights
        return self.reader.decide(self.trace.states, weights.detach() if is_held else weights)


def state_gradient_lengths(trace: ModuleTrace) -> Float[Tensor, "part states words"]:
    """Length of the gradient of each state's norm by each word's embedding, state by state."""
    embedded = trace.embedded
    assert embedded is not None
    norms = trace.states.norm(dim=-1).unbind(dim=1)
    lengths = [gradient(norm, embedded, retain_graph=True).norm(dim=-1) for norm in norms]
    return torch.stack(lengths, dim=1)
