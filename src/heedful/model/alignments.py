"""Keys to scores: how much each state asks for attention, before it becomes a weight.

A member of `alignments` is a settings object; `build(key_size, query_size)` gives the module. With
`query_size=None` the query is learned and the same for every text; otherwise it is given per text.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.config import above, size
from heedful.registry import Registry

Keys = Float[Tensor, "batch tokens keys"]
Query = Float[Tensor, "batch query"]
TokenScores = Float[Tensor, "batch tokens"]


class Alignment(ABC):
    """Settings of an alignment; `build` makes the module that scores keys."""

    @abstractmethod
    def build(self, key_size: int, query_size: int | None = None) -> nn.Module:
        """A module: (keys, query or None) -> one score per token."""


alignments: Registry[Alignment] = Registry("alignment")


@alignments.register("additive")
@dataclass(frozen=True)
class Additive(Alignment):
    """A small network scores each state: v · tanh(W key + U query) / scale."""

    width: int | None = None  # None: half the key size
    scale: float = 1.0
    spread: float | None = None  # v starts as N(0, spread²); None: within ±1/√width

    def __post_init__(self) -> None:
        size(width=self.width)
        above(0, scale=self.scale, spread=self.spread)

    def build(self, key_size: int, query_size: int | None = None) -> nn.Module:
        """The module."""
        width = self.width or max(1, key_size // 2)
        return AdditiveScores(key_size, query_size, width, self.scale, self.spread)


@alignments.register("dot")
@dataclass(frozen=True)
class Dot(Alignment):
    """Scaled dot product with a query: key · query / scale."""

    scale: float | None = None  # None: the square root of the key size
    start: float | None = None  # a learned query starts from U(-start, start); None: N(0, 1)

    def __post_init__(self) -> None:
        above(0, scale=self.scale, start=self.start)

    def build(self, key_size: int, query_size: int | None = None) -> nn.Module:
        """The module."""
        return DotScores(key_size, query_size, self.scale or math.sqrt(key_size), self.start)


class KeyScores(nn.Module, ABC):
    """A module that scores keys: first a linear map of the key, then anything.

    For a learned query the two stages are public: what they make of a sum of two vectors needs the
    first stage of each only once, however the vectors are paired.
    """

    @abstractmethod
    def forward(self, keys: Keys, query: Query | None = None) -> TokenScores:
        """One score per token."""

    @abstractmethod
    def first_stage(self) -> tuple[Float[Tensor, "inner keys"], Float[Tensor, " inner"]]:
        """Weight and bias of the linear map."""

    @abstractmethod
    def second_stage(self, inner: Float[Tensor, "*rows inner"]) -> Float[Tensor, "*rows"]:
        """Scores from what the linear map gives."""


class AdditiveScores(KeyScores):
    """v · tanh(W key + b + U query) / scale; `v` has no bias."""

    def __init__(
        self,
        key_size: int,
        query_size: int | None,
        width: int,
        scale: float,
        spread: float | None = None,
    ) -> None:
        super().__init__()
        self.scale = scale
        self.inner = nn.Linear(key_size, width)
        self.query = nn.Linear(query_size, width, bias=False) if query_size else None
        self.outer = nn.Linear(width, 1, bias=False)
        if spread is not None:
            nn.init.normal_(self.outer.weight, std=spread)

    def forward(self, keys: Keys, query: Query | None = None) -> TokenScores:
        """One score per token."""
        inner = self.inner(keys)
        if self.query is not None:
            inner = inner + self.query(query).unsqueeze(1)
        return self.second_stage(inner)

    def first_stage(self) -> tuple[Float[Tensor, "inner keys"], Float[Tensor, " inner"]]:
        """W and b."""
        return self.inner.weight, self.inner.bias

    def second_stage(self, inner: Float[Tensor, "*rows inner"]) -> Float[Tensor, "*rows"]:
        """v · tanh(inner) / scale."""
        return self.outer(torch.tanh(inner)).squeeze(-1) / self.scale


class DotScores(KeyScores):
    """key · query / scale; a learned query starts as N(0, 1), unless it is told otherwise."""

    def __init__(
        self, key_size: int, query_size: int | None, scale: float, start: float | None = None
    ) -> None:
        super().__init__()
        self.scale = scale
        self.query: nn.Module = (
            LearnedQuery(key_size, start)
            if query_size is None
            else nn.Linear(query_size, key_size, bias=False)
        )

    def forward(self, keys: Keys, query: Query | None = None) -> TokenScores:
        """One score per token."""
        return (keys @ self.query(query).unsqueeze(-1)).squeeze(-1) / self.scale

    def first_stage(self) -> tuple[Float[Tensor, "inner keys"], Float[Tensor, " inner"]]:
        """The learned query, scaled, and a bias of 0."""
        query = self.query(None) / self.scale
        return query, query.new_zeros(1)

    def second_stage(self, inner: Float[Tensor, "*rows inner"]) -> Float[Tensor, "*rows"]:
        """Nothing is left to do."""
        return inner.squeeze(-1)


class LearnedQuery(nn.Module):
    """One query for every text (Sun & Lu's V)."""

    def __init__(self, key_size: int, start: float | None = None) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.randn(key_size))
        if start is not None:
            nn.init.uniform_(self.vector, -start, start)

    def forward(self, query: None) -> Float[Tensor, "1 keys"]:
        """The same vector, whatever the text."""
        return self.vector.unsqueeze(0)
