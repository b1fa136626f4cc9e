"""Kinds whose pictures are honest: words for labels, alone and together."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.invented_models.cases import function_case
from benchmarks.invented_models.documents import (
    Lexicon,
    between,
    distinct,
    mixed_in,
    neutral,
    said_by,
    usual_documents,
)
from benchmarks.invented_models.kinds import Case, Numbers, Rng, Words, kind
from benchmarks.invented_models.pictures import evenly_for, rng_of


def additive_case(
    rng: Rng, lexicon: Lexicon, documents: list[Words], scale: float = 1.0, **more: Any
) -> Case:
    """Strengths are added; the picture is exactly what is added."""
    return function_case(
        rng, documents, lambda words: scale * lexicon.summed(words), lexicon.strengths, **more
    )


@kind("honest")
def long_tail(rng: Rng) -> Case:
    """Two classes; strengths with a long tail are added; weights are the strengths."""
    lexicon = Lexicon.drawn(rng, 2, 20, lambda rng: float(min(0.2 + rng.pareto(1.2), 8)))
    return additive_case(rng, lexicon, usual_documents(rng, lexicon, own=(4, 8), other=(1, 3)))


@kind("honest")
def many_weak(rng: Rng) -> Case:
    """30 weak words of the same strength add up to the decision, among 20 to 30 neutral ones."""
    lexicon = Lexicon.drawn(rng, 2, 60, lambda rng: 0.1)
    documents = usual_documents(rng, lexicon, (50, 60), own=(30, 30), other=(0, 0))
    return additive_case(rng, lexicon, documents)


@kind("honest")
def twelve_classes(rng: Rng) -> Case:
    """Twelve classes, every document with words for several; strengths are added."""
    lexicon = Lexicon.drawn(rng, 12)
    return additive_case(rng, lexicon, usual_documents(rng, lexicon, other=(2, 4)), scale=2.0)


@kind("honest")
def position_decay(rng: Rng) -> Case:
    """Strengths are added, each times 0.94 for every word before it; weights are the products."""
    lexicon = Lexicon.drawn(rng, 3)

    def decayed(words: Words) -> Numbers:
        return lexicon.strengths(words) * 0.94 ** np.arange(len(words))

    def logits(words: Words) -> Numbers:
        return 2 * lexicon.totals(words, decayed(words))

    documents = usual_documents(rng, lexicon, (10, 60))
    return function_case(rng, documents, logits, decayed, unknown_word="unknownword")


def negated_value(lexicon: Lexicon, words: Words) -> Numbers:
    """Per word, its signed strength of class 1 against class 0; "not" before a word turns it."""
    sign = np.where(lexicon.classes_of(words) == 1, 1.0, -1.0)
    follows = np.array([place > 0 and words[place - 1] == "not" for place in range(len(words))])
    return lexicon.strengths(words) * sign * np.where(follows, -1, 1)


def negation_documents(rng: Rng, lexicon: Lexicon, share: float = 0.5) -> list[Words]:
    """Words for both classes; "not" before this share of them."""

    def write(rng: Rng) -> Words:
        label = int(rng.integers(2))
        found: Words = []
        for _ in range(between(rng, (3, 5))):
            is_negated = rng.random() < share
            own = lexicon.words_of(1 - label if is_negated else label)
            found += neutral(rng, between(rng, (1, 6)))
            found += ["not"] * is_negated + [str(rng.choice(own))]
        return found + neutral(rng, between(rng, (0, 5)))

    return distinct(rng, write)


def by_sign(total: float) -> Numbers:
    """Logits of two classes from one number."""
    return np.array([-total / 2, total / 2])


@kind("honest", "Shapley gives 'not' all and its word nothing: alone they cancel")
def negation_shared(rng: Rng) -> Case:
    """ "not" turns the next word to the other class; both have the weight of the word."""
    lexicon = Lexicon.drawn(rng, 2)

    def picture(words: Words) -> Numbers:
        weights = np.abs(negated_value(lexicon, words))
        for place, word in enumerate(words[:-1]):
            if word == "not":
                weights[place] = weights[place + 1]
        return weights

    return function_case(
        rng,
        negation_documents(rng, lexicon),
        lambda words: by_sign(2 * float(negated_value(lexicon, words).sum())),
        picture,
    )


def intensified(lexicon: Lexicon, words: Words) -> Numbers:
    """Strengths; twice that of a word after "very"."""
    follows = np.array([place > 0 and words[place - 1] == "very" for place in range(len(words))])
    return lexicon.strengths(words) * np.where(follows, 2, 1)


def intensifier_case(rng: Rng, share_of_very: float, share_of_word: float) -> Case:
    """ "very" doubles the next word; the weights of both as shares of the word's strength."""
    lexicon = Lexicon.drawn(rng, 3)

    def write(rng: Rng) -> Words:
        said = [["very", word] if rng.random() < 0.6 else [word] for word in said_by(rng, lexicon)]
        found = neutral(rng, between(rng, (0, 4)))
        for words in said:
            found += words + neutral(rng, between(rng, (1, 5)))
        return found

    def logits(words: Words) -> Numbers:
        return lexicon.totals(words, intensified(lexicon, words))

    def picture(words: Words) -> Numbers:
        weights = lexicon.strengths(words)
        for place, word in enumerate(words[:-1]):
            if word == "very" and weights[place + 1] > 0:
                weights[place] = weights[place + 1] * share_of_very
                weights[place + 1] *= share_of_word
        return weights

    return function_case(rng, distinct(rng, write), logits, picture)


