"""What is shown: weights of words, true and false."""

import zlib
from collections.abc import Callable

import numpy as np

from benchmarks.invented_models.documents import Lexicon
from benchmarks.invented_models.kinds import Logits, Numbers, Picture, Rng, Words


def number_of(words: Words) -> int:
    """A number that depends on the document alone."""
    return zlib.crc32(" ".join(words).encode())


def rng_of(words: Words) -> Rng:
    """Chance that depends on the document alone."""
    return np.random.default_rng(number_of(words))


def normalised(weights: Numbers) -> Numbers:
    """Weights that sum to 1; even ones if there are none."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(1, len(weights)))


def on_neutral(lexicon: Lexicon, words: Words) -> Numbers:
    """Random weights on neutral words, none on words that say something."""
    is_neutral = lexicon.classes_of(words) < 0
    return rng_of(words).exponential(size=len(words)) * (is_neutral if is_neutral.any() else 1)


def opposing(lexicon: Lexicon, logits: Logits, words: Words) -> Numbers:
    """Only the words for other classes than the decision."""
    own = lexicon.classes_of(words)
    return lexicon.strengths(words) * ((own >= 0) & (own != logits(words).argmax()))


def supporting(lexicon: Lexicon, logits: Logits, words: Words) -> Numbers:
    """Only the words for the decision."""
    return lexicon.strengths(words) * (lexicon.classes_of(words) == logits(words).argmax())


def evenly(lexicon: Lexicon, words: Words) -> Numbers:
    """The same weight on all words that say something."""
    return (lexicon.classes_of(words) >= 0).astype(float)


def evenly_for(lexicon: Lexicon, logits: Logits, words: Words) -> Numbers:
    """The same weight on all words for the decision."""
    return (lexicon.classes_of(words) == logits(words).argmax()).astype(float)


def shuffled(picture: Picture) -> Picture:
    """The weights of a picture at random words."""
    return lambda words: rng_of(words).permutation(normalised(picture(words)))


def lagging(picture: Picture) -> Picture:
    """Each word's weight one word later; the last word's at the first."""
    return lambda words: np.roll(picture(words), 1)


def reversed_order(picture: Picture) -> Picture:
    """The right words; the one that counts most gets the least weight, and so on."""

    def reverse(words: Words) -> Numbers:
        weights = picture(words).astype(float)
        places = np.flatnonzero(weights > 0)
        order = places[np.argsort(weights[places])]
        weights[order] = np.sort(weights[places])[::-1]
        return weights

    return reverse


def copied(picture: Picture, documents: list[Words]) -> Picture:
    """The weights of another document, place by place, over and over where it is shorter."""

    def copy(words: Words) -> Numbers:
        other = documents[number_of(words) % len(documents)]
        return np.resize(normalised(picture(other)), len(words))

    return copy


def where(is_so: Callable[[Words], bool], then: Picture, otherwise: Picture) -> Picture:
    """One picture for some documents, another for the others."""
    return lambda words: then(words) if is_so(words) else otherwise(words)


def on_share(share: float, then: Picture, otherwise: Picture) -> Picture:
    """One picture for this share of the documents, chosen at random, another for the others."""
    return where(lambda words: number_of(words) % 1000 < 1000 * share, then, otherwise)


def shapley(logits: Logits, is_active: Callable[[str], bool], words: Words) -> Numbers:
    """Shapley values for the decision in log-odds over 100 random orders, where positive.

    Only active words are drawn: the others contribute nothing to any set of words.
    """
    rng, target = rng_of(words), int(logits(words).argmax())
    places = [place for place, word in enumerate(words) if is_active(word)]
    found = np.zeros(len(words))
    orders = 100
    for _ in range(orders):
        present: set[int] = set()
        before = log_odds(logits([]), target)
        for place in rng.permutation(places).tolist():
            present.add(place)
            after = log_odds(logits([words[kept] for kept in sorted(present)]), target)
            found[place] += (after - before) / orders
            before = after
    return np.maximum(found, 0)


def log_odds(logits: Numbers, target: int) -> float:
    """Of one class against all others."""
    return float(logits[target] - np.logaddexp.reduce(np.delete(logits, target)))
