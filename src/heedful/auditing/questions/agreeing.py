"""Does attention rank words as measured importance does?"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heedful.auditing.metrics.ranking import kendall_tau, pearson, top_overlap, weighted_tau
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

MEASURES = ("gradient-x-input-held", "leave-one-out")  # Jain & Wallace's two
Agreement = Callable[[np.ndarray, np.ndarray, np.ndarray], Column]
AGREEMENTS: dict[str, Agreement] = {
    "kendall_tau": kendall_tau,  # as published
    "weighted_tau": weighted_tau,  # the long tail of words that do not matter drowns the plain one
    "pearson": pearson,
    "top_overlap": top_overlap,
}


@questions.register("agreeing")
@dataclass(frozen=True)
class Agreeing(Question):
    """Rank agreement of attention with the absolute importance; attention has no sign."""

    name = "agreeing"
    place = 3
    asks = "Does it rank words as measured importance does?"

    def measure(
        self, subject: OpenSubject, chunk: Chunk, settings: AuditSettings, rng: np.random.Generator
    ) -> dict[str, Column]:
        """Agreement with each measure, of attention, of random weights, of the other measure."""
        reading = chunk.reading
        importance = {m: np.abs(subject.importance(reading, m)) for m in MEASURES}
        noise = rng.random(reading.weights.shape)
        columns = {}
        for name, agree in AGREEMENTS.items():
            for measure, scores in importance.items():
                columns[f"{name}_{measure}"] = agree(reading.weights, scores, reading.is_token)
                columns[f"{name}_{measure}_random"] = agree(noise, scores, reading.is_token)
            one, other = importance.values()
            columns[f"{name}_between"] = agree(one, other, reading.is_token)
        return columns

    def conclude(
        self, columns: Columns, settings: AuditSettings, rng: np.random.Generator
    ) -> list[TestResult]:
        """Each agreement between random weights and the other measure of importance."""
        return [
            self.result(
                f"{name} with {measure}",
                "higher",
                (
                    columns[f"{name}_{measure}"],
                    columns[f"{name}_{measure}_random"],
                    columns[f"{name}_between"],
                ),
                settings,
                rng,
            )
            for measure in MEASURES
            for name in AGREEMENTS
        ]
