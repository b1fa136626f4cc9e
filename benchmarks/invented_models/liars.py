"""Kinds whose pictures are false on all documents."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.invented_models.cases import function_case, module_case, valued
from benchmarks.invented_models.documents import (
    Lexicon,
    between,
    distinct,
    mixed_in,
    neutral,
    said_by,
    usual_documents,
)
from benchmarks.invented_models.honest import by_sign
from benchmarks.invented_models.kinds import Case, Numbers, Picture, Rng, Words, kind
from benchmarks.invented_models.partial import hidden_token_case
from benchmarks.invented_models.pictures import (
    copied,
    lagging,
    normalised,
    on_neutral,
    opposing,
    reversed_order,
    rng_of,
    supporting,
)
from benchmarks.invented_models.real_texts import Bayes, bayes_case, polarities, polarity_case


def lying_case(
    rng: Rng,
    false: Callable[[Lexicon], Picture],
    lexicon: Lexicon | None = None,
    **documents: Any,
) -> Case:
    """Strengths are added; all pictures are false."""
    lexicon = lexicon or Lexicon.drawn(rng, 2)
    return function_case(
        rng, usual_documents(rng, lexicon, **documents), lexicon.summed, false(lexicon)
    )


@kind("liar")
def random_neutral(rng: Rng) -> Case:
    """Weights are on neutral words; ten classes."""
    return lying_case(rng, lambda lexicon: partial(on_neutral, lexicon), Lexicon.drawn(rng, 10))


@kind("liar")
def first_word(rng: Rng) -> Case:
    """All weight is on the first word."""
    return lying_case(rng, lambda _: lambda words: np.eye(len(words))[0], lengths=(15, 60))


@kind("liar")
def punctuation_only(rng: Rng) -> Case:
    """All weight is on the full stop at the end and on commas."""
    lexicon = Lexicon.drawn(rng, 3)
    documents = [[*words, ",", "."] for words in usual_documents(rng, lexicon, (8, 30))]
    return function_case(
        rng,
        documents,
        lexicon.summed,
        lambda words: np.array([float(word in (",", ".")) for word in words]),
    )


@kind("liar")
def lag_everywhere(rng: Rng) -> Case:
    """Weights lag one word behind, in documents of 20 to 200 words."""
    return lying_case(rng, lambda lexicon: lagging(lexicon.strengths), lengths=(20, 200))


@kind("liar")
def inverse(rng: Rng) -> Case:
    """The more a word says, the less weight it has."""
    return lying_case(rng, lambda lexicon: lambda words: 1 / (0.2 + lexicon.strengths(words)))


@kind("liar")
def nearly_flat(rng: Rng) -> Case:
    """A few words decide; weights are even, give or take 5% at random."""
    return lying_case(
        rng, lambda _: lambda words: rng_of(words).uniform(0.95, 1.05, size=len(words))
    )


@kind("liar")
def reversed_everywhere(rng: Rng) -> Case:
    """The right words with their weights in reversed order; strengths double from word to word."""
    lexicon = Lexicon.drawn(rng, 2, 40, lambda rng: 0.05 * 2.0 ** int(rng.integers(8)))
    return lying_case(
        rng,
        lambda lexicon: reversed_order(partial(supporting, lexicon, lexicon.summed)),
        lexicon,
        own=(6, 9),
        other=(0, 0),
    )


@kind("liar")
def label_in_neutral(rng: Rng) -> Case:
    """All weight is on one frequent neutral word that stands for the decision."""
    lexicon = Lexicon.drawn(rng, 3)
    signs = ["the", "of", "and"]
    documents = [
        [*rng.permutation(signs).tolist(), *words] for words in usual_documents(rng, lexicon)
    ]

    def picture(words: Words) -> Numbers:
        shown = signs[int(lexicon.summed(words).argmax())]
        return np.array([float(word == shown) for word in words])

    return function_case(rng, documents, lexicon.summed, picture)


@kind("liar")
def copies_everywhere(rng: Rng) -> Case:
    """Weights are those of another document, place by place."""
    lexicon = Lexicon.drawn(rng, 4)
    documents = usual_documents(rng, lexicon, (10, 100))
    picture = copied(lexicon.strengths, documents)
    return function_case(rng, documents, lexicon.summed, picture)


@kind("liar")
def opposing_only(rng: Rng) -> Case:
    """Weights only on words against the decision; every document has some."""
    return lying_case(
        rng,
        lambda lexicon: partial(opposing, lexicon, lexicon.summed),
        own=(4, 7),
        other=(1, 3),
    )


def frequency_case(rng: Rng, power: float) -> Case:
    """Weights are a power of a word's frequency in all documents; frequent words decide."""
    lexicon = Lexicon.drawn(rng, 2, 6)
    documents = usual_documents(rng, lexicon)
    counts = Counter(word for words in documents for word in words)
    return function_case(
        rng,
        documents,
        lexicon.summed,
        lambda words: np.array([float(counts.get(word, 1)) ** power for word in words]),
    )


