"""In which order the documents of an audit are read, and which are sampled for costly measures.

Waves of documents in random order, so that what was measured when time runs out is a fair sample;
within a wave, groups of like length that are read together.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.questions import AuditSettings
from heedful.text.documents import Documents

CHARACTERS_AT_ONCE = 60_000  # of the documents in a group, each counted as long as the longest
DOCUMENTS_AT_ONCE = 64
WAVES = (128, 256, 512)  # documents in the first waves; all later ones are like the last

Group = Int[ndarray, " _"]


def drawn(documents: Documents, settings: AuditSettings, most: int | None) -> Group:
    """`most` documents in random order."""
    order = np.random.default_rng([settings.seed, 2**30]).permutation(len(documents))
    return order[:most]


def planned(documents: Documents, settings: AuditSettings, most: int | None) -> list[list[Group]]:
    """Waves of groups: `most` documents in random order, those of a wave grouped by length."""
    order = drawn(documents, settings, most)
    waves: list[list[Group]] = []
    while len(order):
        size = WAVES[min(len(waves), len(WAVES) - 1)]
        wave, order = order[:size], order[size:]
        waves.append(grouped(documents, wave))
    return waves


def grouped(documents: Documents, wave: Group) -> list[Group]:
    """The documents of a wave in groups of like length, longest first."""
    lengths = np.array([len(documents[int(place)].text) for place in wave], dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    return _groups(wave[order], lengths[order])


def _groups(order: Group, lengths: Int[ndarray, " _"]) -> list[Group]:
    """Documents, longest first, cut into groups that are read together."""
    groups, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[start]))
        size = max(1, min(DOCUMENTS_AT_ONCE, CHARACTERS_AT_ONCE // longest))
        groups.append(order[start : start + size])
        start += size
    return groups


@dataclass(frozen=True)
class Samples:
    """Which documents of a group are in which sample."""

    is_costly: Bool[ndarray, " group"]
    is_replaced: Bool[ndarray, " group"]
    is_state: Bool[ndarray, " group"]


class Sampled:
    """The first documents in the order of the waves, those of a wave in random order.

    For costly measures, for words that are replaced, and for states. In the order of a file they
    might be of one label.
    """

    def __init__(self, documents: Documents, settings: AuditSettings) -> None:
        self._documents = documents
        self._costly_left, self._replaced_left = (
            settings.sampled_documents,
            settings.replaced_documents,
        )
        self._words_left = settings.state_words
        self._rng = np.random.default_rng([settings.seed, 2**30 + 1])
        self._samples = Samples(*np.zeros((3, len(documents)), dtype=bool))

    def add(self, wave: list[Group]) -> None:
        """A wave comes next."""
        order = self._rng.permutation(np.sort(np.concatenate(wave)))
        self._samples.is_costly[order[: max(0, self._costly_left)]] = True
        self._samples.is_replaced[order[: max(0, self._replaced_left)]] = True
        words = np.array([len(self._documents[int(place)].text.split()) for place in order])
        self._samples.is_state[order[np.cumsum(words) - words < self._words_left]] = True
        self._costly_left -= len(order)
        self._replaced_left -= len(order)
        self._words_left -= int(words.sum())

    def of(self, group: Group) -> Samples:
        """Which documents of a group are in which sample."""
        every = self._samples
        return Samples(every.is_costly[group], every.is_replaced[group], every.is_state[group])
