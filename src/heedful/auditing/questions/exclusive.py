"""Could a very different attention have led to the same prediction?"""

from dataclasses import dataclass

import numpy as np

from heedful.auditing.metrics.divergence import js_divergence, max_js_divergence
from heedful.auditing.questions.question import (
    AuditSettings,
    Chunk,
    Column,
    Columns,
    Question,
    TestResult,
    questions,
)
from heedful.auditing.subject import OpenSubject


@questions.register("exclusive")
@dataclass(frozen=True)
class Exclusive(Question):
    """Adversarial weights on the fixed model (Jain & Wallace): the largest JSD within epsilon."""

    name = "exclusive"
    place = 2
    asks = "Could a very different attention have led to the same prediction?"

    def measure(
        self, subject: OpenSubject, chunk: Chunk, settings: AuditSettings, rng: np.random.Generator
    ) -> dict[str, Column]:
        """The largest divergence found with the same prediction, and the largest there is."""
        reading = chunk.reading
        seed = int(rng.integers(2**31))
        found = subject.otherwise(reading, settings.search, seed)
        moved = reading.moved(subject.decide(reading, found))
        distance = np.stack(
            [js_divergence(found[:, k], reading.weights) for k in range(found.shape[1])], axis=1
        )
        # The attention itself is always within epsilon, at distance 0.
        allowed = np.where(moved <= settings.epsilon, distance, 0.0)
        return {
            "epsilon_max_jsd": allowed.max(axis=1),
            "max_jsd": max_js_divergence(reading.weights, reading.is_token),
        }

    def conclude(
        self, columns: Columns, settings: AuditSettings, rng: np.random.Generator
    ) -> list[TestResult]:
        """Between the farthest attention there is and none: lower is better."""
        controls = (columns["epsilon_max_jsd"], columns["max_jsd"], 0.0)
        return [self.result("epsilon-max JSD", "lower", controls, settings, rng)]
