"""Does attention point where people point?"""

from dataclasses import dataclass

import numpy as np

from heedful.auditing.metrics.plausibility import auprc
from heedful.auditing.questions.question import (
    AuditSettings,
    Chunk,
    Column,
    Columns,
    Question,
    TestResult,
    cross_fitted_best,
    questions,
)
from heedful.auditing.questions.telling import BEST_OF
from heedful.auditing.subject import OpenSubject


@questions.register("plausible")
@dataclass(frozen=True)
class Plausible(Question):
    """Area under the precision-recall curve of words that people marked (ERASER)."""

    name = "plausible"
    place = 10
    asks = "Does it point where people point?"

    def measure(
        self, subject: OpenSubject, chunk: Chunk, settings: AuditSettings, rng: np.random.Generator
    ) -> dict[str, Column]:
        """The area for attention, each candidate of the ceiling, and random rankings."""
        reading, marked = chunk.reading, chunk.is_marked

        def area(ranking: np.ndarray) -> Column:
            return np.where(chunk.has_marks, auprc(ranking, marked, reading.is_token), np.nan)

        draws = rng.random((settings.random_draws, *reading.weights.shape))
        return {
            "auprc_attention": area(reading.weights),
            "auprc_random": np.mean([area(draw) for draw in draws], axis=0),
        } | {f"auprc_{m}": area(subject.importance(reading, m)) for m in BEST_OF}

    def conclude(
        self, columns: Columns, settings: AuditSettings, rng: np.random.Generator
    ) -> list[TestResult]:
        """Between random rankings and the best measure."""
        if np.isnan(columns["auprc_attention"]).all():
            return []
        best, chosen = cross_fitted_best(columns, {m: f"auprc_{m}" for m in BEST_OF}, "higher", rng)
        controls = (columns["auprc_attention"], columns["auprc_random"], best)
        note = f"best measure: {' or '.join(chosen)}"
        return [self.result("auprc", "higher", controls, settings, rng, note=note)]
