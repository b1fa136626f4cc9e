"""Does attention that learnt from deletions also do well at what it was not trained on?

    python benchmarks/untrained_tests.py DATA NAME=RUN,RUN… NAME=RUN,RUN… [--judge RUN]

Each NAME is a way to train and its runs are its seeds; the first is what the others are compared
with. Measured on the test documents, by the order of words that attention gives:

    replaced    share of decisions that change if the top 20% of the words are replaced by a word
                that the model does not know (it was trained on deletions, not on holes)
    at random   the same for words at random
    rest        the other order: share of decisions that change if the lower half is replaced
    other model share of the judge's decisions that change if the top 20% of the words are deleted
    fresh       accuracy of a fresh logistic regression that sees only the top 10% of the words, in
                training and in testing; its words are counted, not their order
    any words   the same of words at random
    lift        how much more often a logistic regression gives the model's decision if it sees
                which words are the top 10%, and not only which words the text has: high where the
                choice of a word tells what the word does not
    polar       share of the weight on words that people called positive or negative by themselves

Intervals are 95%, by drawing seeds and documents; differences are taken document by document
between runs in the same place of their lists.
"""

import argparse
import gzip
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import machine
import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from heedful.auditing.bootstrap import DEFAULT_BOOTSTRAP, over_seeds
from heedful.auditing.metrics.top import choose_top, top_k
from heedful.auditing.subjects.base import Judge, Reading
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.other_model import TrainedJudge
from heedful.auditing.subjects.replacing import Replacing
from heedful.text.documents import Corpus, Documents
from heedful.training.task import find_corpus
from heedful.training.trained import Trained

AT_ONCE = 200
NEUTRAL = 2  # of SST's five labels of single words
OFTEN = 10  # top words to print
TOP, FEW, REST = 0.2, 0.1, 0.5  # shares of the words

Ranking = Float[ndarray, "documents words"]
PerDocument = Float[ndarray, " documents"]


@dataclass(frozen=True)
class Found:
    """What was measured of one run: a number per test document, by column; its top words."""

    columns: dict[str, PerDocument]
    often: Counter[str]


def changed(
    judge: Judge, reading: Reading, ranking: Ranking, share: float
) -> Bool[ndarray, " documents"]:
    """Whether a judge decides otherwise without the top words of each document."""
    count = top_k(share, reading.is_token.sum(axis=1))
    kept = reading.is_token & ~choose_top(ranking, reading.is_token, count)
    after = judge.predict_kept(reading, np.arange(len(kept)), kept)
    return after.argmax(axis=1) != judge.judged(reading).argmax(axis=1)


def written(reading: Reading, is_shown: Bool[ndarray, "documents words"]) -> list[str]:
    """Each document cut to some words, in their order."""
    return [
        " ".join(text[a:b] for (a, b), shown in zip(at.tolist(), row, strict=False) if shown)
        for text, at, row in zip(reading.texts, reading.offsets, is_shown, strict=True)
    ]


def cut_to_top(some: Sequence[Reading], rankings: Sequence[Ranking], share: float) -> list[str]:
    """All documents cut to their top words."""
    return [
        text
        for one, ranking in zip(some, rankings, strict=True)
        for text in written(
            one, choose_top(ranking, one.is_token, top_k(share, one.is_token.sum(axis=1)))
        )
    ]


def readings(subject: ClassifierSubject, documents: Documents) -> list[Reading]:
    """Documents as a subject reads them, a few at a time."""
    texts = documents.texts
    return [subject.read(texts[i : i + AT_ONCE]) for i in range(0, len(texts), AT_ONCE)]


def learnt(
    train: csr_matrix, labels: Sequence[str], test: csr_matrix, of_test: Sequence[str]
) -> PerDocument:
    """Which test documents a fresh logistic regression gets right."""
    fresh = LogisticRegression(max_iter=1000).fit(train, list(labels))
    return (fresh.predict(test) == np.array(of_test)).astype(float)


def from_words(
    train: Sequence[str], labels: Sequence[str], test: Sequence[str], of_test: Sequence[str]
) -> PerDocument:
    """The same, given the words of each document, which are counted."""
    bag = CountVectorizer(token_pattern=r"\S+")
    return learnt(bag.fit_transform(train), labels, bag.transform(test), of_test)


def lift(
    words: tuple[Sequence[str], Sequence[str]],
    chosen: tuple[Sequence[str], Sequence[str]],
    decided: tuple[Sequence[str], Sequence[str]],
) -> PerDocument:
    """Right with the words and which of them are chosen, less right with the words alone.

    Each pair is of training and of test documents.
    """
    bag = CountVectorizer(token_pattern=r"\S+", binary=True).fit(words[0])
    here, there = map(bag.transform, words)
    both = [
        hstack([seen, bag.transform(top)]).tocsr()
        for seen, top in zip((here, there), chosen, strict=True)
    ]
    alone = learnt(here, decided[0], there, decided[1])
    return learnt(both[0], decided[0], both[1], decided[1]) - alone


