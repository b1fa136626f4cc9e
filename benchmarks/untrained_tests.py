"""Does attention that learnt from deletions also do well at what it was not trained on?

    python benchmarks/untrained_tests.py DATA RUN… [--judge RUN] [--words sst2] [--seed 0]

Printed for every run, on its test documents, all by its top words by attention:

    replaced    share of decisions that change if the top 20% of the words are replaced by a word
                that the model does not know (it was trained on deletions, not on holes)
    at random   the same for words at random
    other model share of the judge's decisions that change if the top 20% of the words are deleted
    fresh       accuracy of a fresh logistic regression that sees only the top 10% of the words, in
                training and in testing; its words are counted, not their order
    polar       share of the weight on words that people called positive or negative by themselves
"""

import argparse
import gzip
import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import machine
import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from heedful.auditing.metrics.top import choose_top, top_k
from heedful.auditing.subjects.base import Judge, Reading
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.other_model import TrainedJudge
from heedful.auditing.subjects.replacing import Replacing
from heedful.text.documents import Documents
from heedful.training.task import find_corpus
from heedful.training.trained import Trained

AT_ONCE = 200
NEUTRAL = 2  # of SST's five labels of single words


def changed(
    judge: Judge, reading: Reading, ranking: Float[ndarray, "documents words"], share: float
) -> list[bool]:
    """Whether a judge decides otherwise without the top words of each document."""
    count = top_k(share, reading.is_token.sum(axis=1))
    kept = reading.is_token & ~choose_top(ranking, reading.is_token, count)
    after = judge.predict_kept(reading, np.arange(len(kept)), kept)
    return (after.argmax(axis=1) != judge.judged(reading).argmax(axis=1)).tolist()


def top_words(reading: Reading, share: float) -> list[str]:
    """Each document cut to its top words, in their order."""
    count = top_k(share, reading.is_token.sum(axis=1))
    is_top = choose_top(reading.weights, reading.is_token, count)
    return [
        " ".join(text[a:b] for (a, b), top in zip(at.tolist(), row, strict=False) if top)
        for text, at, row in zip(reading.texts, reading.offsets, is_top, strict=True)
    ]


def readings(subject: ClassifierSubject, documents: Documents) -> list[Reading]:
    """Documents as a subject reads them, a few at a time."""
    texts = documents.texts
    return [subject.read(texts[i : i + AT_ONCE]) for i in range(0, len(texts), AT_ONCE)]


def polar_words(name: str) -> set[str]:
    """Words that were labelled positive or negative by themselves in most of their places."""
    votes: dict[str, list[bool]] = defaultdict(list)
    with gzip.open(Path(os.environ["HEEDFUL_DATA"]) / name / "train.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            for word, label in zip(row["tokens"], row["token_labels"], strict=True):
                votes[word.lower()].append(label != NEUTRAL)
    return {word for word, polar in votes.items() if np.mean(polar) > 0.5}


def polar_weight(some: Sequence[Reading], words: set[str]) -> float:
    """Mean share of the weight on some words."""
    shares = [
        float(sum(w for (a, b), w in zip(at.tolist(), row, strict=False) if text[a:b] in words))
        for reading in some
        for text, at, row in zip(reading.texts, reading.offsets, reading.weights, strict=True)
    ]
    return float(np.mean(shares))


def main() -> None:
    """Every run, a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--judge")
    parser.add_argument("--words", default="sst2")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    corpus = find_corpus(given.data, text=None, label=None, data_dir=None)
    words = polar_words(given.words)
    print("| run | accuracy | replaced | at random | other model | fresh | polar |")
    for run in given.runs:
        trained = Trained.load(run)
        subject = ClassifierSubject(trained)
        rng = np.random.default_rng(given.seed)
        train, test = readings(subject, corpus.train), readings(subject, corpus.test)
        labels = np.array(list(map(str, corpus.test.labels)))
        predicted = np.concatenate([one.prediction for one in test])
        named = np.array([str(trained.classes[number]) for number in predicted])
        holes = Replacing(subject)
        own = [c for one in test for c in changed(holes, one, one.weights, 0.2)]
        chance = [
            c for one in test for c in changed(holes, one, rng.random(one.weights.shape), 0.2)
        ]
        other = [np.nan]
        if given.judge:
            judge = TrainedJudge(Trained.load(given.judge), trained.classes)
            other = [c for one in test for c in changed(judge, one, one.weights, 0.2)]
        bag = CountVectorizer(token_pattern=r"\S+")
        seen = bag.fit_transform([text for one in train for text in top_words(one, 0.1)])
        fresh = LogisticRegression(max_iter=1000).fit(seen, list(map(str, corpus.train.labels)))
        right = fresh.predict(bag.transform([t for one in test for t in top_words(one, 0.1)]))
        print(
            f"| {Path(run).name} | {np.mean(named == labels):.1%} | {np.mean(own):.1%} "
            f"| {np.mean(chance):.1%} | {np.mean(other):.1%} | {np.mean(right == labels):.1%} "
            f"| {polar_weight(test, words):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
