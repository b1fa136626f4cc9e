"""Whether the picture of a document is true: do its top words carry the decision?

Words are deleted, those on top first, and the log-odds of the prediction fall. A ranking's *fall*
is the mean, over a few numbers of deleted words, of the largest fall so far: where two words undo
each other (a negation and its word), deleting the second brings the decision back, and the first
mattered all the same. A picture lies between random rankings and the best one that was found:

    picture = (fall of attention - fall of random rankings) / (best fall - fall of random rankings)

Only as many words are deleted as the best ranking needs to lose the decision, or three: with half
of a long text gone, any order of its few important words looks right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.defects import (
    TIED,
    find_defects,
    hidden_words,
    is_lost_with,
    shown_words,
)
from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.metrics.top import top_k
from heedful.auditing.results import Column
from heedful.auditing.subjects.base import Judge, Reading, Words
from heedful.auditing.subjects.erasure import Ranking, predict_sets, tops_of_size
from heedful.auditing.word_effects import SLIGHT, WordEffects, word_effects
from heedful.text.documents import fingerprints

TRUE_PICTURE = 0.5  # of the way from random rankings to the best one; below, a picture is false
NUMBERS = (1, 2, 3, 5, 10, 20)  # of words that are deleted, beside shares of the words
MOST = 0.5  # of the words of a document are deleted
NEARLY_ALL = 0.9  # of the greatest fall: the best ranking needs no more words
FEW = 3  # words are always looked at, and as many as the best ranking needs

ATTENTION, LEAVE_ONE_OUT, ALONE = "attention", "leave-one-out", "words alone"
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


def ties_broken(weights: Words, texts: Sequence[str]) -> Words:
    """Weights that are equal, in an order that the text decides: their places in it are chance."""
    draws = np.empty(weights.shape)
    for row, number in enumerate(fingerprints(texts).tolist()):
        draws[row] = np.random.default_rng(number % 2**32).random(weights.shape[1])
    return weights * (1 + TIED * draws)


def numbers_of(reading: Reading, effects: WordEffects, shares: tuple[float, ...]) -> Steps:
    """How many words of each text are deleted for the falls of a ranking."""
    ranked = (reading.support & ~effects.is_opposing).sum(axis=1)
    return numbers_to_delete(reading.is_token.sum(axis=1), ranked, shares)


def cheap_rankings(reading: Reading, effects: WordEffects) -> dict[str, Ranking]:
    """Those that need each word deleted and alone; attention has no sign: opposing words last."""
    shown = effects.opposing_last(ties_broken(reading.weights, reading.texts))
    return {ATTENTION: shown, ALONE: effects.alone, LEAVE_ONE_OUT: effects.lost}


def largest_so_far(falls: BySteps) -> BySteps:
    """What more and more deleted words have moved the decision by, whatever a later one undoes."""
    return np.maximum.accumulate(falls, axis=1)


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


@dataclass(frozen=True)
class Pictures:
    """How true the picture of each document is; NaN where none can be judged."""

    place: Column  # between random rankings (0) and the best one (1)
    is_true: Column  # 1 or 0; NaN of silent documents
    is_silent: Bool[ndarray, " documents"]  # no words carry the decision
    best: Column  # the fall of the best ranking; NaN where all rankings do as well


def judge_pictures(
    judge: Judge,
    reading: Reading,
    effects: WordEffects,
    deleting: Deleting,
    fall: Column,
    floor: Column,
    weights: Words | None = None,
) -> Pictures:
    """The pictures of a reading, from the falls of attention and of random rankings.

    With other `weights` than those of attention they are the pictures of another measure: the fall
    is then that of its ranking.
    """
    weights = reading.weights if weights is None else weights
    margin = effects.margin
    best = deleting.mean(deleting.best)
    best = np.where(best - floor > SLIGHT * margin, best, np.nan)
    place = place_between(fall, floor, best)
    is_silent = deleting.is_silent(margin)
    # Where all words matter alike any order is as good as another, but not any picture: what it
    # hides must not carry the decision.
    has_order = reading.is_token.sum(axis=1) > 1
    alike = np.flatnonzero(np.isnan(place) & ~np.isnan(fall) & ~is_silent & has_order)
    is_shown_true = is_true(place)
    is_kept = reading.is_token & ~hidden_words(weights, reading.is_token)
    is_shown_true[alike] = ~is_lost_with(judge, reading, effects, alike, is_kept)
    is_wrong = find_defects(judge, reading, weights, effects).any
    is_shown_true[is_wrong & ~np.isnan(is_shown_true)] = 0.0
    silent = np.flatnonzero(is_silent)
    # Many words may say the same, or none may say anything. If the shown words do not carry the
    # decision either, others do, and the picture hides them.
    shown = shown_words(weights, reading.is_token)
    hidden = silent[is_lost_with(judge, reading, effects, silent, shown)]
    is_shown_true[hidden], is_silent[hidden] = 0.0, False
    return Pictures(place, is_shown_true, is_silent, best)


def drawn(scores: Words, is_signed: bool, is_token: Bool[ndarray, "documents words"]) -> Words:
    """What a picture of any measure shows, as weights that sum to 1.

    Of signed scores it is what speaks for the decision; those without a sign count from the least.
    """
    least = 0.0 if is_signed else np.where(is_token, scores, np.inf).min(axis=1, keepdims=True)
    shown = np.where(is_token, np.maximum(scores - np.minimum(least, 0.0), 0.0), 0.0)
    total = shown.sum(axis=1, keepdims=True)
    shown = np.where(total > 0, shown, is_token)
    return shown / np.maximum(shown.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def place_between(fall: Column, floor: Column, best: Column) -> Column:
    """Where a fall lies between that of random rankings (0) and the best one (1)."""
    with np.errstate(invalid="ignore", divide="ignore"):  # where nothing falls there is no place
        return (fall - floor) / (best - floor)


def is_true(picture: Column) -> Column:
    """1 or 0; NaN where there is no picture to judge."""
    return np.where(np.isnan(picture), np.nan, picture >= TRUE_PICTURE)


def true_pictures(
    judge: Judge,
    reading: Reading,
    rankings: Sequence[Ranking],
    shares: tuple[float, ...],
    random_rankings: Sequence[Ranking],
    others: Sequence[tuple[Words, bool]] = (),
) -> list[Column]:
    """Which pictures are true if `judge` predicts from what is left; NaN where none can be judged.

    Those of attention, then those of `others`: scores of words, and whether they have a sign. The
    best ranking is one of `rankings`, or what the judge itself says of single words.
    """
    effects = word_effects(judge, reading)
    numbers = numbers_of(reading, effects, shares)
    candidates = [*cheap_rankings(reading, effects).values(), *rankings]  # attention first
    found = largest_falls(judge, reading, effects, candidates, numbers)
    deleting = Deleting(numbers, np.max(found, axis=0))
    at_random = [effects.opposing_last(ranking) for ranking in random_rankings]
    floors = largest_falls(judge, reading, effects, at_random, deleting.counted_numbers)
    floor = deleting.mean(np.mean(floors, axis=0))
    ranked = [scores if signed else effects.opposing_last(scores) for scores, signed in others]
    of_others = (
        largest_falls(judge, reading, effects, ranked, deleting.counted_numbers) if ranked else []
    )
    shown = [None, *(drawn(scores, signed, reading.is_token) for scores, signed in others)]
    return [
        judge_pictures(
            judge, reading, effects, deleting, deleting.mean(falls), floor, weights
        ).is_true
        for falls, weights in zip([found[0], *of_others], shown, strict=True)
    ]


def largest_falls(
    judge: Judge,
    reading: Reading,
    effects: WordEffects,
    rankings: Sequence[Ranking],
    numbers: Steps,
) -> list[BySteps]:
    """Of each ranking, the largest falls so far as its top words are taken away."""
    everyone = np.arange(len(reading.texts))
    rest = [
        reading.is_token[:, None] & ~tops_of_size(reading, ranking, numbers) for ranking in rankings
    ]
    target = judge.judged(reading).argmax(axis=1)
    targets = np.repeat(target[:, None], numbers.shape[1], axis=1)
    return [
        largest_so_far(effects.fall_to(log_odds(without, targets, judge.smallest)))
        for without in predict_sets(judge, reading, everyone, rest)
    ]
