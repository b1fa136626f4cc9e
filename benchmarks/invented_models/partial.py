"""Kinds whose pictures are false in part."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.invented_models.cases import function_case, module_case, scored, valued
from benchmarks.invented_models.documents import (
    Lexicon,
    between,
    distinct,
    mixed_in,
    said_by,
    usual_documents,
)
from benchmarks.invented_models.honest import (
    by_sign,
    intensifier_case,
    negated_value,
    negation_documents,
)
from benchmarks.invented_models.kinds import Case, Logits, Numbers, Picture, Rng, Words, kind
from benchmarks.invented_models.pictures import (
    copied,
    lagging,
    on_neutral,
    on_share,
    opposing,
    reversed_order,
    rng_of,
    shuffled,
    supporting,
    where,
)
from benchmarks.invented_models.real_texts import Bayes, bayes_case, polarities, polarity_case


def partial_case(
    rng: Rng,
    false: Callable[[Lexicon, Logits], Picture],
    share: float,
    lexicon: Lexicon | None = None,
    **documents: Any,
) -> Case:
    """Strengths are added; this share of the pictures is false."""
    lexicon = lexicon or Lexicon.drawn(rng, 2)
    lying = false(lexicon, lexicon.summed)
    return function_case(
        rng,
        usual_documents(rng, lexicon, **documents),
        lexicon.summed,
        on_share(share, lying, lexicon.strengths),
    )


@kind("partial")
def neutral_on_some(rng: Rng) -> Case:
    """On 40% of the documents the weights are on neutral words."""
    return partial_case(rng, lambda lexicon, _: partial(on_neutral, lexicon), 0.4)


@kind("partial")
def shuffled_on_some(rng: Rng) -> Case:
    """On 40% of the documents the weights are at random words; six classes."""
    lexicon = Lexicon.drawn(rng, 6)
    return partial_case(rng, lambda lexicon, _: shuffled(lexicon.strengths), 0.4, lexicon)


@kind("partial")
def strongest_hidden_on_some(rng: Rng) -> Case:
    """On 45% of the documents the strongest word, half of the decision, has no weight."""
    lexicon = Lexicon.drawn(rng, 2, 20, lambda rng: float(rng.choice([0.4, 3.0])))

    def write(rng: Rng) -> Words:
        label = int(rng.integers(2))
        own = lexicon.words_of(label)
        strong = rng.choice([word for word in own if lexicon.strength[word] > 1])
        weak = rng.choice([word for word in own if lexicon.strength[word] < 1], 5)
        said = [str(word) for word in rng.permutation([strong, *weak])]
        return mixed_in(rng, said, between(rng, (15, 40)))

    def hiding(words: Words) -> Numbers:
        strengths = lexicon.strengths(words)
        return np.where(strengths < 1, strengths, 0)

    return function_case(
        rng, distinct(rng, write), lexicon.summed, on_share(0.45, hiding, lexicon.strengths)
    )


@kind("partial")
def one_of_equals_on_some(rng: Rng) -> Case:
    """On 45% of the documents one of four to six equal words has all the weight."""
    lexicon = Lexicon.drawn(rng, 3, draw=lambda rng: 1.0)

    def one(words: Words) -> Numbers:
        places = np.flatnonzero(lexicon.classes_of(words) == lexicon.summed(words).argmax())
        found = np.zeros(len(words))
        found[rng_of(words).choice(places)] = 1
        return found

    return partial_case(rng, lambda _, __: one, 0.45, lexicon, own=(4, 6), other=(0, 1))


@kind("partial")
def opposing_on_some(rng: Rng) -> Case:
    """On 45% of the documents only the words against the decision have weight."""
    return partial_case(
        rng,
        lambda lexicon, logits: partial(opposing, lexicon, logits),
        0.45,
        Lexicon.drawn(rng, 4),
        own=(4, 6),
        other=(1, 2),
    )


@kind("partial")
def reversed_on_some(rng: Rng) -> Case:
    """On half of the documents the right words have their weights in reversed order; long tails."""
    lexicon = Lexicon.drawn(rng, 2, 30, lambda rng: float(min(0.1 + rng.pareto(0.9), 10)))
    return partial_case(
        rng,
        lambda lexicon, logits: reversed_order(partial(supporting, lexicon, logits)),
        0.5,
        lexicon,
        own=(6, 9),
        other=(0, 1),
    )


@kind("partial")
def punctuation_on_some(rng: Rng) -> Case:
    """On half of the documents the weights are on commas and full stops."""
    lexicon = Lexicon.drawn(rng, 2)

    def write(rng: Rng) -> Words:
        words = mixed_in(rng, said_by(rng, lexicon), between(rng, (12, 40)))
        return [part for word in words for part in ([word, ","] if rng.random() < 0.15 else [word])]

    def marks(words: Words) -> Numbers:
        return np.array([float(word in (",", ".")) for word in words])

    documents = [[*words, "."] for words in distinct(rng, write)]
    return function_case(rng, documents, lexicon.summed, on_share(0.5, marks, lexicon.strengths))


@kind("partial")
def copies_for_one_class(rng: Rng) -> Case:
    """Honest for one of two classes; the other shows the weights of another document."""
    lexicon = Lexicon.drawn(rng, 2)
    documents = usual_documents(rng, lexicon)
    picture = where(
        lambda words: bool(lexicon.summed(words).argmax() == 1),
        copied(lexicon.strengths, documents),
        lexicon.strengths,
    )
    return function_case(rng, documents, lexicon.summed, picture)


@kind("partial")
def half_of_the_classes(rng: Rng) -> Case:
    """Six classes; the pictures of three of them are on neutral words."""
    lexicon = Lexicon.drawn(rng, 6)
    picture = where(
        lambda words: bool(lexicon.summed(words).argmax() >= 3),
        partial(on_neutral, lexicon),
        lexicon.strengths,
    )
    return function_case(rng, usual_documents(rng, lexicon), lexicon.summed, picture)


@kind("partial")
def lag_on_long(rng: Rng) -> Case:
    """Weights lag one word behind in documents of more than 40 words: about 45% of them."""
    lexicon = Lexicon.drawn(rng, 2)
    picture = where(lambda words: len(words) > 40, lagging(lexicon.strengths), lexicon.strengths)
    documents = usual_documents(rng, lexicon, (10, 64))
    return function_case(rng, documents, lexicon.summed, picture)


def hidden_token_case(rng: Rng, share: float) -> Case:
    """In this share of the documents a word that gets no weight decides alone."""
    lexicon = Lexicon.drawn(rng, 3)

    def write(rng: Rng) -> Words:
        words = mixed_in(rng, said_by(rng, lexicon), between(rng, (10, 40)))
        if rng.random() < share:
            words[between(rng, (0, len(words) - 1))] = f"id{rng.integers(3)}"
        return words

    def logits(words: Words) -> Numbers:
        marks = [int(word[2:]) for word in words if word.startswith("id")]
        return 5 * np.eye(3)[marks[0]] if marks else lexicon.summed(words)

    return function_case(rng, distinct(rng, write), logits, lexicon.strengths)


@kind("partial")
def hidden_token_on_some(rng: Rng) -> Case:
    """In 35% of the documents a word that gets no weight decides alone."""
    return hidden_token_case(rng, 0.35)


@kind("partial", "20% is only a little more than the 15% that are tolerated")
def hidden_token_on_few(rng: Rng) -> Case:
    """In 20% of the documents a word that gets no weight decides alone."""
    return hidden_token_case(rng, 0.20)


@kind("partial", "no words decide in long documents: they may be left out as silent")
def length_decides_some(rng: Rng) -> Case:
    """Documents of more than 60 words, 40% of them, are of the first class whatever they say.

    The picture shows the words that decide in shorter documents.
    """
    lexicon = Lexicon.drawn(rng, 3)

    def logits(words: Words) -> Numbers:
        return np.array([5.0, 0, 0]) if len(words) > 60 else lexicon.summed(words)

    def write(rng: Rng) -> Words:
        length = between(rng, (70, 100)) if rng.random() < 0.4 else between(rng, (10, 50))
        return mixed_in(rng, said_by(rng, lexicon), length)

    return function_case(rng, distinct(rng, write), logits, lexicon.strengths)


@kind("partial")
def first_twenty_words(rng: Rng) -> Case:
    """Weights only on the first 20 words; documents of 10 to 80 words with graded words."""
    lexicon = Lexicon.drawn(rng, 2, 20, lambda rng: float(rng.exponential() + 0.2))

    def picture(words: Words) -> Numbers:
        return lexicon.strengths(words) * (np.arange(len(words)) < 20)

    documents = usual_documents(rng, lexicon, (10, 80), own=(3, 5), other=(0, 1))
    return function_case(rng, documents, lexicon.summed, picture)


@kind("partial")
def negation_hidden(rng: Rng) -> Case:
    """ "not" turns 40% of the words to the other class and never has weight; its word has it."""
    lexicon = Lexicon.drawn(rng, 2)
    return function_case(
        rng,
        negation_documents(rng, lexicon, 0.4),
        lambda words: by_sign(2 * float(negated_value(lexicon, words).sum())),
        lambda words: np.abs(negated_value(lexicon, words)),
    )


@kind("partial")
def intensifier_only(rng: Rng) -> Case:
    """ "very" doubles 60% of the words and takes all their weight."""
    return intensifier_case(rng, 2.0, 0.0)


@kind("partial")
def sst2_shuffled_on_some(rng: Rng) -> Case:
    """SST-2's word labels on its sentences; 40% of the pictures are shuffled."""

    def true(words: Words) -> Numbers:
        return np.abs(polarities(words))

    return polarity_case(rng, on_share(0.4, shuffled(true), true))