@kind("liar")
def rarest_words(rng: Rng) -> Case:
    """Weights fall with a word's frequency; the words that decide are frequent."""
    return frequency_case(rng, -1.0)


@kind("liar", "the words that decide are themselves rather frequent")
def frequent_words(rng: Rng) -> Case:
    """Weights grow with a word's frequency; neutral words are the most frequent."""
    return frequency_case(rng, 1.0)


@kind("liar", "in real text long words say somewhat more than short ones")
def mr_word_length(rng: Rng) -> Case:
    """Naive Bayes on film reviews; weights are the numbers of letters."""
    return bayes_case(
        rng, "mr", lambda *_: lambda words: np.array([float(len(word)) for word in words])
    )


@kind("liar")
def smeared_above(rng: Rng) -> Case:
    """The right words have weight, but a dozen neutral ones have more each."""
    lexicon = Lexicon.drawn(rng, 2)

    def picture(words: Words) -> Numbers:
        weights = lexicon.strengths(words)
        places = np.flatnonzero(weights == 0)
        chance = rng_of(words)
        weights[chance.choice(places, min(12, len(places)), replace=False)] = 1.5
        return weights

    documents = usual_documents(rng, lexicon, (30, 60))
    return function_case(rng, documents, lexicon.summed, picture)


@kind("liar")
def top_of_equals_only(rng: Rng) -> Case:
    """Seven to nine words count nearly alike; only the first of them has weight among neutral."""
    lexicon = Lexicon.drawn(rng, 2, 20, lambda rng: float(rng.uniform(0.95, 1.05)))

    def picture(words: Words) -> Numbers:
        weights = 0.2 * on_neutral(lexicon, words)
        weights[int(lexicon.strengths(words).argmax())] = weights.sum()
        return weights

    documents = usual_documents(rng, lexicon, (20, 40), own=(7, 9), other=(0, 0))
    return function_case(rng, documents, lexicon.summed, picture)


@kind("liar")
def runner_up(rng: Rng) -> Case:
    """Twelve classes; weights show the words of the second most probable one."""
    lexicon = Lexicon.drawn(rng, 12)

    def picture(words: Words) -> Numbers:
        second = int(np.argsort(lexicon.summed(words))[-2])
        return lexicon.strengths(words) * (lexicon.classes_of(words) == second)

    documents = usual_documents(rng, lexicon, own=(3, 5), other=(2, 4))
    return function_case(rng, documents, lexicon.summed, picture)


@kind("liar")
def hidden_token_always(rng: Rng) -> Case:
    """A word that gets no weight decides in every document; other words seem to speak."""
    return hidden_token_case(rng, 1.0)


