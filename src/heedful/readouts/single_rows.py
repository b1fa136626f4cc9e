"""Readouts that take rows as they are: the last layer's, all layers', one head's."""

from dataclasses import dataclass

import torch

from heedful.config import at_least
from heedful.errors import ConfigError, counted
from heedful.readouts.base import Attended, OfEveryLayer, PositionWeights, Readout, readouts


@readouts.register("last-cls", is_audited=True)
@dataclass(frozen=True)
class LastRow(Readout):
    """The last layer's row that the classifier reads ([CLS]), mean over heads."""

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        return attended.row(attended.weights[-1]).mean(dim=1)

    def layers(self, count: int) -> tuple[int, ...]:
        """The last."""
        return (count - 1,)

    def heads(self, count: int) -> tuple[int, ...]:
        """All."""
        return tuple(range(count))


@readouts.register("mean-layers", is_audited=True)
@dataclass(frozen=True)
class MeanOfLayers(OfEveryLayer):
    """The row that the classifier reads ([CLS]), mean over layers and heads."""

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        rows = [attended.row(layer).mean(dim=1) for layer in attended.weights]
        return torch.stack(rows).mean(dim=0)


@readouts.register("head")
@dataclass(frozen=True)
class OneHead(Readout):
    """The row that the classifier reads ([CLS]) of one head of one layer, counted from 0."""

    layer: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        at_least(0, layer=self.layer, head=self.head)

    def __call__(self, attended: Attended) -> PositionWeights:
        """The weights; see the class."""
        (layer,) = self.layers(len(attended.weights))
        (head,) = self.heads(attended.weights[layer].shape[1])
        return attended.row(attended.weights[layer])[:, head]

    def layers(self, count: int) -> tuple[int, ...]:
        """The one."""
        if self.layer >= count:
            raise ConfigError(
                f"no layer {self.layer}: the model has {counted(count, 'layer')}, numbered from 0."
            )
        return (self.layer,)

    def heads(self, count: int) -> tuple[int, ...]:
        """The one."""
        if self.head >= count:
            raise ConfigError(
                f"no head {self.head}: each layer has {counted(count, 'head')}, numbered from 0."
            )
        return (self.head,)