def polar_words(name: str) -> set[str]:
    """Words that were labelled positive or negative by themselves in most of their places."""
    votes: dict[str, list[bool]] = defaultdict(list)
    with gzip.open(Path(os.environ["HEEDFUL_DATA"]) / name / "train.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            for word, label in zip(row["tokens"], row["token_labels"], strict=True):
                votes[word.lower()].append(label != NEUTRAL)
    return {word for word, polar in votes.items() if np.mean(polar) > 0.5}


def polar_weight(some: Sequence[Reading], words: set[str]) -> PerDocument:
    """Share of each document's weight on some words."""
    shares = [
        float(
            sum(
                w for (a, b), w in zip(at.tolist(), row, strict=False) if text[a:b].lower() in words
            )
        )
        for reading in some
        for text, at, row in zip(reading.texts, reading.offsets, reading.weights, strict=True)
    ]
    return np.array(shares)


def measure(run: str, corpus: Corpus, polar: set[str], judge: Trained | None, seed: int) -> Found:
    """All columns of one run."""
    trained = Trained.load(run)
    subject = ClassifierSubject(trained)
    rng = np.random.default_rng(seed)
    train, test = readings(subject, corpus.train), readings(subject, corpus.test)
    gold = [list(map(str, part.labels)) for part in (corpus.train, corpus.test)]
    decided = [
        [str(trained.classes[number]) for one in part for number in one.prediction.tolist()]
        for part in (train, test)
    ]
    weights = [[one.weights for one in part] for part in (train, test)]
    chance = [[rng.random(one.weights.shape) for one in part] for part in (train, test)]
    tops = [cut_to_top(part, w, FEW) for part, w in zip((train, test), weights, strict=True)]
    some = [cut_to_top(part, c, FEW) for part, c in zip((train, test), chance, strict=True)]
    all_words = [[t for one in part for t in written(one, one.is_token)] for part in (train, test)]
    holes = Replacing(subject, subject.replacement)
    asked: dict[str, tuple[Judge, Sequence[Ranking], float]] = {
        "replaced": (holes, weights[1], TOP),
        "at random": (holes, chance[1], TOP),
        "rest": (holes, [-one for one in weights[1]], REST),
    }
    if judge is not None:
        asked["other model"] = (TrainedJudge(judge, trained.classes), weights[1], TOP)
    columns = {"accuracy": (np.array(decided[1]) == np.array(gold[1])).astype(float)}
    for name, (by, rankings, share) in asked.items():
        pairs = zip(test, rankings, strict=True)
        columns[name] = np.concatenate([changed(by, one, r, share) for one, r in pairs]) * 1.0
    columns["fresh"] = from_words(tops[0], gold[0], tops[1], gold[1])
    columns["any words"] = from_words(some[0], gold[0], some[1], gold[1])
    columns["lift"] = lift(
        (all_words[0], all_words[1]), (tops[0], tops[1]), (decided[0], decided[1])
    )
    columns["polar"] = polar_weight(test, polar)
    first = [cut_to_top([one], [one.weights], 1e-9) for one in test]
    return Found(columns, Counter(word.lower() for part in first for word in part))


def rows(groups: dict[str, list[Found]]) -> Iterator[str]:
    """A table: means of each way to train, then differences to the first."""
    first = next(iter(groups))
    names = list(groups[first][0].columns)
    yield "| | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    values = {
        group: {name: np.array([one.columns[name] for one in found]) for name in names}
        for group, found in groups.items()
    }
    for group, of_columns in values.items():
        yield f"| {group} | " + " | ".join(said(of_columns[name]) for name in names) + " |"
    for group, of_columns in values.items():
        if group != first:
            cells = (said(of_columns[name] - values[first][name], "+") for name in names)
            yield f"| {group} − {first} | " + " | ".join(cells) + " |"


def said(values: Float[ndarray, "seeds documents"], sign: str = "") -> str:
    """Mean and interval, in percent or points."""
    found = over_seeds(values, np.random.default_rng(0), DEFAULT_BOOTSTRAP)
    low, high = (f"{100 * bound:{sign}.1f}" for bound in found.interval)
    return f"{100 * found.mean:{sign}.1f} [{low}, {high}]"


def main() -> None:
    """Every way to train, a row each, and their most frequent top words."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("groups", nargs="+", metavar="NAME=RUN,RUN…")
    parser.add_argument("--judge", help="run of another kind of model")
    parser.add_argument("--words", default="sst2", help="corpus with labels of single words")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    corpus = find_corpus(given.data)
    polar = polar_words(given.words)
    judge = Trained.load(given.judge) if given.judge else None
    groups: dict[str, list[Found]] = {}
    for group in given.groups:
        name, _, runs = group.partition("=")
        groups[name] = [measure(r, corpus, polar, judge, given.seed) for r in runs.split(",")]
    print(f"{len(corpus.test):,} test documents; percent, points")
    print("\n".join(rows(groups)))
    for name, found in groups.items():
        often = sum((one.often for one in found), Counter[str]())
        listed = ", ".join(f"{word} ({count:,})" for word, count in often.most_common(OFTEN))
        print(f"top words, {name}: {listed}")


if __name__ == "__main__":
    main()
