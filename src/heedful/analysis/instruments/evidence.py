"""Where attention stands relative to words that are known to matter.

Documents whose evidence is marked -> a few numbers per document -> means. What a model with a known
answer is recognised by.
"""

from dataclasses import dataclass

import numpy as np

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import Result, with_interval
from heedful.auditing.bootstrap import estimate, score
from heedful.auditing.metrics.divergence import normalised_entropy
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.config import at_least
from heedful.errors import DataError
from heedful.text.documents import Documents, words_in_spans
from heedful.training.trained import Trained

DOCUMENTS_AT_ONCE = 64


@analyses.register("evidence")
@dataclass(frozen=True)
class Evidence(OfRun):
    """Attention on marked words and its effect there, on the dev part.

    evidence_mass     attention on the marked words; even_share: what even weights would put there
    accuracy          on these documents
    own_influence     share of a state's influence that comes from its own word, between 1/n and 1
    moved             how far permuted weights move the prediction, of what losing all states does
    entropy           of the weights; 1: even
    """

    name = "evidence"
    asks = "Is attention on the marked words, and does its position matter?"
    part = "dev"

    permutations: int = 20
    documents: int = 300  # at most, the first ones
    influence_documents: int = 50

    def __post_init__(self) -> None:
        at_least(
            1,
            permutations=self.permutations,
            documents=self.documents,
            influence_documents=self.influence_documents,
        )

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Every number per document, and their means."""
        needs_attention(trained, self.name)
        marked = [i for i, d in enumerate(documents) if d.rationale][: self.documents]
        if not marked:
            raise DataError(
                "evidence needs documents with marked evidence, and none has it. Give documents "
                "with a column of rationales, or a planted corpus."
            )
        chosen = documents.take(marked)
        rng = np.random.default_rng(seed)
        starts = range(0, len(chosen), DOCUMENTS_AT_ONCE)
        groups = [
            self._measure(
                trained,
                chosen.take(range(start, min(start + DOCUMENTS_AT_ONCE, len(chosen)))),
                rng,
                max(0, self.influence_documents - start),
            )
            for start in starts
        ]
        columns = {name: np.concatenate([group[name] for group in groups]) for name in groups[0]}
        row: dict[str, float] = {"documents": len(chosen)}
        for name in ("evidence_mass", "even_share", "accuracy", "entropy"):
            row |= with_interval(name, estimate(columns[name], rng))
        moved = score(columns["permuted_tvd"], 0.0, columns["no_evidence_tvd"], rng)
        own = score(columns["own_influence"], columns["even_influence"], 1.0, rng)
        for name, found in (("moved", moved), ("own_influence", own)):
            low, high = found.interval
            row |= {name: found.score, f"{name}_low": low, f"{name}_high": high}
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=({k: v for k, v in row.items() if not k.endswith(("_low", "_high"))},),
            tables={"evidence": (row,)},
            rows={"text": chosen.texts, **{name: c.tolist() for name, c in columns.items()}},
            about={"documents_read": len(chosen)},
            figures=self.figures,
        )

    def _measure(
        self, trained: Trained, documents: Documents, rng: np.random.Generator, influenced: int
    ) -> dict[str, np.ndarray]:
        """Numbers of some documents."""
        subject = ClassifierSubject(trained)
        reading = subject.read(documents.texts)
        is_marked = np.zeros_like(reading.is_token)
        for row, (offsets, document) in enumerate(zip(reading.offsets, documents, strict=True)):
            is_marked[row, : len(offsets)] = words_in_spans(offsets, document.rationale or ())
        names = [str(name) for name in trained.classes]
        right = [names[p] == d.label for p, d in zip(reading.prediction, documents, strict=True)]
        permuted = subject.decide(reading, reading.permuted(self.permutations, rng))
        nothing = subject.without_evidence(reading)[:, None]
        own = np.full(len(right), np.nan)
        if influenced:
            few = subject.read(documents.texts[:influenced])
            at_word = np.diagonal(subject.influence(few), axis1=1, axis2=2) * few.is_token
            own[:influenced] = at_word.sum(axis=1) / few.is_token.sum(axis=1)
        return {
            "evidence_mass": (reading.weights * is_marked).sum(axis=1),
            "even_share": (reading.even * is_marked).sum(axis=1),
            "accuracy": np.array(right, dtype=np.float64),
            "entropy": normalised_entropy(reading.weights, reading.is_token),
            "permuted_tvd": np.median(reading.moved(permuted), axis=1),
            "no_evidence_tvd": reading.moved(nothing)[:, 0],
            "own_influence": own,
            "even_influence": np.where(np.isnan(own), np.nan, 1 / reading.is_token.sum(axis=1)),
        }
