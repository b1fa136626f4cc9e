"""Does the state at a word still speak of that word?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.metrics.divergence import normalised_entropy
from heedful.auditing.metrics.information import word_information
from heedful.auditing.metrics.states import conicity
from heedful.auditing.questions.base import (
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.results import Column
from heedful.auditing.subjects.base import ShowsStates

KINDS = ("embedded", "hidden", "untrained")  # the last where it can be had

MUTUAL_INFORMATION = AuditTest(
    "mutual information", "higher", "Tutek & Šnajder 2020",
    "states shuffled among the words of their document", "the embeddings",
)  # fmt: skip
OWN_INFLUENCE = AuditTest(
    "own influence", "higher", "Meister et al. 2021", "1/n", "1", "own_influence",
    is_compared=True, defined_by=("own_influence",),
)  # fmt: skip


@questions.register("grounded")
@dataclass(frozen=True)
class Grounded(Question):
    """Mutual information of word and state; which words influence a state (Meister et al.)."""

    name = "grounded"
    place = 5
    asks = "Does the state at a word still represent that word?"
    needs = ShowsStates
    tests = (MUTUAL_INFORMATION, OWN_INFLUENCE)

    def measure(self, group: DocumentGroup) -> Measured:
        """Where states come from, on the sampled documents; words and states to cluster later."""
        subject, reading = group.subject, group.reading
        assert isinstance(subject, ShowsStates)
        states = subject.states(reading)
        words = reading.is_token.sum(axis=1)
        columns = {"conicity": conicity(states["hidden"], reading.is_token)}
        own, entropy, spread = (np.full(len(words), np.nan) for _ in range(3))
        if group.is_sampled.any():
            rows = np.flatnonzero(group.is_sampled)
            sampled = group.reading_of(rows)
            shares = subject.influence(sampled)
            at_word = np.diagonal(shares, axis1=1, axis2=2) * sampled.is_token
            own[rows] = at_word.sum(axis=1) / np.maximum(words[rows], 1)
            entropy[rows], spread[rows] = _entropy(shares, sampled.is_token)
        even = np.where(group.is_sampled, 1 / np.maximum(words, 1), np.nan)
        columns |= {"own_influence": own, "even_influence": even}
        columns |= {"influence_entropy": entropy, "influence_entropy_sd": spread}
        ids = subject.word_ids(reading)
        is_looked_at = (ids >= 0) & reading.is_token & group.is_state_sampled[:, None]
        document, _ = np.nonzero(is_looked_at)
        looked_at = {kind: states[kind][is_looked_at] for kind in KINDS if kind in states}
        return Measured(columns, {}, looked_at | {"word": ids[is_looked_at]}, document)

    def conclude(self, found: Findings) -> Conclusion:
        """Information between shuffled states and embeddings; own influence between 1/n and 1."""
        columns = found.columns
        tests, facts = [], []
        settings, words = found.settings, found.measured.words
        information = word_information(
            words["word"],
            found.measured.document,
            {kind: words[kind] for kind in KINDS if kind in words},
            len(found.labels),
            frequent_words=settings.frequent_words,
            clusters=settings.clusters,
            seed=settings.seed,
            rng=found.rng_for("shuffled states"),
        )
        if information:
            value, floor, ceiling = (information[k] for k in ("hidden", "shuffled", "embedded"))
            tests.append(found.test(MUTUAL_INFORMATION, value, floor, ceiling))
            if (untrained := information.get("untrained")) is not None:
                note = "the same encoder before training; for comparison, not a control"
                facts.append(found.fact("mutual information, untrained", untrained, note))
        value, floor = columns["own_influence"], columns["even_influence"]
        tests.append(found.test(OWN_INFLUENCE, value, floor, 1.0))
        facts += [
            found.fact("entropy of influence", columns["influence_entropy"], "0 to 1"),
            found.fact(
                "sd of the entropy of influence",
                _sd_terms(columns["influence_entropy"], columns["influence_entropy_sd"]),
                "over the states of all documents, each document counted alike",
            ),
            found.fact("conicity", columns["conicity"], "0 to 1; 1: all states point the same way"),
        ]
        return Conclusion(tuple(tests), {"facts": tuple(facts)})


def _entropy(
    shares: Float[ndarray, "documents words words"], is_token: ndarray
) -> tuple[Column, Column]:
    """Mean and standard deviation over a document's states of the entropy of their influence."""
    documents, words, _ = shares.shape
    rows = np.repeat(is_token[:, None], words, axis=1).reshape(-1, words)
    entropy = normalised_entropy(shares.reshape(-1, words), rows).reshape(documents, words)
    states = np.maximum(is_token.sum(axis=1), 1)
    mean = np.where(is_token, entropy, 0.0).sum(axis=1) / states
    off = np.where(is_token, entropy - mean[:, None], 0.0)
    return mean, np.sqrt((off**2).sum(axis=1) / states)


def _sd_terms(mean: Column, sd: Column) -> Column:
    """A term per document whose mean is the standard deviation over all states, documents alike.

    variance = mean over documents of (sd² + mean²) - (mean of the means)²; the terms are the
    influence function of its root, so that their spread gives the interval.
    """
    middle = np.nanmean(mean) if (~np.isnan(mean)).any() else np.nan
    squares = sd**2 + (mean - middle) ** 2
    variance = np.nanmean(squares) if (~np.isnan(squares)).any() else np.nan
    if not variance > 0:
        return np.where(np.isnan(mean), np.nan, 0.0)
    root = np.sqrt(variance)
    return root + (squares - variance) / (2 * root)
