"""What a readout is: what layers attended to -> one number per position.

Positions are those of the model: word pieces, special tokens and padding. Rows that the classifier
reads are marked in `is_read`: the first position for BERT and its family, the last for decoders,
all of them where states are averaged.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from heedful.registry import AuditedRegistry

Layer = Float[Tensor, "batch heads positions positions"]
Values = Float[Tensor, "batch shared positions size"]  # several heads may share theirs
Squares = Float[Tensor, "heads size size"]
IsPosition = Bool[Tensor, "batch positions"]
PositionWeights = Float[Tensor, "batch positions"]


@dataclass(frozen=True)
class Attended:
    """What the layers of a model attended to in one forward pass, first layer first."""

    weights: Sequence[Layer]
    is_read: IsPosition  # rows whose state the classifier reads
    values: Sequence[Values] = ()  # what is attended to; none where the model does not show them
    gradients: Sequence[Layer] = ()  # of the predicted class's logit by the weights
    squares: Sequence[
        Squares
    ] = ()  # W'W of each head's part W of a layer's output matrix, if known

    def row(self, matrix: Layer) -> Float[Tensor, "batch heads positions"]:
        """The row that the classifier reads; the mean where it reads several."""
        rows = self.is_read.to(matrix.dtype)
        rows = rows / rows.sum(dim=1, keepdim=True).clamp(min=1)
        return (rows[:, None, :, None] * matrix).sum(dim=2)


class Readout(ABC):
    """One way to read attention. Other weights are imposed on the layers and heads it looks at."""

    needs_values: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False
    follows_layers: ClassVar[bool] = False  # needs a layer to attend to the layer before it

    @abstractmethod
    def __call__(self, attended: Attended) -> PositionWeights:
        """A number of at least 0 for each position."""

    @abstractmethod
    def layers(self, count: int) -> tuple[int, ...]:
        """Which of a model's layers it looks at."""

    @abstractmethod
    def heads(self, count: int) -> tuple[int, ...]:
        """Which of a layer's heads it looks at."""


class OfEveryLayer(Readout):
    """A readout that looks at all heads of all layers."""

    def layers(self, count: int) -> tuple[int, ...]:
        """All."""
        return tuple(range(count))

    def heads(self, count: int) -> tuple[int, ...]:
        """All."""
        return tuple(range(count))


# Whoever adds a reading to those that are audited by default widens the intervals of all others.
readouts: AuditedRegistry[Readout] = AuditedRegistry("readout")
