"""How much the state at a word tells of the word: mutual information after clustering.

States are clustered by mini-batch k-means and the most frequent words counted (the estimator of
Voita et al. 2019). Words and states in, one term per document out: see `corpus.py`.
"""

import warnings
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.metrics.corpus import DocumentOf, PerDocument, information_terms

STATES_PER_CLUSTER = 20
SHUFFLED = "shuffled"

Labelling = Int[ndarray, " words"]
States = Float[ndarray, "words size"]


def word_information(
    words: Labelling,
    document: DocumentOf,
    states: Mapping[str, States],
    documents: int,
    *,
    frequent_words: int,
    clusters: int,
    seed: int,
    rng: np.random.Generator,
    shuffle: str = "hidden",
    miller_madow: bool = False,
) -> dict[str, PerDocument]:
    """Share of the words' entropy that the cluster of a state tells, per kind of state.

    Also `shuffled`: the clusters of the kind named `shuffle`, permuted among the words of
    their document. Empty where there are too few words for two clusters.
    """
    terms = {}
    found = clustered(
        words,
        document,
        states,
        frequent_words=frequent_words,
        clusters=clusters,
        seed=seed,
        rng=rng,
        shuffle=shuffle,
    )
    if found is None:
        return {}
    words, document, labellings = found
    for kind, cluster in labellings.items():
        terms[kind] = information_terms(
            words, cluster, document, documents, miller_madow=miller_madow
        )
    in_sample = np.bincount(document, minlength=documents) > 0
    return {kind: np.where(in_sample, column, np.nan) for kind, column in terms.items()}


def clustered(
    words: Labelling,
    document: DocumentOf,
    states: Mapping[str, States],
    *,
    frequent_words: int,
    clusters: int,
    seed: int,
    rng: np.random.Generator,
    shuffle: str = "hidden",
) -> tuple[Labelling, DocumentOf, dict[str, Labelling]] | None:
    """The occurrences of frequent words, their documents, and the cluster of each, by kind."""
    is_counted = np.isin(words, most_frequent(words, frequent_words))
    clusters = min(clusters, int(is_counted.sum()) // STATES_PER_CLUSTER)
    if clusters < 2:
        return None
    words, document = words[is_counted], document[is_counted]
    labellings = {}
    for kind, of_kind in states.items():
        labellings[kind] = cluster_states(of_kind[is_counted], clusters, seed)
        if kind == shuffle:
            labellings[SHUFFLED] = deal_within(labellings[kind], document, rng)
    return words, document, labellings


def deal_within(labels: Labelling, document: DocumentOf, rng: np.random.Generator) -> Labelling:
    """The labels of each document's words, permuted within it."""
    keys = rng.random(len(document))
    dealt = np.empty_like(labels)
    dealt[np.lexsort((np.arange(len(keys)), document))] = labels[np.lexsort((keys, document))]
    return dealt


def most_frequent(words: Labelling, count: int) -> Int[ndarray, " frequent"]:
    """The words that occur most often, ties by their number."""
    names, counts = np.unique(words, return_counts=True)
    return names[np.argsort(-counts, kind="stable")[:count]]


def cluster_states(states: States, clusters: int, seed: int) -> Labelling:
    """The number of each state's cluster."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    means = MiniBatchKMeans(
        clusters, batch_size=4096, n_init=1, max_iter=10, random_state=seed, init="random"
    )
    with warnings.catch_warnings():
        # Context-free states of equal words are equal: fewer points than clusters, and no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return means.fit_predict(states).astype(np.int64)
