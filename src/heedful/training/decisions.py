"""What a run says of some texts: who decides, and where no heat map is shown.

A run of `heedful train` decides by its own attention. A healed one decides by the model that was
healed, and its attention head was added to it: where the two disagree, a heat map of the head
would explain another decision than the one that is given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

Probabilities = Float[ndarray, "documents classes"]


@dataclass(frozen=True)
class Decisions:
    """The decisions on some texts."""

    probabilities: Probabilities
    by_attention: Probabilities  # what the attention head says; the same unless a run was healed
    decided_by: str  # the model that was healed; empty where attention decides
    withheld: tuple[str, ...]  # why no heat map of a text is shown; empty where one is

    @property
    def agrees(self) -> Bool[ndarray, " documents"]:
        """Whether the attention head decides as the run does."""
        return _agrees(self.probabilities, self.by_attention)


def decide(
    probabilities: Probabilities,
    by_attention: Probabilities,
    classes: Sequence[object],
    decided_by: str = "",
) -> Decisions:
    """Decisions with every reason to withhold a heat map looked at: add further ones here."""
    reasons = [_disagreement(probabilities, by_attention, classes)]
    withheld = tuple(next(filter(None, said), "") for said in zip(*reasons, strict=True))
    return Decisions(probabilities, by_attention, decided_by, withheld)


def _disagreement(
    probabilities: Probabilities, by_attention: Probabilities, classes: Sequence[object]
) -> Iterator[str]:
    """A sentence for each text on which attention would decide otherwise."""
    chosen, other = probabilities.argmax(axis=1), by_attention.argmax(axis=1)
    for agrees, one, two in zip(_agrees(probabilities, by_attention), chosen, other, strict=True):
        yield (
            ""
            if agrees
            else f"No heat map: the model predicts {classes[one]}, but the attention trained for "
            f"it predicts {classes[two]}, so its weights do not explain this decision."
        )


def _agrees(one: Probabilities, other: Probabilities) -> Bool[ndarray, " documents"]:
    return np.asarray(one.argmax(axis=1) == other.argmax(axis=1))
