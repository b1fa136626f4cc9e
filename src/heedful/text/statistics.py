"""How many documents, words and labels a corpus has, part by part."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heedful.text.documents import Corpus, Documents
from heedful.text.tokenize import TextSettings, Tokenizer
from heedful.text.vocabulary import SPECIAL_WORDS

NO_LABEL = "no label"
NO_LIMIT = 10**9


@dataclass(frozen=True)
class PartStatistics:
    """Numbers of one part of a corpus, or of all."""

    part: str
    documents: int
    words: int
    mean_words: float  # in a document
    shortest: int
    longest: int
    vocabulary: int  # different words, case aside
    labels: dict[str, int]  # documents of each, in the order of the labels


def corpus_statistics(corpus: Corpus) -> tuple[PartStatistics, ...]:
    """Every part that has documents, then all of them together; words as training cuts them."""
    return tuple(
        _of_documents(part, documents, _settings(corpus))
        for part, documents in _parts(corpus)
        if len(documents)
    )


def _parts(corpus: Corpus) -> Iterator[tuple[str, Documents]]:
    yield from (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test))
    yield "all", Documents([*corpus.train, *corpus.dev, *corpus.test])


def _settings(corpus: Corpus) -> TextSettings:
    """The cut of the corpus, with no word and no text left out."""
    return TextSettings(
        split=corpus.split, min_documents=1, max_vocabulary=NO_LIMIT, max_words=NO_LIMIT
    )


def _of_documents(part: str, documents: Documents, settings: TextSettings) -> PartStatistics:
    tokenizer = Tokenizer.learn(documents.texts, settings)
    lengths = tokenizer.encode(documents.texts).lengths
    labels = Counter(NO_LABEL if label is None else str(label) for label in documents.labels)
    return PartStatistics(
        part=part,
        documents=len(documents),
        words=int(lengths.sum()),
        mean_words=float(np.mean(lengths)),
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
        vocabulary=len(tokenizer.words) - len(SPECIAL_WORDS),
        labels=dict(sorted(labels.items())),
    )