@kind("honest")
def intensifier(rng: Rng) -> Case:
    """ "very" doubles the next word; weights are Shapley values: 0.5 and 1.5 of the strength."""
    return intensifier_case(rng, 0.5, 1.5)


@kind("honest")
def phrases(rng: Rng) -> Case:
    """Only pairs of neighbouring words say something; both have half of its strength.

    Half pairs of other classes stand in the same documents.
    """
    strength = {(c, n): float(rng.uniform(0.6, 1.4)) for c in range(3) for n in range(8)}
    of_first = {f"c{c}p{n}": (c, n) for c, n in strength}
    of_second = {f"c{c}q{n}": (c, n) for c, n in strength}

    def said(words: Words) -> list[tuple[int, tuple[int, int]]]:
        pairs = enumerate(pairwise(words))
        return [
            (place, of_first[one])
            for place, (one, two) in pairs
            if one in of_first and of_first[one] == of_second.get(two)
        ]

    def logits(words: Words) -> Numbers:
        found = np.zeros(3)
        for _, phrase in said(words):
            found[phrase[0]] += 2 * strength[phrase]
        return found

    def picture(words: Words) -> Numbers:
        weights = np.zeros(len(words))
        for place, phrase in said(words):
            weights[[place, place + 1]] += strength[phrase] / 2
        return weights

    def write(rng: Rng) -> Words:
        label, found = int(rng.integers(3)), neutral(rng, between(rng, (1, 4)))
        for _ in range(between(rng, (1, 4))):
            number = int(rng.integers(8))
            found += [
                f"c{label}p{number}",
                f"c{label}q{number}",
                *neutral(rng, between(rng, (2, 6))),
            ]
        half = rng.choice([*of_first, *of_second])
        return [*found, str(half), *neutral(rng, between(rng, (1, 4)))]

    return function_case(rng, distinct(rng, write), logits, picture)


@kind("honest", "the words before 'but' have a Shapley value of their own, against the decision")
def contrast(rng: Rng) -> Case:
    """Words before "but" are not heard; weights are positive Shapley values.

    Words after "but" have their strength, "but" half of what it silences, words before it nothing.
    """
    lexicon = Lexicon.drawn(rng, 2)

    def signed(words: Words) -> Numbers:
        return lexicon.strengths(words) * np.where(lexicon.classes_of(words) == 1, 1, -1)

    def logits(words: Words) -> Numbers:
        heard = words[words.index("but") + 1 :] if "but" in words else words
        return by_sign(2 * float(signed(heard).sum()))

    def picture(words: Words) -> Numbers:
        decision = np.sign(logits(words)[1])
        effects = signed(words) * decision
        if "but" in words:
            place = words.index("but")
            effects[place] = -effects[:place].sum() / 2
            effects[:place] = 0
        return np.maximum(effects, 0)

    def write(rng: Rng) -> Words:
        label = int(rng.integers(2))

        def part(own: int) -> Words:
            said = [str(word) for word in rng.choice(lexicon.words_of(own), between(rng, (1, 4)))]
            return mixed_in(rng, said, between(rng, (4, 15)))

        return [*part(1 - label), "but", *part(label)] if rng.random() < 0.6 else part(label)

    return function_case(rng, distinct(rng, write), logits, picture)


