"""How much the state at a word still tells of the word (Tutek & Šnajder 2020)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.analysis.instruments.base import OfRun, analyses, needs_attention
from heedful.analysis.result import FigureSpec, Result, with_interval
from heedful.auditing.bootstrap import estimate
from heedful.auditing.metrics.corpus import information_terms
from heedful.auditing.metrics.divergence import normalised_entropy
from heedful.auditing.metrics.information import SHUFFLED, clustered
from heedful.auditing.metrics.states import conicity
from heedful.auditing.subjects.base import Reading
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.config import at_least
from heedful.errors import DataError
from heedful.text.documents import Documents
from heedful.training.trained import Trained

DOCUMENTS_AT_ONCE = 64
SPOKEN = {
    "embedded": "embeddings",
    "hidden": "states",
    "untrained": "states, untrained encoder",
    SHUFFLED: "states, shuffled in their document",
}


@dataclass(frozen=True)
class Read:
    """Words of many documents with the state at each, and numbers of the documents."""

    words: Int[ndarray, " words"]
    document: Int[ndarray, " words"]
    states: dict[str, Float[ndarray, "words size"]]
    conicity: Float[ndarray, " documents"]
    entropy: Float[ndarray, " documents"]


@analyses.register("information")
@dataclass(frozen=True)
class Information(OfRun):
    """Mutual information of word and state with its controls; conicity, entropy (Tutek & Šnajder).

    I(word; cluster of its state) over the most frequent words, states clustered by k-means; and its
    share of the words' entropy. Embeddings are the most that can be had, shuffled states the least.
    """

    name = "information"
    asks = "How much information about the word is in the state at the word?"
    figures = (FigureSpec("information", "information"),)

    frequent_words: int = 1000  # whose information is taken
    clusters: int = 1000  # at most; and at least 20 states to a cluster
    state_words: int = 40_000  # about so many words are looked at
    miller_madow: bool = False  # take off what chance is expected to add

    def __post_init__(self) -> None:
        at_least(2, frequent_words=self.frequent_words, clusters=self.clusters)
        at_least(1, state_words=self.state_words)

    def analyse(self, trained: Trained, documents: Documents, seed: int) -> Result:
        """Both informations per kind of state; conicity of the states, entropy of the weights."""
        needs_attention(trained, self.name)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(documents))
        read = self._read(ClassifierSubject(trained), documents.take(order.tolist()))
        found = clustered(
            read.words,
            read.document,
            read.states,
            frequent_words=self.frequent_words,
            clusters=self.clusters,
            seed=seed,
            rng=rng,
        )
        if found is None:
            raise DataError(
                f"information needs more words than {len(read.words):,}: at least 40 occurrences "
                "of known words, for two clusters of 20. Give more documents."
            )
        words, document, labellings = found
        count = len(read.conicity)
        in_sample = np.bincount(document, minlength=count) > 0
        summary: list[dict[str, Any]] = []
        for kind, cluster in sorted(
            labellings.items(), key=lambda item: list(SPOKEN).index(item[0])
        ):
            row: dict[str, Any] = {"of": SPOKEN[kind]}
            for name, in_nats in (("information", True), ("share_of_entropy", False)):
                terms = information_terms(
                    words, cluster, document, count, in_nats=in_nats, miller_madow=self.miller_madow
                )
                row |= with_interval(name, estimate(terms[in_sample], rng))
            summary.append(row | {"clusters": len(np.unique(cluster))})
        beside = tuple(
            {"of": name} | with_interval("mean", estimate(values, rng))
            for name, values in (
                ("conicity of the states", read.conicity),
                ("normalised entropy of the weights", read.entropy),
            )
        )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=tuple(summary),
            tables={"information": tuple(summary), "beside": beside},
            rows={"conicity": read.conicity.tolist(), "weight_entropy": read.entropy.tolist()},
            notes=(
                f"{len(words):,} occurrences of {len(np.unique(words)):,} words in {count:,} "
                "documents; information in nats, intervals over documents with fixed clusters.",
                *(f"{row['of']}: {row['mean']:.3f} "
                  f"[{row['mean_low']:.3f}, {row['mean_high']:.3f}]" for row in beside),
                "Miller and Madow's correction is subtracted."
                if self.miller_madow
                else "Counting overestimates all rows alike: compare the states with the others.",
            ),
            about={"documents_read": count},
            figures=self.figures,
        )  # fmt: skip

    def _read(self, subject: ClassifierSubject, documents: Documents) -> Read:
        """Documents until there are words enough."""
        parts = list(self._chunks(subject, documents))
        starts = np.cumsum([0, *(len(part.conicity) for part in parts)])
        return Read(
            words=np.concatenate([part.words for part in parts]),
            document=np.concatenate(
                [part.document + start for part, start in zip(parts, starts, strict=False)]
            ),
            states={
                kind: np.concatenate([part.states[kind] for part in parts])
                for kind in parts[0].states
            },
            conicity=np.concatenate([part.conicity for part in parts]),
            entropy=np.concatenate([part.entropy for part in parts]),
        )

    def _chunks(self, subject: ClassifierSubject, documents: Documents) -> Iterator[Read]:
        seen = 0
        for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
            if seen >= self.state_words:
                return
            read = _of_chunk(subject, subject.read(documents[start:][:DOCUMENTS_AT_ONCE].texts))
            seen += len(read.words)
            yield read


def _of_chunk(subject: ClassifierSubject, reading: Reading) -> Read:
    states, ids = subject.states(reading), subject.word_ids(reading)
    is_known = (ids >= 0) & reading.is_token
    return Read(
        words=ids[is_known],
        document=np.nonzero(is_known)[0],
        states={kind: of_kind[is_known] for kind, of_kind in states.items()},
        conicity=conicity(states["hidden"], reading.is_token).astype(np.float64),
        entropy=normalised_entropy(reading.weights, reading.is_token),
    )