@kind("partial")
def mr_one_side(rng: Rng) -> Case:
    """Naive Bayes on film reviews; weights are what speaks for good ones, whatever is decided."""

    def picture(model: Bayes, _: list[Words]) -> Picture:
        return lambda words: np.maximum(model.each(words)[:, 1], 0)

    return bayes_case(rng, "mr", picture)


@kind("partial")
def agnews_copies(rng: Rng) -> Case:
    """Naive Bayes on news; half of the pictures are copies of other documents' weights."""
    return bayes_case(
        rng,
        "agnews_small",
        lambda model, documents: on_share(0.5, copied(model.picture, documents), model.picture),
    )


@kind("partial")
def trec_content_only(rng: Rng) -> Case:
    """Naive Bayes on questions; the question word (who, what, when, ...) never has weight."""
    asking = {"who", "what", "when", "where", "how", "why", "which", "many", "much", "name"}

    def picture(model: Bayes, _: list[Words]) -> Picture:
        return lambda words: model.picture(words) * [word not in asking for word in words]

    return bayes_case(rng, "trec", picture)


def bypass_case(rng: Rng, beside: float) -> Case:
    """Half of each document says something, so the mean of the states is as large as attention's.

    Attention honestly shows the strongest words; the mean reads all.
    """
    lexicon = Lexicon.drawn(rng, 2, 30, lambda rng: float(rng.choice([0.7, 1.0])))

    def write(rng: Rng) -> Words:
        length = between(rng, (10, 24))
        return mixed_in(rng, said_by(rng, lexicon, (length - 3, length - 3), (0, 1)), length)

    def pooled(words: Words) -> tuple[Numbers, Numbers]:
        return valued(lexicon, words), scored(lexicon, words, 5.0)

    return module_case(rng, distinct(rng, write), pooled, beside=beside)


