"""Questions that need models trained anew: listed as not asked until they can be."""

from dataclasses import dataclass

from heedful.auditing.questions.question import (
    Chunk,
    Conclusion,
    Found,
    Measured,
    Question,
    questions,
)
from heedful.auditing.subject import Subject


class NeedsTraining(Question):
    """A question that the trained model alone cannot answer."""

    def why_not(self, subject: Subject) -> str:
        """It takes more than the one model."""
        return "it takes models trained anew, which this version does not do"

    def measure(self, chunk: Chunk) -> Measured:
        """Nothing."""
        return Measured({})

    def conclude(self, found: Found) -> Conclusion:
        """Nothing."""
        return Conclusion()


@questions.register("needed")
@dataclass(frozen=True)
class Needed(NeedsTraining):
    """Accuracy beside that of a twin trained with uniform weights (Wiegreffe & Pinter)."""

    name = "needed"
    place = 8
    asks = "Does the model use attention at all on this task?"


@questions.register("stable")
@dataclass(frozen=True)
class Stable(NeedsTraining):
    """Divergence between the attention of different seeds (Wiegreffe & Pinter)."""

    name = "stable"
    place = 9
    asks = "Would another seed have told another story?"
