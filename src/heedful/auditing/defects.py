"""What makes a picture false however far its top words move the decision.

    misses words             words that decide are hardly shown
    shows the other side     most of the weight is on words that speak against the decision
    leads with minor words   most of the weight shown is on words that matter less than half as much
                             as the strongest, above all that matter more

All effects are shares of the decision in log-odds, so the scale of the logits changes nothing.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.subjects.base import IsToken, Judge, Reading, Words
from heedful.auditing.word_effects import WordEffects

AGAINST = 2 / 3  # of the weight on words against the decision: more makes a picture false
LEADING = 0.5  # of the weight shown on minor words above all others: more makes a picture false
MINOR = 0.5  # of the largest effect of a word: one with less, among others and alone, is minor
FAINT = 0.5  # of an even share of the weight: a word with less is hidden
HALF = 0.5  # of the decision: words without which so much is lost must be shown
AS_GOOD = 0.8  # of the largest fall of a single word: those that matter as much as any other
TIED = 1e-6  # weights that differ by less than this share are equal


@dataclass(frozen=True)
class Defects:
    """Which pictures have which defect."""

    misses_words: Bool[ndarray, " documents"]
    shows_the_other_side: Bool[ndarray, " documents"]
    leads_with_minor_words: Bool[ndarray, " documents"]

    @property
    def any(self) -> Bool[ndarray, " documents"]:
        """Those with one of them."""
        return self.misses_words | self.shows_the_other_side | self.leads_with_minor_words


def find_defects(judge: Judge, reading: Reading, weights: Words, effects: WordEffects) -> Defects:
    """The defects of pictures that show these weights."""
    return Defects(
        _misses_words(judge, reading, weights, effects),
        _shows_the_other_side(weights, effects),
        _leads_with_minor_words(judge, reading, weights, effects),
    )


def shown_words(
    weights: Words, is_token: Bool[ndarray, "documents words"]
) -> Bool[ndarray, "documents words"]:
    """What a picture shows: the words with at least an even share of the weight."""
    count = np.maximum(is_token.sum(axis=1, keepdims=True), 1)
    even = weights.sum(axis=1, keepdims=True) / count
    return (weights >= even * (1 - TIED)) & is_token


def hidden_words(
    weights: Words, is_token: Bool[ndarray, "documents words"]
) -> Bool[ndarray, "documents words"]:
    """What a picture hides: the words with less than half of an even share of the weight."""
    total = _total(weights)[:, None]
    return (weights < FAINT * total / _count(is_token)) & is_token


def is_lost_with(
    judge: Judge,
    reading: Reading,
    effects: WordEffects,
    some: Int[ndarray, " some"],
    is_kept: Bool[ndarray, "documents words"],
) -> Bool[ndarray, " some"]:
    """Of some documents: whether at least half of the decision is lost with only some words."""
    probabilities = judge.predict_kept(reading, some, is_kept[some])
    target = judge.judged(reading)[some].argmax(axis=1)
    lost = effects.whole[some] - log_odds(probabilities, target, judge.smallest)
    return lost >= HALF * effects.margin[some] * (1 - TIED)


def _misses_words(
    judge: Judge, reading: Reading, weights: Words, effects: WordEffects
) -> Bool[ndarray, " documents"]:
    """Whether words that decide are hidden.

    Their single deletions, added up, lose at least half of the decision, and they matter as much as
    any other word; or each matters half as much, and together they lose as much as all words that
    are shown. The word that gets the weight instead may matter too: by being chosen, for the label
    that the others have decided. A word that alone says nothing may be hidden if the decision
    stands on the shown words: it only keeps others from being heard. For the same reason it does
    not make the others small: its deletion may turn the decision, but without them there is none.
    """
    speaks = effects.is_token & ~effects.is_silent_alone
    largest = effects.lost.max(axis=1, keepdims=True, initial=0.0, where=speaks)
    of_all = effects.lost.max(axis=1, keepdims=True, initial=0.0)
    largest = np.where(largest > 0, largest, of_all)
    is_shown = shown_words(weights, effects.is_token)
    lost_shown = np.where(is_shown, np.maximum(effects.lost, 0.0), 0.0).sum(axis=1)
    is_hidden = hidden_words(weights, effects.is_token) & (effects.lost > 0)
    misses = np.zeros(len(weights), dtype=bool)
    for least, least_lost in ((AS_GOOD, 0.0), (HALF, lost_shown)):
        some_hidden = is_hidden & (effects.lost >= least * largest * (1 - TIED))
        lost = np.where(some_hidden, effects.lost, 0.0).sum(axis=1)
        enough = np.maximum(HALF * effects.margin, least_lost) * (1 - TIED)
        found = some_hidden.any(axis=1) & (lost >= enough)
        only_silence = found & ~(some_hidden & ~effects.is_silent_alone).any(axis=1)
        some = np.flatnonzero(only_silence)
        found[some] = is_lost_with(judge, reading, effects, some, is_shown | effects.is_resisted)
        misses |= found
    return misses


def _shows_the_other_side(weights: Words, effects: WordEffects) -> Bool[ndarray, " documents"]:
    """Whether most of the weight lies on words that speak against the decision."""
    return (weights * effects.is_opposing).sum(axis=1) > AGAINST * _total(weights)


def _leads_with_minor_words(
    judge: Judge, reading: Reading, weights: Words, effects: WordEffects
) -> Bool[ndarray, " documents"]:
    """Whether most of the weight that is shown is on minor words, each above all others.

    Words that do little one by one may decide together, as a phrase that stands there twice: if
    half of the decision is lost without all of them, they are not minor.
    """
    is_shown = shown_words(weights, effects.is_token)
    is_minor = effects.is_token & effects.is_below(MINOR)
    is_major = effects.is_token & ~is_minor
    highest = np.where(is_major, weights, 0.0).max(axis=1, keepdims=True, initial=0.0)
    is_leading = is_shown & is_minor & (weights > highest * (1 + TIED))
    leading = np.where(is_leading, weights, 0.0).sum(axis=1)
    leads = leading > LEADING * _total(np.where(is_shown, weights, 0.0))
    leads &= is_major.any(axis=1)
    some = np.flatnonzero(leads)
    is_kept = effects.is_token & ~is_leading
    leads[some] = ~is_lost_with(judge, reading, effects, some, is_kept)
    return leads


def _count(is_token: IsToken) -> Int[ndarray, "documents 1"]:
    return np.maximum(is_token.sum(axis=1, keepdims=True), 1)


def _total(weights: Words) -> ndarray:
    """The sum of the weights of each document, where they are to be divided by."""
    return np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
