"""What each word of a document does to the decision: deleted, and alone.

Deleting a word shows what the decision loses with it, but not always which side the word is on:
where attention averages, the weaker of two words for the same label pulls the average down. What a
word says alone shows its side, but not whether it matters among the others: where a label is taken
for granted, every silent word speaks for it alone. A word is *opposing* only if both agree that it
speaks against the decision, or if it clearly does so alone and the decision does not need it: where
votes are counted, not added, one more or less against it changes nothing. It is *neutral* if both
find little in it.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing.metrics.log_odds import log_odds
from heedful.auditing.subjects.base import IsToken, Judge, Reading, Words

SLIGHT = 0.1  # of a document's largest effect: less than this counts as none
CLEAR = 0.5  # of a document's largest effect: a word speaks clearly
NEUTRAL_PART = 4  # one word in so many, those with the least effect, are called neutral
LEAST_MARGIN = 1e-4  # of log-odds: where there is less to lose, what moves is rounding
LITTLE = 0.25  # of a document's largest effect: a word with more is neutral only if all have more


@dataclass(frozen=True)
class WordEffects:
    """Effects of each word on the log-odds of a document's prediction."""

    is_token: IsToken
    whole: Float[ndarray, " documents"]  # log-odds of the prediction from all words
    nothing: Float[ndarray, " documents"]  # the same from no word at all
    lost: Words  # fall of the log-odds without the word
    alone: Words  # log-odds of the word alone, less those of no word at all
    lost_probability: Words  # fall of the probability without the word

    def of(self, some: Int[ndarray, " some"]) -> "WordEffects":
        """Those of some documents."""
        return WordEffects(*(getattr(self, field.name)[some] for field in fields(self)))

    @cached_property
    def is_opposing(self) -> Bool[ndarray, "documents words"]:
        """Words against the prediction: alone they speak against it, and it gains without them, or
        does not need them and they speak clearly."""
        return self.is_resisted | ((_shares(self.lost) < SLIGHT) & self._speaks_clearly_against)

    @cached_property
    def is_resisted(self) -> Bool[ndarray, "documents words"]:
        """Words against the prediction that it gains without."""
        return (_shares(self.lost) < -SLIGHT) & self.speaks_against

    @cached_property
    def is_silent_alone(self) -> Bool[ndarray, "documents words"]:
        """Words that alone say next to nothing for either side."""
        return (np.abs(_shares(self.alone)) <= SLIGHT) & self.is_token

    def is_below(self, share: float) -> Bool[ndarray, "documents words"]:
        """Words with less than a share of the largest effect of their document, among others and
        alone, for or against."""
        lost, alone = np.abs(_shares(self.lost)), np.abs(_shares(self.alone))
        return (lost < share) & (alone < share)

    @property
    def _speaks_clearly_against(self) -> Bool[ndarray, "documents words"]:
        """Alone, more than the document's usual word: no word at all may be an odd text to a model,
        and then every word speaks against what it says of that."""
        in_order = np.sort(np.where(self.is_token, self.alone, np.inf), axis=1)
        middle = (np.maximum(self.is_token.sum(axis=1, keepdims=True), 1) - 1) // 2
        usual = np.take_along_axis(in_order, middle, axis=1)  # without words there is none
        above_usual = np.where(self.is_token, self.alone - usual, 0.0)
        return (_shares(self.alone) < -CLEAR) & (_shares(above_usual) < -CLEAR) & self.is_token

    @cached_property
    def speaks_against(self) -> Bool[ndarray, "documents words"]:
        """Words that alone speak against the prediction, whatever they do among others."""
        return (_shares(self.alone) < -SLIGHT) & self.is_token

    @cached_property
    def is_neutral(self) -> Bool[ndarray, "documents words"]:
        """The quarter of a document's words with the least effect of either kind, without those of
        more than a little effect; at least one word."""
        effect = np.maximum(np.abs(_shares(self.lost)), np.abs(_shares(self.alone)))
        order = np.where(self.is_token, effect, np.inf).argsort(axis=1, kind="stable")
        place = order.argsort(axis=1)
        count = np.maximum(1, self.is_token.sum(axis=1) // NEUTRAL_PART)
        is_least = (place < count[:, None]) & self.is_token
        return is_least & ((effect <= LITTLE) | (place == 0))

    @property
    def lost_at(self) -> Float[ndarray, " documents"]:
        """Log-odds at which the decision is lost: even odds, or those of no word if they are lower.

        A fall below says nothing more of the words that carried the decision.
        """
        return np.minimum(self.nothing, 0.0)

    @property
    def margin(self) -> Float[ndarray, " documents"]:
        """What there is to lose: from the log-odds of all words to where the decision is lost.

        A text without any evidence is decided by nothing: there a little is asked for all the same,
        or the loss of nothing would be the loss of everything.
        """
        return np.maximum(self.whole - self.lost_at, LEAST_MARGIN)

    def fall_to(
        self, log_odds: Float[ndarray, "documents steps"]
    ) -> Float[ndarray, "documents steps"]:
        """How far the log-odds have fallen, until the decision is lost."""
        return self.whole[:, None] - np.maximum(log_odds, self.lost_at[:, None])

    def opposing_last(self, ranking: Words) -> Words:
        """A ranking of words without a sign, with those against the prediction moved to its end.

        A picture without signs may show words of both sides; deleting both would cancel.
        """
        span = ranking.max(initial=0.0) - ranking.min(initial=0.0) + 1.0
        return np.where(self.is_opposing, ranking - span, ranking)


def word_effects(judge: Judge, reading: Reading) -> WordEffects:
    """Every word deleted and every word alone, as a judge predicts them."""
    is_token, whole = reading.is_token, judge.judged(reading)
    prediction = whole.argmax(axis=1)
    rows, places = np.nonzero(is_token)
    without = judge.without_each(reading)[rows, places]
    alone = judge.alone_each(reading)
    every = np.arange(len(is_token))
    nothing = judge.predict_kept(reading, every, np.zeros_like(is_token))
    of_whole, of_nothing = (log_odds(p, prediction, judge.smallest) for p in (whole, nothing))

    def on_words(values: Float[ndarray, " all_words"]) -> Words:
        spread = np.zeros(is_token.shape)
        spread[rows, places] = values
        return spread

    target = prediction[rows]
    of_each = np.arange(len(rows))
    return WordEffects(
        is_token,
        of_whole,
        of_nothing,
        on_words(of_whole[rows] - log_odds(without, target, judge.smallest)),
        on_words(log_odds(alone, target, judge.smallest) - of_nothing[rows]),
        on_words(whole[rows, target] - without[of_each, target]),
    )


def _shares(effects: Words) -> Words:
    """Effects in units of the largest of their document; 0 where there is none at all."""
    largest = np.abs(effects).max(axis=1, keepdims=True, initial=0.0)
    return np.divide(effects, largest, out=np.zeros_like(effects), where=largest > 0)