@kind("honest")
def majority(rng: Rng) -> Case:
    """The class with more words wins, however many more; even weights on its words."""
    lexicon = Lexicon.drawn(rng, 2, draw=lambda rng: 1.0)

    def logits(words: Words) -> Numbers:
        counts = lexicon.summed(words)
        return by_sign(5 * float(np.sign(counts[1] - counts[0])))

    documents = usual_documents(rng, lexicon, own=(3, 7), other=(0, 3))
    return function_case(rng, documents, logits, partial(evenly_for, lexicon, logits))


@kind("honest")
def capped_count(rng: Rng) -> Case:
    """Four classes; the words of a class count, but no more than three of them.

    Even weights on a class's words that sum to what the class gets: Shapley values.
    """
    lexicon = Lexicon.drawn(rng, 4, draw=lambda rng: 1.0)

    def logits(words: Words) -> Numbers:
        return 1.5 * np.minimum(lexicon.summed(words), 3)

    def picture(words: Words) -> Numbers:
        counts, own = lexicon.summed(words), lexicon.classes_of(words)
        return np.where(own >= 0, np.minimum(counts, 3)[own] / np.maximum(counts, 1)[own], 0)

    documents = usual_documents(rng, lexicon, own=(3, 7), other=(0, 3))
    return function_case(rng, documents, logits, picture)


@kind("honest")
def rare_words(rng: Rng) -> Case:
    """Every word that says something is seen once: only its ending tells its class."""
    endings = ("al", "ic", "um")

    def classes_of(words: Words) -> list[int]:
        return [endings.index(w[-2:]) if w.startswith("z") else -1 for w in words]

    def logits(words: Words) -> Numbers:
        own = classes_of(words)
        return np.array([1.5 * own.count(c) for c in range(3)])

    def write(rng: Rng) -> Words:
        label = int(rng.integers(3))
        own = [label] * between(rng, (2, 4)) + [(label + 1) % 3] * between(rng, (0, 1))
        said = [f"z{rng.integers(10**9)}{endings[c]}" for c in rng.permutation(own).tolist()]
        return mixed_in(rng, said, between(rng, (10, 40)))

    return function_case(
        rng,
        distinct(rng, write),
        logits,
        lambda words: np.array([float(c >= 0) for c in classes_of(words)]),
    )


def repeating_documents(rng: Rng, lexicon: Lexicon) -> list[Words]:
    """One or two words for a class, each three to six times, and one for another class once."""

    def write(rng: Rng) -> Words:
        label = int(rng.integers(lexicon.classes))
        own = rng.choice(lexicon.words_of(label), between(rng, (1, 2)), replace=False)
        said = [str(word) for word in own for _ in range(between(rng, (3, 6)))]
        other = rng.choice(lexicon.words_of((label + 1) % lexicon.classes))
        said = [str(word) for word in rng.permutation([*said, other])]
        return mixed_in(rng, said, between(rng, (20, 50)))

    return distinct(rng, write)


@kind("honest")
def repeated_words(rng: Rng) -> Case:
    """The same word three to six times in a document; each time its strength is added."""
    lexicon = Lexicon.drawn(rng, 3)
    return additive_case(rng, lexicon, repeating_documents(rng, lexicon))


def shared_by_repeats(value: Callable[[str, int], float], words: Words) -> Numbers:
    """What a word is worth at its count, evenly on all its places."""
    counts = Counter(words)
    return np.array([value(word, counts[word]) / counts[word] for word in words])


