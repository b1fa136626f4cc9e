"""Words that say something, and documents made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.invented_models.kinds import DOCUMENTS, Numbers, Range, Rng, Words


@dataclass(frozen=True)
class Lexicon:
    """Words that say something: a class and a strength each. All other words are neutral."""

    classes: int
    strength: dict[str, float]
    of_class: dict[str, int]

    @staticmethod
    def drawn(
        rng: Rng, classes: int, per_class: int = 10, draw: Callable[[Rng], float] | None = None
    ) -> "Lexicon":
        """The same number of words for each class; strengths between 0.6 and 1.4 by default."""
        draw = draw or (lambda rng: float(rng.uniform(0.6, 1.4)))
        of_class = {f"c{c}w{n}": c for c in range(classes) for n in range(per_class)}
        return Lexicon(classes, {word: draw(rng) for word in of_class}, of_class)

    def words_of(self, label: int) -> Words:
        """The words of one class."""
        return [word for word, own in self.of_class.items() if own == label]

    def strengths(self, words: Words) -> Numbers:
        """How much each word says; 0 for neutral words."""
        return np.array([self.strength.get(word, 0.0) for word in words])

    def classes_of(self, words: Words) -> NDArray[np.int64]:
        """The class of each word; -1 for neutral words."""
        return np.array([self.of_class.get(word, -1) for word in words], dtype=np.int64)

    def totals(self, words: Words, weights: Numbers) -> Numbers:
        """The weights of the words of each class, added."""
        own = self.classes_of(words)
        return np.array([float(weights[own == c].sum()) for c in range(self.classes)])

    def summed(self, words: Words) -> Numbers:
        """The strengths of the words of each class, added."""
        found = [0.0] * self.classes
        for word in words:
            if word in self.of_class:
                found[self.of_class[word]] += self.strength[word]
        return np.array(found)


def neutral(rng: Rng, count: int) -> Words:
    """Neutral words: few are frequent, many are rare."""
    ranks = np.minimum(rng.zipf(1.3, size=count), 300)
    return [f"n{rank}" for rank in ranks.tolist()]


def mixed_in(rng: Rng, said: Words, length: int) -> Words:
    """The words that say something, in this order, at random places among neutral ones."""
    length = max(length, len(said))
    found = neutral(rng, length)
    for place, word in zip(
        np.sort(rng.choice(length, len(said), replace=False)).tolist(), said, strict=True
    ):
        found[place] = word
    return found


def between(rng: Rng, ends: Range) -> int:
    """A whole number, both ends included."""
    return int(rng.integers(ends[0], ends[1] + 1))


def spread_length(rng: Rng) -> int:
    """5 to 300 words, short documents as frequent as long ones."""
    return int(np.exp(rng.uniform(np.log(5), np.log(300))))


def said_by(
    rng: Rng,
    lexicon: Lexicon,
    own: Range = (3, 6),
    other: Range = (0, 2),
    priors: Sequence[float] | None = None,
) -> Words:
    """Words for one class, and fewer for others, shuffled."""
    label = int(rng.choice(lexicon.classes, p=priors))
    others = [word for word, c in lexicon.of_class.items() if c != label]
    found = rng.choice(lexicon.words_of(label), between(rng, own)).tolist()
    found += rng.choice(others, between(rng, other)).tolist()
    return [str(word) for word in rng.permutation(found)]


def distinct(rng: Rng, write: Callable[[Rng], Words]) -> list[Words]:
    """Different documents."""
    found: dict[str, Words] = {}
    while len(found) < DOCUMENTS:
        words = write(rng)
        found.setdefault(" ".join(words), words)
    return list(found.values())


def usual_documents(
    rng: Rng, lexicon: Lexicon, lengths: Range = (10, 40), **said: Any
) -> list[Words]:
    """Documents with words for one class and fewer for others among neutral ones."""
    return distinct(
        rng, lambda rng: mixed_in(rng, said_by(rng, lexicon, **said), between(rng, lengths))
    )
