"""A model like another one that has learnt nothing: the same parts, their numbers shuffled.

What is shown of a model should not be the same for a model that knows nothing (Adebayo et al.,
arXiv:1810.03292). Shuffled numbers keep their sizes, so no architecture has to be built again.
"""

from copy import deepcopy
from typing import TypeVar

import torch
from torch import nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def randomised(model: AnyModule, seed: int = 0) -> AnyModule:
    """A copy, the numbers of each parameter in another order; the model is left as it was."""
    other = deepcopy(model)
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for numbers in other.parameters():
            order = torch.randperm(numbers.numel(), generator=rng).to(numbers.device)
            numbers.copy_(numbers.flatten()[order].view_as(numbers))
    return other
