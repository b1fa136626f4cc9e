"""Kinds whose pictures are honest: lengths, classes, noise, and attention that is replaced."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.invented_models.cases import function_case
from benchmarks.invented_models.documents import (
    Lexicon,
    between,
    distinct,
    mixed_in,
    said_by,
    spread_length,
    usual_documents,
)
from benchmarks.invented_models.honest import additive_case, by_sign
from benchmarks.invented_models.kinds import Case, Numbers, Picture, Rng, Words, kind
from benchmarks.invented_models.pictures import evenly, rng_of, shapley, supporting


@kind("honest")
def prior_bias(rng: Rng) -> Case:
    """Strengths are added to a bias of 1.5 for the first of two classes."""
    lexicon = Lexicon.drawn(rng, 2)
    return function_case(
        rng,
        usual_documents(rng, lexicon),
        lambda words: lexicon.summed(words) + np.array([1.5, 0]),
        lexicon.strengths,
    )


@kind("honest")
def needle(rng: Rng) -> Case:
    """One word decides among 200 to 300."""
    lexicon = Lexicon.drawn(rng, 2)
    documents = usual_documents(rng, lexicon, (200, 300), own=(1, 1), other=(0, 0))
    return additive_case(rng, lexicon, documents, scale=3.0)


@kind("honest")
def long_documents(rng: Rng) -> Case:
    """150 to 300 words, 10 to 20 for the decision and up to 6 against it, graded."""
    lexicon = Lexicon.drawn(rng, 3, 30, lambda rng: float(rng.exponential() + 0.1))
    documents = usual_documents(rng, lexicon, (150, 300), own=(10, 20), other=(0, 6))
    return additive_case(rng, lexicon, documents)


@kind("honest")
def mixed_lengths(rng: Rng) -> Case:
    """5 to 300 words; a sixth of them say something, strengths are added."""
    lexicon = Lexicon.drawn(rng, 2)

    def write(rng: Rng) -> Words:
        length = spread_length(rng)
        own = max(1, length // 8)
        return mixed_in(rng, said_by(rng, lexicon, (own, own), (0, length // 16)), length)

    return additive_case(rng, lexicon, distinct(rng, write))


@kind("honest")
def tiny_documents(rng: Rng) -> Case:
    """Two to five words, one or two of which say something."""
    lexicon = Lexicon.drawn(rng, 2, 20)
    documents = usual_documents(rng, lexicon, (2, 5), own=(1, 2), other=(0, 0))
    return additive_case(rng, lexicon, documents)


@kind("honest")
def imbalanced(rng: Rng) -> Case:
    """85, 10 and 5% of the documents in three classes; strengths are added."""
    lexicon = Lexicon.drawn(rng, 3)
    documents = usual_documents(rng, lexicon, priors=(0.85, 0.1, 0.05))
    return additive_case(rng, lexicon, documents)


@kind("honest")
def length_normalised(rng: Rng) -> Case:
    """The sum of strengths is divided by the square root of the number of words."""
    lexicon = Lexicon.drawn(rng, 3)
    return function_case(
        rng,
        usual_documents(rng, lexicon, (10, 100)),
        lambda words: 6 * lexicon.summed(words) / np.sqrt(max(1, len(words))),
        lexicon.strengths,
    )


@kind("honest")
def punctuation_counts(rng: Rng) -> Case:
    """Marks are what decides: "!" for one class, "?" and "..." for the other."""
    strength = {"!": 1.0, "!!": 1.8, "?": 1.2, "...": 0.8}
    lexicon = Lexicon(2, strength, {"!": 0, "!!": 0, "?": 1, "...": 1})
    return additive_case(rng, lexicon, usual_documents(rng, lexicon))


@kind("honest", "as a ranking it is right; most of the mass lies on neutral words")
def smeared_below(rng: Rng) -> Case:
    """Right order, but four fifths of the mass is spread over neutral words, below the others."""
    lexicon = Lexicon.drawn(rng, 2)

    def picture(words: Words) -> Numbers:
        chance = rng_of(words).uniform(0.05, 0.35, size=len(words))
        return np.where(evenly(lexicon, words) > 0, lexicon.strengths(words), chance)

    documents = usual_documents(rng, lexicon, (60, 90))
    return function_case(rng, documents, lexicon.summed, picture)


@kind("honest")
def network_shapley(rng: Rng) -> Case:
    """A random network with a hidden layer reads counts of 24 words; weights are Shapley values."""
    vocabulary = [f"w{n}" for n in range(24)]
    number = {word: n for n, word in enumerate(vocabulary)}
    first, second = rng.normal(size=(24, 12)), rng.normal(size=(12, 2))
    shift = rng.normal(size=12)

    def logits(words: Words) -> Numbers:
        places = [number[word] for word in words if word in number]
        counts = np.bincount(np.array(places, dtype=np.int64), minlength=24).astype(float)
        hidden = np.maximum(counts @ first / 2 + shift, 0) - np.maximum(shift, 0)
        return np.asarray(hidden @ second)

    def write(rng: Rng) -> Words:
        said = [str(word) for word in rng.choice(vocabulary, between(rng, (5, 9)))]
        return mixed_in(rng, said, between(rng, (12, 25)))

    def is_clear(rng: Rng) -> Words:
        while True:
            words = write(rng)
            found = logits(words)
            if abs(found[0] - found[1]) > 1:
                return words

    picture = partial(shapley, logits, vocabulary.__contains__)
    return function_case(rng, distinct(rng, is_clear), logits, cached(picture))


def cached(picture: Picture) -> Picture:
    """The same; each document is drawn once."""
    known: dict[str, Numbers] = {}

    def draw(words: Words) -> Numbers:
        text = " ".join(words)
        if text not in known:
            known[text] = picture(words)
        return known[text]

    return draw


def first_of(words: Words, wanted: Callable[[str], bool]) -> int:
    """The place of the first such word; -1 if there is none."""
    return next((place for place, word in enumerate(words) if wanted(word)), -1)


@kind("honest")
def conjunction(rng: Rng) -> Case:
    """A class needs a word of each of two lists, anywhere; both have half of the weight.

    Another class has a word of only one of its lists in the same document.
    """

    def is_in(c: int, letter: str) -> Callable[[str], bool]:
        return lambda word: word.startswith(f"{letter}{c}-")

    def logits(words: Words) -> Numbers:
        heads = {word.split("-")[0] for word in words if "-" in word}
        return np.array([4.0 * (f"a{c}" in heads and f"b{c}" in heads) for c in range(3)])

    def picture(words: Words) -> Numbers:
        weights, decision = np.zeros(len(words)), int(logits(words).argmax())
        for letter in "ab":
            weights[first_of(words, is_in(decision, letter))] = 1
        return weights

    def write(rng: Rng) -> Words:
        label, numbers = int(rng.integers(3)), rng.integers(8, size=3)
        other = (label + between(rng, (1, 2))) % 3
        said = [f"a{label}-{numbers[0]}", f"b{label}-{numbers[1]}"]
        said.append(f"{rng.choice(['a', 'b'])}{other}-{numbers[2]}")
        said = [str(word) for word in rng.permutation(said)]
        return mixed_in(rng, said, between(rng, (10, 40)))

    return function_case(rng, distinct(rng, write), logits, picture)


@kind("honest")
def any_of(rng: Rng) -> Case:
    """One word of a class is enough, and there are two to four; they share the weight."""
    lexicon = Lexicon.drawn(rng, 3, draw=lambda rng: 1.0)

    def logits(words: Words) -> Numbers:
        return np.array([4.0 * (total > 0) for total in lexicon.summed(words).tolist()])

    documents = usual_documents(rng, lexicon, own=(2, 4), other=(0, 0))
    return function_case(rng, documents, logits, partial(evenly, lexicon))


@kind("honest", "the next strongest word stands in when the strongest is deleted")
def strongest_word(rng: Rng) -> Case:
    """Each class has the strength of its strongest word; weights only on these words."""
    lexicon = Lexicon.drawn(rng, 3, draw=lambda rng: float(rng.uniform(0.5, 3)))

    def strongest(words: Words) -> Numbers:
        strengths, own = lexicon.strengths(words), lexicon.classes_of(words)
        found = np.zeros(len(words))
        for c in np.unique(own[own >= 0]):
            place = int(np.where(own == c, strengths, 0).argmax())
            found[place] = strengths[place]
        return found

    def logits(words: Words) -> Numbers:
        return 2 * lexicon.totals(words, strongest(words))

    return function_case(rng, usual_documents(rng, lexicon), logits, strongest)


@kind("honest", "the next word stands in when the first is deleted")
def first_evidence(rng: Rng) -> Case:
    """Only the first word that says something is heard; it has all the weight."""
    lexicon = Lexicon.drawn(rng, 2)

    def picture(words: Words) -> Numbers:
        heard = np.zeros(len(words))
        place = first_of(words, lexicon.of_class.__contains__)
        if place >= 0:
            heard[place] = 1
        return heard

    def logits(words: Words) -> Numbers:
        place = first_of(words, lexicon.of_class.__contains__)
        return 3 * lexicon.summed(words[place : place + 1] if place >= 0 else [])

    documents = usual_documents(rng, lexicon, own=(1, 3), other=(1, 3))
    return function_case(rng, documents, logits, picture)


@kind("honest", "documents with too few such words have none that carry the decision")
def enough_of_them(rng: Rng) -> Case:
    """Three words of a list make the class, fewer do not; even weights on them.

    Where there are fewer than three, the weights are even over all words.
    """
    listed = {f"m{n}" for n in range(15)}

    def count(words: Words) -> int:
        return sum(word in listed for word in words)

    def logits(words: Words) -> Numbers:
        return by_sign(5 * float(np.tanh(3 * (count(words) - 2.5))))

    def picture(words: Words) -> Numbers:
        is_listed = np.array([float(word in listed) for word in words])
        return is_listed if count(words) >= 3 else np.ones(len(words))

    def write(rng: Rng) -> Words:
        number = between(rng, (3, 5)) if rng.random() < 0.6 else between(rng, (0, 2))
        said = [str(word) for word in rng.choice(sorted(listed), number)]
        return mixed_in(rng, said, between(rng, (10, 40)))

    return function_case(rng, distinct(rng, write), logits, picture)


@kind("honest")
def own_side_only(rng: Rng) -> Case:
    """Five classes with words for several in each document; weights on those for the decision."""
    lexicon = Lexicon.drawn(rng, 5)
    documents = usual_documents(rng, lexicon, own=(3, 5), other=(2, 4))
    picture = partial(supporting, lexicon, lexicon.summed)
    return function_case(rng, documents, lexicon.summed, picture)


@kind("honest")
def sharpened(rng: Rng) -> Case:
    """Right order, but weights grow with the exponent of the strength: most is on one word."""
    lexicon = Lexicon.drawn(rng, 2)

    def picture(words: Words) -> Numbers:
        return np.asarray(np.exp(6 * lexicon.strengths(words)) - 1)

    return function_case(rng, usual_documents(rng, lexicon), lexicon.summed, picture)


@kind("honest")
def blurred(rng: Rng) -> Case:
    """Weights are the strengths times noise of a quarter, plus a little on neutral words."""
    lexicon = Lexicon.drawn(rng, 2)

    def picture(words: Words) -> Numbers:
        noise = np.exp(rng_of(words).normal(scale=0.25, size=len(words)))
        return np.asarray((lexicon.strengths(words) + 0.03) * noise)

    return function_case(rng, usual_documents(rng, lexicon), lexicon.summed, picture)