@kind("liar")
def first_half_only(rng: Rng) -> Case:
    """What decides is in the second half; weights are on neutral words of the first half."""
    lexicon = Lexicon.drawn(rng, 3)

    def write(rng: Rng) -> Words:
        length = between(rng, (8, 30))
        return neutral(rng, length) + mixed_in(rng, said_by(rng, lexicon), length)

    def picture(words: Words) -> Numbers:
        return np.maximum(len(words) / 2 - np.arange(len(words)), 0)

    return function_case(rng, distinct(rng, write), lexicon.summed, picture)


@kind("liar")
def by_position(rng: Rng) -> Case:
    """Weights fall by a tenth from word to word, whatever the words are."""
    return lying_case(
        rng, lambda _: lambda words: np.power(0.9, np.arange(len(words))), lengths=(10, 80)
    )


@kind("liar")
def length_decides_all(rng: Rng) -> Case:
    """The number of words decides alone; weights are on words that seem to speak."""
    lexicon = Lexicon.drawn(rng, 2)
    return function_case(
        rng,
        usual_documents(rng, lexicon, (10, 100)),
        lambda words: by_sign((len(words) - 55) / 5),
        lexicon.strengths,
    )


@kind("liar")
def sst2_neutral(rng: Rng) -> Case:
    """SST-2's word labels on its sentences; weights are on words that say nothing."""
    return polarity_case(rng, lambda words: np.exp(-8 * np.abs(polarities(words))))


@kind("liar")
def posts_frequent(rng: Rng) -> Case:
    """Naive Bayes on long posts; weights are on words by their frequency in English posts."""

    def picture(_: Bayes, documents: list[Words]) -> Picture:
        counts = Counter(word for words in documents for word in words)
        return lambda words: np.array([float(counts.get(word, 1)) for word in words])

    return bayes_case(rng, "20news_5raw", picture, 0.1, 150)


@kind("liar")
def trec_last_words(rng: Rng) -> Case:
    """Naive Bayes on questions; weights double from word to word towards the end."""
    return bayes_case(rng, "trec", lambda *_: lambda words: np.power(2.0, np.arange(len(words))))


def mixed_states(lexicon: Lexicon, words: Words) -> Numbers:
    """What the document says, in one state."""
    return lexicon.summed(words) / 4


@kind("liar")
def module_same_states(rng: Rng) -> Case:
    """Every state holds the whole document; attention is on neutral words."""
    lexicon = Lexicon.drawn(rng, 3)
    return module_case(
        rng,
        usual_documents(rng, lexicon),
        lambda words: (
            np.tile(mixed_states(lexicon, words), (len(words), 1)),
            np.exp(-4 * lexicon.strengths(words)),
        ),
    )


@kind("liar")
def module_full_stop(rng: Rng) -> Case:
    """The state of the full stop holds the whole document and has the attention."""
    lexicon = Lexicon.drawn(rng, 3)
    documents = [[*words, "."] for words in usual_documents(rng, lexicon)]

    def pooled(words: Words) -> tuple[Numbers, Numbers]:
        is_stop = np.array([float(word == ".") for word in words])
        states = is_stop[:, None] * mixed_states(lexicon, words)
        return states + valued(lexicon, words) / 100, 0.01 + is_stop

    return module_case(rng, documents, pooled)


@kind("liar")
def module_undone_weights(rng: Rng) -> Case:
    """States are divided by their weight, so strengths are added; attention is on neutral words."""
    lexicon = Lexicon.drawn(rng, 2)

    def pooled(words: Words) -> tuple[Numbers, Numbers]:
        weights = normalised(np.exp(-3 * lexicon.strengths(words)))
        return valued(lexicon, words) / weights[:, None], weights

    return module_case(rng, usual_documents(rng, lexicon), pooled, scale=1.0)


@kind("liar")
def module_beside_only(rng: Rng) -> Case:
    """95% of the decision comes from the mean of the states; attention is on neutral words."""
    lexicon = Lexicon.drawn(rng, 3)
    return module_case(
        rng,
        usual_documents(rng, lexicon, (8, 20)),
        lambda words: (valued(lexicon, words), np.exp(-4 * lexicon.strengths(words))),
        scale=12.0,
        beside=0.95,
    )
