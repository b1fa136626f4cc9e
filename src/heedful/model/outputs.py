"""The last step: context to logits.

A member of `outputs` is a settings object; `build(context_size, classes, has_bias)` gives the
module.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import size
from heedful.registry import Registry

Context = Float[Tensor, "batch hidden"]
Logits = Float[Tensor, "batch classes"]
Code = Float[Tensor, "batch code"]
SMALLEST_SPREAD = 1e-4


class OutputSettings(ABC):
    """Settings of an output; `build` makes the module."""

    @abstractmethod
    def build(self, context_size: int, classes: int, has_bias: bool) -> nn.Module:
        """A module: context -> one logit per class."""


outputs: Registry[OutputSettings] = Registry("output")


@outputs.register("linear")
@dataclass(frozen=True)
class Linear(OutputSettings):
    """One linear map, as in all papers but Zhou et al."""

    def build(self, context_size: int, classes: int, has_bias: bool) -> nn.Module:
        """The module."""
        return Output(context_size, classes, has_bias)


@outputs.register("mlp")
@dataclass(frozen=True)
class MLP(OutputSettings):
    """One hidden layer (ReLU), as the head of Zhou et al.'s learner."""

    width: int = 100  # of the hidden layer

    def __post_init__(self) -> None:
        size(width=self.width)

    def build(self, context_size: int, classes: int, has_bias: bool) -> nn.Module:
        """The module."""
        return _perceptron(context_size, self.width, classes, has_bias)


@outputs.register("bottleneck")
@dataclass(frozen=True)
class Bottleneck(OutputSettings):
    """Zhou et al.'s two heads: one on the context, one on a noisy code of it."""

    width: int = 100  # of the hidden layer of each of its parts
    code_size: int = 100

    def __post_init__(self) -> None:
        size(width=self.width, code_size=self.code_size)

    def build(self, context_size: int, classes: int, has_bias: bool) -> nn.Module:
        """The module."""
        return BottleneckOutput(context_size, classes, self.width, self.code_size)


class Output(nn.Module):
    """Context to logits, linear.

    With two classes there is one vector W, as in the papers: the logits are -s/2 and s/2 with
    s = W · context, so that softmax over them is the sigmoid of s and neither class is special.
    """

    def __init__(self, context_size: int, classes: int, has_bias: bool) -> None:
        super().__init__()
        self.is_binary = classes == 2
        self.linear = nn.Linear(context_size, 1 if self.is_binary else classes, bias=has_bias)

    def forward(self, context: Context) -> Logits:
        """One logit per class."""
        return self.logits(self.linear(context))

    def logits(self, scores: Float[Tensor, "*rows scores"]) -> Float[Tensor, "*rows classes"]:
        """Logits from what the linear map gives: one number for two classes, else one per class."""
        return torch.cat([-scores, scores], dim=-1) / 2 if self.is_binary else scores


class BottleneckOutput(nn.Module):
    """A Gaussian code of the context, N(mean, spread²), and a head that reads it.

    forward reads the code's mean. `learner` is the other head, which reads the context itself.
    """

    def __init__(self, context_size: int, classes: int, width: int, code_size: int) -> None:
        super().__init__()
        self.learner = _perceptron(context_size, width, classes)
        self.mean = _perceptron(context_size, width, code_size)
        self.spread = _perceptron(context_size, width, code_size)
        self.decoder = _perceptron(code_size, width, classes)

    @property
    def compressor_parts(self) -> list[nn.Module]:
        """All but the learner's head."""
        return [self.mean, self.spread, self.decoder]

    def forward(self, context: Context) -> Logits:
        """One logit per class, read off the mean code."""
        return self.decoder(self.mean(context))

    def encode(self, context: Context) -> tuple[Code, Code]:
        """Mean and spread of the code."""
        spread = nn.functional.softplus(self.spread(context)) + SMALLEST_SPREAD
        return self.mean(context), spread


def divergence_from_standard(mean: Code, spread: Code) -> Float[Tensor, " batch"]:
    """KL of N(mean, spread²) from N(0, 1), in nats: sum of (m² + s² - log s² - 1) / 2."""
    variance = spread.square()
    return (mean.square() + variance - variance.log() - 1).sum(dim=-1) / 2


def _perceptron(inputs: int, width: int, outputs: int, has_bias: bool = True) -> nn.Module:
    last = nn.Linear(width, outputs, bias=has_bias)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), last)
