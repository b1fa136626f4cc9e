"""What a metric is: a function from arrays to one number per example, and how to read the number.

A metric is written as a plain function under `@metric(...)` and stays one; `metrics[name]` is its
record, with the direction and bounds from which reports draw arrows and axes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from jaxtyping import Float
from numpy import ndarray

from heedful.registry import Registry

Better = Literal["higher", "lower", "neither"]
Compute = TypeVar("Compute", bound=Callable[..., Float[ndarray, " examples"]])


@dataclass(frozen=True)
class Metric:
    """One number per example, and how to read it. NaN: the example cannot be asked."""

    name: str
    compute: Callable[..., Float[ndarray, " examples"]]
    better: Better  # "neither" describes without judging
    bounds: tuple[float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.compute.__doc__)


metrics: Registry[Metric] = Registry("metric")


def metric(
    name: str, *, better: Better, bounds: tuple[float, float]
) -> Callable[[Compute], Compute]:
    """Decorator: enter a function among the metrics and hand it back unchanged."""

    def enter(compute: Compute) -> Compute:
        metrics.register(name)(Metric(name, compute, better, bounds))
        return compute

    return enter
