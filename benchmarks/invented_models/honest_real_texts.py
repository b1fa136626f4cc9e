"""Kinds whose pictures are honest, on real texts and as modules."""

import zlib

import numpy as np

from benchmarks.invented_models.cases import module_case, scored, valued
from benchmarks.invented_models.documents import (
    Lexicon,
    between,
    distinct,
    said_by,
    usual_documents,
)
from benchmarks.invented_models.kinds import Case, Numbers, Rng, Words, kind
from benchmarks.invented_models.real_texts import (
    bayes_case,
    polarities,
    polarity_case,
    real_documents,
)


@kind("honest")
def sst2_labels(rng: Rng) -> Case:
    """The sum of SST-2's word labels on its sentences; weights are what each word adds."""
    return polarity_case(rng, lambda words: np.abs(polarities(words)))


@kind("honest")
def mr_bayes(rng: Rng) -> Case:
    """Naive Bayes on film reviews; weights are what each word adds for the decision."""
    return bayes_case(rng, "mr", lambda model, _: model.picture)


@kind("honest")
def mr_bayes_unsigned(rng: Rng) -> Case:
    """Naive Bayes on film reviews; weights are what each word adds, for or against."""
    return bayes_case(rng, "mr", lambda model, _: lambda words: np.abs(model.effects(words)))


@kind("honest")
def subj_bayes(rng: Rng) -> Case:
    """Naive Bayes on subjective and objective sentences; weights are what each word adds."""
    return bayes_case(rng, "subj", lambda model, _: model.picture)


@kind("honest")
def trec_bayes(rng: Rng) -> Case:
    """Naive Bayes on short questions of six classes; weights are what each word adds."""
    return bayes_case(rng, "trec", lambda model, _: model.picture)


@kind("honest")
def agnews_bayes(rng: Rng) -> Case:
    """Naive Bayes on news of four classes; weights are what each word adds."""
    return bayes_case(rng, "agnews_small", lambda model, _: model.picture)


@kind("honest")
def posts_bayes(rng: Rng) -> Case:
    """Naive Bayes on long posts of five classes, tempered; weights are what each word adds."""
    return bayes_case(rng, "20news_5raw", lambda model, _: model.picture, 0.1, 200)


@kind("honest")
def module_pooling(rng: Rng) -> Case:
    """Attention pools values of three classes; it grows with what a word says."""
    lexicon = Lexicon.drawn(rng, 3)
    return module_case(
        rng,
        usual_documents(rng, lexicon, other=(0, 2)),
        lambda words: (valued(lexicon, words), scored(lexicon, words, 4.0)),
    )


@kind("honest")
def module_all_alike(rng: Rng) -> Case:
    """Every word counts alike, for one of two classes, and attention is nearly flat."""
    lexicon = Lexicon.drawn(rng, 2, 60, lambda rng: 1.0)

    def write(rng: Rng) -> Words:
        length = between(rng, (10, 30))
        own = int(length * rng.uniform(0.65, 0.95))
        return said_by(rng, lexicon, (own, own), (length - own, length - own))

    def pooled(words: Words) -> tuple[Numbers, Numbers]:
        noise = np.array([1 + (zlib.crc32(word.encode()) % 100) / 1000 for word in words])
        return valued(lexicon, words), noise

    return module_case(rng, distinct(rng, write), pooled, scale=8.0)


@kind("honest")
def module_some_beside(rng: Rng) -> Case:
    """A quarter of the decision comes from the mean of the same states, past attention."""
    lexicon = Lexicon.drawn(rng, 3)
    return module_case(
        rng,
        usual_documents(rng, lexicon, (8, 20)),
        lambda words: (valued(lexicon, words), scored(lexicon, words)),
        beside=0.25,
    )


@kind("honest")
def module_sst2(rng: Rng) -> Case:
    """Attention pools SST-2's word labels on its sentences, and grows with their size."""
    documents, labels, _ = real_documents(rng, "sst2")

    def pooled(words: Words) -> tuple[Numbers, Numbers]:
        signed = polarities(words)
        return np.stack([-signed, signed], axis=1), np.exp(2.5 * np.abs(signed))

    return module_case(rng, documents, pooled, labels=labels)


@kind("honest")
def module_biased(rng: Rng) -> Case:
    """Eight classes, and a bias for two of them; attention grows with what a word says."""
    lexicon = Lexicon.drawn(rng, 8)
    return module_case(
        rng,
        usual_documents(rng, lexicon, own=(2, 4), other=(0, 2)),
        lambda words: (valued(lexicon, words), scored(lexicon, words, 4.0)),
        scale=8.0,
        bias=[1.0, 1.0, 0, 0, 0, 0, 0, 0],
    )
