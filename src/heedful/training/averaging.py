"""Weights averaged over the last steps of a training: steadier than those of any single step."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """An exponential average of what learns, over about `steps` steps.

    average <- average + (now - average) / min(number of steps so far, steps)

    So the first `steps` steps count equally, and later ones push out earlier ones.
    """

    def __init__(self, modules: nn.Module, steps: float) -> None:
        self.parameters = {n: p for n, p in modules.named_parameters() if p.requires_grad}
        self.steps = max(1.0, steps)
        self.taken = 0
        self.average = {name: p.detach().clone() for name, p in self.parameters.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Take the present weights in; call it after each step."""
        self.taken += 1
        now = [parameter.detach() for parameter in self.parameters.values()]
        torch._foreach_lerp_(list(self.average.values()), now, 1 / min(self.taken, self.steps))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The modules have the average as their weights while this is open."""
        now = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._set(self.average)
        try:
            yield
        finally:
            self._set(now)

    def adopt(self) -> None:
        """The average becomes the weights."""
        self._set(self.average)

    def restore(self, average: Mapping[str, Tensor], taken: int) -> None:
        """Continue from a saved average."""
        self.average = {name: average[name].to(p) for name, p in self.parameters.items()}
        self.taken = taken

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, parameter in self.parameters.items():
            parameter.copy_(values[name])
