"""A subject that shows other weights beside the decisions of another."""

from collections.abc import Sequence

from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.subjects.base import (
    Attentions,
    Decides,
    Judge,
    Probabilities,
    Reading,
    Subject,
    Words,
)
from heedful.auditing.subjects.variants import KeptWords, OfVariants, Sources
from heedful.counterfactual import Counterfactual
from heedful.importance.base import Importance


class Beside(Subject):
    """All but the weights are the other subject's; `read` says which weights are shown."""

    def __init__(self, behind: Subject) -> None:
        self.behind = behind
        self.classes = behind.classes
        self.smallest = behind.smallest  # type: ignore[misc]
        self.architecture = behind.architecture  # type: ignore[misc]

    @property
    def measures(self) -> tuple[str, ...]:
        """As the other subject."""
        return self.behind.measures

    @property
    def replacement(self) -> str:
        """As the other subject."""
        return self.behind.replacement

    @property
    def masking(self) -> Judge | None:
        """As the other subject."""
        return self.behind.masking

    @property
    def reads_side_by_side(self) -> bool:
        """As the other subject."""
        return self.behind.reads_side_by_side

    def read(self, texts: Sequence[str]) -> Reading:
        """The other subject's words and decisions."""
        return self.behind.read(texts)

    def judged(self, reading: Reading) -> Probabilities:
        """As the other subject."""
        return self.behind.judged(reading)

    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """As the other subject."""
        return self.behind.predict_kept(reading, document, is_kept)

    def predict_texts(self, texts: Sequence[str]) -> Probabilities:
        """As the other subject."""
        return self.behind.predict_texts(texts)

    def without_each(self, reading: Reading) -> Float[ndarray, "documents words classes"]:
        """As the other subject."""
        return self.behind.without_each(reading)

    def expected_sum(self, reading: Reading, measure: str) -> Float[ndarray, " documents"]:
        """As the other subject."""
        return self.behind.expected_sum(reading, measure)

    def measure(self, name: str) -> Importance:
        """As the other subject."""
        return self.behind.measure(name)

    def importance(
        self, reading: Reading, measure: str, target: Int[ndarray, " documents"] | None = None
    ) -> Words:
        """As the other subject, which takes for its attention what is shown."""
        return self.behind.importance(reading, measure, target)


class BesideDecides(Beside, Decides):
    """The same beside a subject that can decide with other weights."""

    behind: Decides

    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """As the other subject."""
        return self.behind.decide(reading, attentions)

    def without_evidence(self, reading: Reading) -> Probabilities:
        """As the other subject."""
        return self.behind.without_evidence(reading)

    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """As the other subject."""
        return self.behind.otherwise(reading, counterfactual, seed)