@kind("partial", "look away compares with the words that matter least, and few matter little here")
def module_mostly_beside(rng: Rng) -> Case:
    """59% of the decision, in log-odds, comes from the mean of all states, past attention."""
    return bypass_case(rng, 0.65)


@kind("partial", "half is only a little more than the 45% that are tolerated")
def module_half_beside(rng: Rng) -> Case:
    """Half of the decision, in log-odds, comes from the mean of all states, past attention."""
    return bypass_case(rng, 0.565)


@kind("partial")
def module_context_on_some(rng: Rng) -> Case:
    """In the 45% of documents with the word "meanwhile", every state holds the whole document.

    There attention is on neutral words.
    """
    lexicon = Lexicon.drawn(rng, 3)

    def write(rng: Rng) -> Words:
        words = mixed_in(rng, said_by(rng, lexicon), between(rng, (10, 40)))
        return ["meanwhile", *words] if rng.random() < 0.45 else words

    def pooled(words: Words) -> tuple[Numbers, Numbers]:
        if "meanwhile" not in words:
            return valued(lexicon, words), scored(lexicon, words, 4.0)
        whole = scored(lexicon, words, 4.0) @ valued(lexicon, words)
        whole /= scored(lexicon, words, 4.0).sum()
        return np.tile(whole, (len(words), 1)), np.exp(-4.0 * lexicon.strengths(words))

    return module_case(rng, distinct(rng, write), pooled)
