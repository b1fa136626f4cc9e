"""Could a very different attention have led to the same prediction?"""

from dataclasses import dataclass

import numpy as np

from heedful.auditing.metrics.divergence import js_divergence, max_js_divergence
from heedful.auditing.questions.question import (
    Chunk,
    Conclusion,
    Found,
    Measured,
    Question,
    questions,
)
from heedful.auditing.subject import Decides


@questions.register("exclusive")
@dataclass(frozen=True)
class Exclusive(Question):
    """Adversarial weights on the fixed model (Jain & Wallace): the largest JSD within epsilon."""

    name = "exclusive"
    place = 2
    asks = "Could a very different attention have led to the same prediction?"
    needs = Decides

    def measure(self, chunk: Chunk) -> Measured:
        """The largest divergence found with the same prediction, and the largest there is."""
        subject, reading, settings = chunk.subject, chunk.reading, chunk.settings
        assert isinstance(subject, Decides)
        found = subject.otherwise(reading, settings.search, chunk.seed)
        moved = reading.moved(subject.decide(reading, found))
        distance = np.stack(
            [js_divergence(found[:, k], reading.weights) for k in range(found.shape[1])], axis=1
        )
        # The attention itself is always within epsilon, at distance 0.
        allowed = np.where(moved <= settings.epsilon, distance, 0.0)
        return Measured(
            {
                "epsilon_max_jsd": allowed.max(axis=1),
                "max_jsd": max_js_divergence(reading.weights, reading.is_token),
            }
        )

    def conclude(self, found: Found) -> Conclusion:
        """Between the farthest attention there is and none: lower is better."""
        columns, search = found.columns, found.settings.search
        note = (
            f"{search.candidates} candidates, {search.steps} steps; "
            f"epsilon {found.settings.epsilon}"
        )
        test = found.test(
            "epsilon-max JSD", "lower", columns["epsilon_max_jsd"], columns["max_jsd"], 0.0,
            note=note,
        )  # fmt: skip
        return Conclusion((test,))
