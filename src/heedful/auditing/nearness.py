"""How near attention comes to the best ranking of a text's words, from a few deletions.

    nearness = fall of attention / best fall of attention, leave-one-out and words alone

It is what `heedful.auditing.pictures` measures, without random rankings and greedy erasure, so a
single text can afford it. 1: no cheap ranking finds words that matter more. 0: the words with the
most weight do not matter, the picture has one of the defects of `heedful.auditing.defects`, or no
words carry the decision at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from heedful.auditing.defects import Defects, find_defects
from heedful.auditing.pictures import (
    ALONE,
    ATTENTION,
    LEAVE_ONE_OUT,
    BySteps,
    Deleting,
    Steps,
    cheap_rankings,
    largest_falls,
    numbers_of,
)
from heedful.auditing.results import Column
from heedful.auditing.subjects.base import Judge, Reading
from heedful.auditing.word_effects import WordEffects, word_effects

CHEAP = (ATTENTION, LEAVE_ONE_OUT, ALONE)  # rankings that need each word deleted and alone


@dataclass(frozen=True)
class Nearness:
    """The score of each text, and what makes it 0 whatever the falls."""

    score: Column  # 0 to 1
    is_silent: Bool[ndarray, " documents"]  # no words carry the decision
    defects: Defects


def nearness(
    judge: Judge,
    reading: Reading,
    effects: WordEffects,
    numbers: Steps,
    falls: Mapping[str, BySteps],
) -> Nearness:
    """Nearness from the largest falls so far of the cheap rankings, among others."""
    cheap = {name: falls[name] for name in CHEAP}
    deleting = Deleting(numbers, np.max(list(cheap.values()), axis=0))
    fall, best = deleting.mean(cheap[ATTENTION]), deleting.mean(deleting.best)
    is_silent = deleting.is_silent(effects.margin)
    defects = find_defects(judge, reading, reading.weights, effects)
    is_scored = ~(is_silent | defects.any) & (best > 0)
    score = np.divide(fall, best, out=np.zeros_like(fall), where=is_scored)
    return Nearness(np.clip(score, 0.0, 1.0), is_silent, defects)


def nearness_of(judge: Judge, reading: Reading, shares: tuple[float, ...]) -> Nearness:
    """Nearness of texts that were not audited; `shares` of the words as the audit deletes."""
    effects = word_effects(judge, reading)
    numbers, rankings = numbers_of(reading, effects, shares), cheap_rankings(reading, effects)
    found = largest_falls(judge, reading, effects, list(rankings.values()), numbers)
    falls = dict(zip(rankings, found, strict=True))
    return nearness(judge, reading, effects, numbers, falls)
