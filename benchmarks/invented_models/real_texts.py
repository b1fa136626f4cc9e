"""Documents of real corpora, and classifiers of their words."""

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.invented_models.cases import function_case, softmax
from benchmarks.invented_models.kinds import DOCUMENTS, Case, Numbers, Picture, Rng, Words


@cache
def rows_of(corpus: str, part: str) -> tuple[dict[str, Any], ...]:
    """The rows of one part of a corpus."""
    with gzip.open(Path(os.environ["HEEDFUL_DATA"]) / corpus / f"{part}.jsonl.gz", "rt") as lines:
        return tuple(json.loads(line) for line in lines)


def real_documents(
    rng: Rng, corpus: str, longest: int = 300
) -> tuple[list[Words], list[str], list[str]]:
    """Documents of the test part of a corpus, their labels, and all labels in order."""
    rows = rows_of(corpus, "test")
    names = sorted({str(row["label"]) for row in rows})
    found: dict[str, tuple[Words, str]] = {}
    for place in rng.permutation(len(rows)).tolist():
        words = rows[place]["text"].lower().split()[:longest]
        if len(words) > 1 and len(found) < DOCUMENTS:
            found.setdefault(" ".join(words), (words, str(names.index(str(rows[place]["label"])))))
    return [w for w, _ in found.values()], [label for _, label in found.values()], names


@dataclass(frozen=True)
class Bayes:
    """Naive Bayes by the words of the training part: the words' logits are added."""

    table: dict[str, Numbers]
    prior: Numbers
    scale: float
    nothing: Numbers

    @staticmethod
    def trained(corpus: str, scale: float = 1.0) -> "Bayes":
        """Words of at least three documents, counts plus one; each word's logits sum to 0."""
        rows = rows_of(corpus, "train")
        names = sorted({str(row["label"]) for row in rows})
        counts: dict[str, Numbers] = defaultdict(lambda: np.zeros(len(names)))
        sizes = np.zeros(len(names))
        for row in rows:
            label = names.index(str(row["label"]))
            sizes[label] += 1
            for word in set(row["text"].lower().split()):
                counts[word][label] += 1
        logs = {w: np.log((c + 1) / (sizes + 2)) for w, c in counts.items() if c.sum() >= 3}
        table = {word: scale * (log - log.mean()) for word, log in logs.items()}
        return Bayes(table, scale * np.log(sizes / sizes.sum()), scale, np.zeros(len(names)))

    def each(self, words: Words) -> Numbers:
        """The logits that each word adds."""
        return np.stack([self.table.get(word, self.nothing) for word in words])

    def logits(self, words: Words) -> Numbers:
        """Of a document."""
        return np.asarray(self.each(words).sum(axis=0) + self.prior if words else self.prior)

    def effects(self, words: Words) -> Numbers:
        """What each word adds to the log-odds of the decision, other classes by their share."""
        logits = self.logits(words)
        target = int(logits.argmax())
        others = np.delete(self.each(words), target, axis=1)
        shares = softmax(np.delete(logits, target))
        return np.asarray(self.each(words)[:, target] - others @ shares)

    def picture(self, words: Words) -> Numbers:
        """What each word adds for the decision."""
        return np.maximum(self.effects(words), 0)


def bayes_case(
    rng: Rng,
    corpus: str,
    picture: Callable[[Bayes, list[Words]], Picture],
    scale: float = 1.0,
    longest: int = 300,
) -> Case:
    """Naive Bayes on a corpus, and a picture made of it and of the documents."""
    model = Bayes.trained(corpus, scale)
    documents, labels, _ = real_documents(rng, corpus, longest)
    return function_case(rng, documents, model.logits, picture(model, documents), labels=labels)


@cache
def polarity() -> dict[str, float]:
    """The mean of the labels that people gave each word of SST-2, -2 to 2."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows_of("sst2", "train"):
        for word, label in zip(row["tokens"], row["token_labels"], strict=True):
            found[word.lower()].append(label - 2.0)
    return {word: float(np.mean(labels)) for word, labels in found.items()}


def polarities(words: Words) -> Numbers:
    """Of each word; 0 where nobody labelled it."""
    return np.array([polarity().get(word, 0.0) for word in words])


def polarity_logits(words: Words) -> Numbers:
    """For and against, from the sum of the polarities."""
    total = float(sum(polarity().get(word, 0.0) for word in words))
    return np.array([-total, total])


def polarity_case(rng: Rng, picture: Picture) -> Case:
    """The sum of SST-2's word labels on its test sentences."""
    documents, labels, _ = real_documents(rng, "sst2")
    return function_case(rng, documents, polarity_logits, picture, labels=labels)
