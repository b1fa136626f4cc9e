"""In which order the documents of an audit are read, and which of them stand for all.

Waves of documents in random order, so that whatever was done when time runs out is a fair sample;
within a wave, groups of like length that are read together.
"""

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.questions import AuditSettings
from heedful.text.documents import Documents

CHARACTERS_AT_ONCE = 60_000  # of the documents in a group, each counted as long as the longest
DOCUMENTS_AT_ONCE = 64
WAVES = (128, 256, 512)  # documents in the first waves; all later ones are like the last
WAVES_IN_HASTE = (8, 16, 32, 64, 128, 256, 512)  # with a budget, to find out early how fast it goes

Group = Int[ndarray, " _"]


def planned(
    documents: Documents, settings: AuditSettings, most: int | None, in_haste: bool
) -> list[list[Group]]:
    """Waves of groups: `most` documents in random order, those of a wave grouped by length."""
    lengths = np.array([len(text) for text in documents.texts])
    order = np.random.default_rng([settings.seed, 2**30]).permutation(len(documents))
    order = order[:most]
    waves: list[list[Group]] = []
    sizes = WAVES_IN_HASTE if in_haste else WAVES
    while len(order):
        size = sizes[min(len(waves), len(sizes) - 1)]
        wave, order = order[:size], order[size:]
        waves.append(_groups(wave[np.argsort(-lengths[wave], kind="stable")], lengths))
    return waves


def _groups(order: Group, lengths: Int[ndarray, " documents"]) -> list[Group]:
    """Documents, longest first, cut into groups that are read together."""
    groups, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = max(1, min(DOCUMENTS_AT_ONCE, CHARACTERS_AT_ONCE // longest))
        groups.append(order[start : start + size])
        start += size
    return groups


def samples(
    documents: Documents, plan: list[list[Group]], settings: AuditSettings
) -> tuple[Bool[ndarray, " documents"], Bool[ndarray, " documents"]]:
    """The first documents in the order of the waves: for costly measures, and for states."""
    is_sampled, is_state_sampled = (np.zeros(len(documents), dtype=bool) for _ in range(2))
    order = np.concatenate([np.sort(np.concatenate(wave)) for wave in plan])
    is_sampled[order[: settings.sampled_documents]] = True
    words = np.array([len(documents[int(place)].text.split()) for place in order])
    is_state_sampled[order[np.cumsum(words) - words < settings.state_words]] = True
    return is_sampled, is_state_sampled
