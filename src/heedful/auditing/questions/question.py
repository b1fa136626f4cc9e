"""What a question of an audit is: columns per document, then tests over all of them.

`measure` sees a few documents at a time and gives one number per document and column, so that an
audit can stream. `conclude` sees the columns of all documents and gives the question's tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.registry import Better
from heedful.auditing.rules import Judgement, judge
from heedful.auditing.subject import OpenSubject, Reading
from heedful.auditing.summary import BootstrapSettings, Score, score
from heedful.config import at_least
from heedful.counterfactual.adversarial import Adversarial
from heedful.registry import Registry

Column = Float[ndarray, " documents"]
Columns = Mapping[str, Column]


@dataclass(frozen=True)
class AuditSettings:
    """Numbers that carry a claim: they are saved with the audit."""

    permutations: int = 100
    random_draws: int = 20
    fractions: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.5)  # of words, as in ERASER
    epsilon: float = 0.05  # how far an adversary may move the prediction
    search: Adversarial = field(default_factory=Adversarial)
    bootstrap: BootstrapSettings = field(default_factory=BootstrapSettings)
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(100, permutations=self.permutations)
        at_least(20, random_draws=self.random_draws)


@dataclass(frozen=True)
class Chunk:
    """Some documents under audit: how the subject reads them, and what is known about them."""

    reading: Reading
    labels: Int[ndarray, " documents"]  # class numbers; -1 where there is none
    is_marked: Bool[ndarray, "documents words"]  # words that people marked
    has_marks: Bool[ndarray, " documents"]  # whether anybody was asked to mark


@dataclass(frozen=True)
class TestResult:
    """One test of a question, between its controls."""

    __test__ = False  # pytest: not a test case

    question: str
    name: str
    better: Better
    score: Score
    judgement: Judgement
    note: str = ""


class Question(ABC):
    """A question that an audit asks of a model's attention."""

    name: ClassVar[str]
    place: ClassVar[int]  # among the ten
    asks: ClassVar[str]

    @abstractmethod
    def measure(
        self, subject: OpenSubject, chunk: Chunk, settings: AuditSettings, rng: np.random.Generator
    ) -> dict[str, Column]:
        """One number per document for each column of this question."""

    @abstractmethod
    def conclude(
        self, columns: Columns, settings: AuditSettings, rng: np.random.Generator
    ) -> list[TestResult]:
        """The question's tests over all documents."""

    def result(
        self,
        name: str,
        better: Better,
        controls: tuple[Column, Column | float, Column | float],
        settings: AuditSettings,
        rng: np.random.Generator,
        *,
        note: str = "",
        cannot_move: bool = False,
    ) -> TestResult:
        """A test from its value, floor and ceiling per document."""
        found = score(*controls, rng, settings.bootstrap)
        judgement = judge(name, found, better, cannot_move=cannot_move)
        return TestResult(self.name, name, better, found, judgement, note)


questions: Registry[Question] = Registry("question")


def cross_fitted_best(
    columns: Columns, candidates: Mapping[str, str], better: Better, rng: np.random.Generator
) -> tuple[Column, dict[str, int]]:
    """The best available control without choosing on the documents it is read on.

    Documents are split in two. Each half takes the candidate (measure -> column) that does best on
    the other half. Also how many halves chose each measure.
    """
    names = list(candidates)
    values = np.stack([columns[candidates[name]] for name in names])
    half = rng.permutation(values.shape[1]) % 2
    ceiling = np.empty(values.shape[1])
    chosen: dict[str, int] = {}
    for side in (0, 1):
        others = values[:, half != side]
        asked = ~np.isnan(others)
        means = np.nansum(others, axis=1) / np.maximum(asked.sum(axis=1), 1)
        best = int(means.argmin() if better == "lower" else means.argmax())
        ceiling[half == side] = values[best, half == side]
        chosen[names[best]] = chosen.get(names[best], 0) + 1
    return ceiling, chosen
