"""Weights drawn at random: they know nothing of the text.

Each takes `is_token` and a generator, and gives a point of the simplex per row (zeros where a row
has no token).
"""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.model.projections import softmax

IsToken = Bool[Tensor, "*rows tokens"]
Weights = Float[Tensor, "*rows tokens"]


def softmax_noise(is_token: IsToken, rng: torch.Generator, spread: float) -> Weights:
    """Softmax of N(0, spread²) draws."""
    noise = torch.randn(is_token.shape, generator=rng).to(is_token.device)
    return softmax(spread * noise, is_token)


def random_subset(is_token: IsToken, rng: torch.Generator, kept: int) -> Weights:
    """The same weight for `kept` tokens drawn without replacement; for all, if they are fewer."""
    draws = torch.rand(is_token.shape, generator=rng).to(is_token.device)
    order = draws.masked_fill(~is_token, 2.0).argsort(dim=-1)
    chosen = torch.zeros_like(draws).scatter(-1, order[..., :kept], 1.0) * is_token
    return chosen / chosen.sum(dim=-1, keepdim=True).clamp(min=1)


def dirichlet(is_token: IsToken, rng: torch.Generator, concentration: float) -> Weights:
    """Dirichlet with the same concentration everywhere: the lower, the fewer tokens matter."""
    seed = int(torch.randint(2**62, (), generator=rng))
    drawn = np.random.default_rng(seed).standard_gamma(concentration, tuple(is_token.shape))
    gammas = torch.from_numpy(np.maximum(drawn, 1e-30)).to(is_token.device) * is_token
    total = gammas.sum(dim=-1, keepdim=True)
    return (gammas / total.masked_fill(total == 0, 1.0)).to(torch.get_default_dtype())