def counted_case(
    rng: Rng, lexicon: Lexicon, documents: list[Words], worth: Callable[[int], float]
) -> Case:
    """A word is worth its strength times a function of its count; weights are Shapley values."""

    def value(word: str, count: int) -> float:
        return lexicon.strength.get(word, 0.0) * worth(count)

    def logits(words: Words) -> Numbers:
        found = np.zeros(lexicon.classes)
        for word, count in Counter(words).items():
            if word in lexicon.of_class:
                found[lexicon.of_class[word]] += 2 * value(word, count)
        return found

    return function_case(rng, documents, logits, partial(shared_by_repeats, value))


@kind("honest")
def presence(rng: Rng) -> Case:
    """Whether a word is there, not how often; its repetitions share its weight."""
    lexicon = Lexicon.drawn(rng, 3)
    return counted_case(rng, lexicon, repeating_documents(rng, lexicon), lambda count: 1.0)


@kind("honest")
def log_counts(rng: Rng) -> Case:
    """Strength times log(1 + count), as in many search engines; repetitions share the weight."""
    lexicon = Lexicon.drawn(rng, 3)
    return counted_case(
        rng, lexicon, repeating_documents(rng, lexicon), lambda count: float(np.log1p(count))
    )


@kind("honest")
def out_of_vocabulary(rng: Rng) -> Case:
    """Most words of a document are seen nowhere else and say nothing."""
    lexicon = Lexicon.drawn(rng, 2)

    def write(rng: Rng) -> Words:
        words = mixed_in(rng, said_by(rng, lexicon), between(rng, (10, 40)))
        return [
            f"x{rng.integers(10**9)}"
            if word not in lexicon.of_class and rng.random() < 0.8
            else word
            for word in words
        ]

    return additive_case(rng, lexicon, distinct(rng, write))


@kind("honest")
def noisy_logits(rng: Rng) -> Case:
    """Noise of a tenth of the decision is added, another for every text."""
    lexicon = Lexicon.drawn(rng, 2)

    def logits(words: Words) -> Numbers:
        return lexicon.summed(words) + rng_of(words).normal(scale=0.3, size=2)

    documents = usual_documents(rng, lexicon)
    return function_case(rng, documents, logits, lexicon.strengths)


@kind("honest")
def unsure(rng: Rng) -> Case:
    """Strengths are added at a temperature of 25: no class gets much more than another."""
    lexicon = Lexicon.drawn(rng, 3)
    return additive_case(rng, lexicon, usual_documents(rng, lexicon), scale=0.04)


@kind("honest")
def sure(rng: Rng) -> Case:
    """Strengths are added, times 3: the decision has 99.9% and more."""
    lexicon = Lexicon.drawn(rng, 3)
    return additive_case(rng, lexicon, usual_documents(rng, lexicon), scale=3.0)


@kind("honest")
def saturated(rng: Rng) -> Case:
    """Strengths are added, times 30: probabilities are 0 and 1 as far as numbers go."""
    lexicon = Lexicon.drawn(rng, 2)
    return additive_case(rng, lexicon, usual_documents(rng, lexicon), scale=30.0)


@kind("honest")
def rounded(rng: Rng) -> Case:
    """Strengths are added; the service rounds probabilities to two decimals."""
    lexicon = Lexicon.drawn(rng, 2)
    return additive_case(rng, lexicon, usual_documents(rng, lexicon), decimals=2)


@kind("honest", "documents of the default class have no words that carry the decision")
def default_class(rng: Rng) -> Case:
    """Four classes; the first is the default where no words speak for another: 40% of the texts.

    There the weights are even.
    """
    drawn = Lexicon.drawn(rng, 4)
    said = {word: c for word, c in drawn.of_class.items() if c > 0}
    lexicon = Lexicon(4, {word: drawn.strength[word] for word in said}, said)

    def write(rng: Rng) -> Words:
        priors = (0, 1 / 3, 1 / 3, 1 / 3)
        found = said_by(rng, lexicon, other=(0, 0), priors=priors) if rng.random() < 0.6 else []
        return mixed_in(rng, found, between(rng, (10, 40)))

    return function_case(
        rng,
        distinct(rng, write),
        lambda words: 2 * lexicon.summed(words) + np.array([2.5, 0, 0, 0]),
        lexicon.strengths,
    )
