"""Whether the picture of a document is true: do its top words carry the decision?

Words are deleted, those on top first, and the log-odds of the prediction fall. A ranking's *fall*
is the mean, over a few numbers of deleted words, of the largest fall so far: where two words undo
each other (a negation and its word), deleting the second brings the decision back, and the first
mattered all the same. A picture lies between random rankings and the best one that was found:

    picture = (fall of attention - fall of random rankings) / (best fall - fall of random rankings)

Only as many words are deleted as the best ranking needs to lose the decision, or three: with half
of a long text gone, any order of its few important words looks right.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.metrics.top import top_k
from heedful.auditing.results import Column
from heedful.auditing.subjects.base import Judge, Reading, Words
from heedful.auditing.word_effects import SLIGHT, WordEffects

TRUE_PICTURE = 0.5  # of the way from random rankings to the best one; below, a picture is false
NUMBERS = (1, 2, 3, 5, 10, 20)  # of words that are deleted, beside shares of the words
MOST = 0.5  # of the words of a document are deleted
NEARLY_ALL = 0.9  # of the greatest fall: the best ranking needs no more words
FEW = 3  # words are always looked at, and as many as the best ranking needs
AGAINST = 2 / 3  # of the weight on words against the decision: more makes a picture false
FAINT = 0.5  # of an even share of the weight: a word with less is not shown
HALF = 0.5  # of the decision: words without which so much is lost must be shown
AS_GOOD = 0.8  # of the largest fall of a single word
SHOWN_WEIGHT = 0.8  # the fewest words that hold this share of the weight are what a picture shows

Steps = Int[ndarray, "documents steps"]
BySteps = Float[ndarray, "documents steps"]


def numbers_to_delete(
    words: Int[ndarray, " documents"],
    ranked: Int[ndarray, " documents"],
    shares: tuple[float, ...],
) -> Steps:
    """Numbers of deleted words of each document, ascending; at most half of all, or all ranked.

    Sparse attention says nothing of the order of words without weight: `ranked` are the others.
    """
    most = np.minimum(top_k(MOST, words), np.maximum(ranked, 1))[:, None]
    numbers = np.broadcast_to(np.array(NUMBERS), (len(words), len(NUMBERS)))
    by_share = np.stack([top_k(share, words) for share in shares], axis=1)
    return np.sort(np.minimum(np.concatenate([numbers, by_share], axis=1), most), axis=1)


def largest_so_far(falls: BySteps) -> BySteps:
    """What more and more deleted words have moved the decision by, whatever a later one undoes."""
    return np.maximum.accumulate(falls, axis=1)


def falls_without(
    judge: Judge,
    reading: Reading,
    effects: WordEffects,
    some: Int[ndarray, " some"],
    without: Float[ndarray, "some steps classes"],
) -> Float[ndarray, "some steps"]:
    """Falls of the log-odds of some documents without sets of words, down to a lost decision."""
    target = np.repeat(judge.judged(reading)[some].argmax(axis=1)[:, None], without.shape[1], 1)
    left = np.maximum(log_odds(without, target, judge.smallest), effects.lost_at[some, None])
    return effects.whole[some, None] - left


@dataclass(frozen=True)
class Deleting:
    """Which numbers of deleted words count, by the best ranking found for each document."""

    numbers: Steps  # ascending
    best: BySteps  # the largest fall so far of the best ranking at each number

    @cached_property
    def is_counted(self) -> Bool[ndarray, "documents steps"]:
        """Each number once, as far as the best ranking needs to lose the decision, or three."""
        enough = (self.best >= NEARLY_ALL * self.best[:, -1:]).argmax(axis=1)
        needed = np.take_along_axis(self.numbers, enough[:, None], axis=1)
        is_new = np.diff(self.numbers, axis=1, prepend=0) > 0
        return is_new & (self.numbers <= np.maximum(FEW, needed))

    @property
    def counted_numbers(self) -> Steps:
        """The numbers that count, the others replaced by the largest of these."""
        largest = np.where(self.is_counted, self.numbers, 0).max(axis=1, keepdims=True)
        return np.minimum(self.numbers, largest)

    def mean(self, largest_falls: BySteps) -> Column:
        """The fall of a ranking: the mean over the numbers that count."""
        return np.where(self.is_counted, largest_falls, 0.0).sum(axis=1) / self.is_counted.sum(1)

    def is_silent(self, margin: Column) -> Bool[ndarray, " documents"]:
        """Even the best ranking hardly moves the decision: no words carry it."""
        return self.best[:, -1] <= SLIGHT * margin


def place_between(fall: Column, floor: Column, best: Column) -> Column:
    """Where a fall lies between that of random rankings (0) and the best one (1)."""
    return (fall - floor) / (best - floor)


def is_true(picture: Column) -> Column:
    """1 or 0; NaN where there is no picture to judge."""
    return np.where(np.isnan(picture), np.nan, picture >= TRUE_PICTURE)


def misses_a_word(weights: Words, effects: WordEffects) -> Bool[ndarray, " documents"]:
    """Whether a word that decides as much as any other is hardly shown.

    Its deletion alone loses at least half of the decision, and its weight is under half of an even
    share. The word that gets the weight instead may matter too: by being chosen, for the label that
    the other one has decided.
    """
    count = np.maximum(effects.is_token.sum(axis=1, keepdims=True), 1)
    is_faint = (weights < FAINT / count) & effects.is_token
    is_needed = effects.lost >= HALF * (effects.whole - effects.lost_at)[:, None]
    is_best = effects.lost >= AS_GOOD * effects.lost.max(axis=1, keepdims=True, initial=0.0)
    return (is_faint & is_needed & is_best & (effects.lost > 0)).any(axis=1)


def shows_the_other_side(weights: Words, effects: WordEffects) -> Bool[ndarray, " documents"]:
    """Whether most of the weight lies on words that speak against the decision."""
    total = np.maximum(weights.sum(axis=1), np.finfo(np.float64).tiny)
    return (weights * effects.is_opposing).sum(axis=1) > AGAINST * total


def shown_words(weights: Words) -> Bool[ndarray, "documents words"]:
    """What a picture shows: the fewest words that hold most of the weight, equal ones in order."""
    order = (-weights).argsort(axis=1, kind="stable")
    descending = np.take_along_axis(weights, order, axis=1)
    before = descending.cumsum(axis=1) - descending
    is_shown = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(
        is_shown, order, before < SHOWN_WEIGHT * weights.sum(axis=1, keepdims=True), axis=1
    )
    return is_shown & (weights > 0)


def is_hidden(
    judge: Judge, reading: Reading, effects: WordEffects, some: Int[ndarray, " some"]
) -> Bool[ndarray, " some"]:
    """Of some documents: whether the words that a picture shows lose half of the decision alone.

    Where no deletions lose it, many words may say the same, or none may say anything. If the shown
    words do not carry the decision either, others do, and the picture hides them.
    """
    kept = judge.predict_kept(reading, some, shown_words(reading.weights)[some])
    target = judge.judged(reading)[some].argmax(axis=1)
    lost = effects.whole[some] - log_odds(kept, target, judge.smallest)
    return lost > HALF * (effects.whole - effects.lost_at)[some]
