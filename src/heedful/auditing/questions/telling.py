"""Take its top words away: does the decision fall? Keep only them: does it stand?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from heedful.auditing.metrics.erasure import (
    accuracy_drop,
    comprehensiveness,
    post_hoc_accuracy_own,
    sufficiency,
)
from heedful.auditing.metrics.registry import metrics
from heedful.auditing.metrics.top import choose_top, top_k
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
from heedful.auditing.subject import OpenSubject, Reading

# What the ceiling is chosen from. Leave-one-out alone fails where two words say the same.
BEST_OF = ("leave-one-out", "gradient-x-input", "contribution")
TESTS = ("comprehensiveness", "sufficiency", "accuracy_drop", "post_hoc_accuracy_own")

Ranking = Float[ndarray, "documents words"]
Masks = Bool[ndarray, "documents steps words"]


@questions.register("telling")
@dataclass(frozen=True)
class Telling(Question):
    """Erasure of top words, re-run through the same model (ERASER, VAT)."""

    name = "telling"
    place = 4
    asks = "Take its top words away: does the decision fall? Keep only them: does it stand?"

    def measure(
        self, subject: OpenSubject, chunk: Chunk, settings: AuditSettings, rng: np.random.Generator
    ) -> dict[str, Column]:
        """Every test for attention, each candidate of the ceiling, and random rankings."""
        reading = chunk.reading
        rankings = {"attention": reading.weights}
        rankings |= {measure: subject.importance(reading, measure) for measure in BEST_OF}
        draws = rng.random((settings.random_draws, *reading.weights.shape))
        # Random rankings put the support first, as attention does.
        rankings |= {f"random {n}": draw + reading.support for n, draw in enumerate(draws)}
        by_ranking = _test_rankings(subject, chunk, rankings, settings)
        columns = {
            f"{test}_{ranking}": by_ranking[ranking][test]
            for ranking in ("attention", *BEST_OF)
            for test in TESTS
        }
        for test in TESTS:
            of_draws = [by_ranking[f"random {n}"][test] for n in range(len(draws))]
            columns[f"{test}_random"] = np.mean(of_draws, axis=0)
        return columns

    def conclude(
        self, columns: Columns, settings: AuditSettings, rng: np.random.Generator
    ) -> list[TestResult]:
        """Each test between random rankings and the best measure."""
        results = []
        for test in TESTS:
            if np.isnan(columns[f"{test}_attention"]).all():
                continue  # accuracy needs labels
            better = metrics[test].better
            candidates = {measure: f"{test}_{measure}" for measure in BEST_OF}
            best, chosen = cross_fitted_best(columns, candidates, better, rng)
            controls = (columns[f"{test}_attention"], columns[f"{test}_random"], best)
            note = f"best measure: {' or '.join(chosen)}"
            results.append(self.result(test, better, controls, settings, rng, note=note))
        return results


def _test_rankings(
    subject: OpenSubject, chunk: Chunk, rankings: dict[str, Ranking], settings: AuditSettings
) -> dict[str, dict[str, Column]]:
    """All tests of all rankings, each different set of words predicted once."""
    reading = chunk.reading
    tops = {name: _tops(reading, ranking, settings.fractions) for name, ranking in rankings.items()}
    erased = [reading.is_token[:, None] & ~top for top in tops.values()]
    probabilities = _predict_sets(subject, reading, [*erased, *tops.values()])
    documents = np.arange(len(reading.prediction))
    probability = reading.probabilities[documents, reading.prediction]
    results = {}
    for number, name in enumerate(rankings):
        without, only = probabilities[number], probabilities[number + len(rankings)]
        of_prediction = [p[documents, :, reading.prediction] for p in (without, only)]
        drop = accuracy_drop(chunk.labels, reading.prediction, without.argmax(axis=-1))
        results[name] = {
            "comprehensiveness": comprehensiveness(probability, of_prediction[0]),
            "sufficiency": sufficiency(probability, of_prediction[1]),
            "accuracy_drop": np.where(chunk.labels >= 0, drop, np.nan),
            "post_hoc_accuracy_own": post_hoc_accuracy_own(
                reading.prediction, only.argmax(axis=-1)
            ),
        }
    return results


def _tops(reading: Reading, ranking: Ranking, fractions: tuple[float, ...]) -> Masks:
    """The top words of each document at each fraction."""
    lengths = reading.is_token.sum(axis=1)
    return np.stack(
        [choose_top(ranking, reading.is_token, top_k(part, lengths)) for part in fractions], axis=1
    )


def _predict_sets(
    subject: OpenSubject, reading: Reading, sets: list[Masks]
) -> list[Float[ndarray, "documents steps classes"]]:
    """Probabilities for every set of words; sets that come up again are predicted once."""
    stacked = np.concatenate(sets, axis=1)
    count, steps, words = stacked.shape
    document = np.repeat(np.arange(count), steps)
    flat = stacked.reshape(-1, words)
    keys = np.concatenate([document[:, None].view(np.uint8).reshape(len(flat), -1),
                           np.packbits(flat, axis=1)], axis=1)  # fmt: skip
    as_bytes = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    unique = subject.predict_kept(reading, document[first], flat[first])
    probabilities = unique[inverse].reshape(count, steps, -1)
    edges = np.cumsum([part.shape[1] for part in sets])[:-1]
    return np.split(probabilities, edges, axis=1)
