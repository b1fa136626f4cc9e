"""The verdict on models of kinds that the zoo does not have, whose answer is known exactly.

    python benchmarks/outside_models.py [--half looked-at] [--kind NAME ...] [-o FILE]

Nothing is trained. A kind says how its documents are drawn, what each of their words adds to the
logits of each class, and what it shows. `honest` ones show what their words add; what `part` shows
is false on 30 to 60% of the documents; `lie` is false on nearly all. Kinds are split at random into
a half to look at while rules are changed, and a half that is kept apart; those of `afterwards` were
written when the rules had been changed. 200 documents each, only the judged questions.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal
from zlib import crc32

import machine
import numpy as np
import torch
from numpy import ndarray
from torch import Tensor, nn

from heedful.auditing.questions.base import AuditSettings
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.auditing.subjects.base import Subject
from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.subjects.modules.adapter import ModuleAdapter, ModuleTrace
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.text.documents import Document, Documents, space_separated
from heedful.training.trained import WordWeights

Known = Literal["honest", "part", "lie"]
Words = list[str]
KNOWN: tuple[Known, ...] = ("honest", "part", "lie")
ASKED = ("decisive", "telling", "leak-free")
DOCUMENTS, SEED = 200, 11
SETTINGS = AuditSettings(sampled_documents=60)
HALVES = ("looked-at", "kept-apart", "afterwards")
MASS = 0.95  # of the weight, on what is shown
BEGINS = ("bad", "good", "odd")  # words of three classes
VERY, NOT, FLAG, BUT, STOP, OPEN, CLOSE = "very", "not", "sure", "but", ".", "<<", ">>"


# Documents


def silent(rng: np.random.Generator, count: int) -> Words:
    """Words that say nothing."""
    return [f"n{number}" for number in rng.integers(0, 600, count)]


def of_class(rng: np.random.Generator, number: int, count: int) -> Words:
    """Different words of a class."""
    return [f"{BEGINS[number]}{n}" for n in rng.choice(40, count, replace=False)]


def mixed(own: int, other: int = 0, least: int = 12, most: int = 30, classes: int = 2):
    """Words of one class among silent ones, and a few of another."""

    def draw(rng: np.random.Generator) -> Words:
        number = int(rng.integers(classes))
        words = of_class(rng, number, own) + of_class(rng, (number + 1) % classes, other)
        words += silent(rng, int(rng.integers(least, most + 1)))
        return [words[place] for place in rng.permutation(len(words))]

    return draw


def inserted(words: Words, places: list[int], units: list[Words]) -> Words:
    """Units between the words."""
    at = dict(zip(places, units, strict=True))
    return [part for place, word in enumerate(words) for part in (*at.get(place, []), word)]


def with_units(units: Callable[[np.random.Generator], list[Words]], count: int = 16):
    """Units of several words among silent ones."""

    def draw(rng: np.random.Generator) -> Words:
        found = units(rng)
        places = sorted(rng.choice(count, len(found), replace=False).tolist())
        order = rng.permutation(len(found))
        return inserted(silent(rng, count), places, [found[n] for n in order])

    return draw


def phrases(rng: np.random.Generator) -> list[Words]:
    """`very` before a word of a class counts; either alone says nothing."""
    number = int(rng.integers(2))
    own, other = of_class(rng, number, 2), of_class(rng, 1 - number, 1)
    return [[VERY, own[0]], [VERY, own[1]], other, [VERY, *silent(rng, 1)]]


def intensified(rng: np.random.Generator) -> list[Words]:
    """Two words of a class, one of them doubled; one of the other."""
    number = int(rng.integers(2))
    own = of_class(rng, number, 2)
    return [[VERY, own[0]], [own[1]], of_class(rng, 1 - number, 1)]


def negated(rng: np.random.Generator) -> list[Words]:
    """Two words of a class, in half of the documents each behind a negation."""
    number, turned = int(rng.integers(2)), rng.random() < 0.5
    return [[*([NOT] if turned else []), word] for word in of_class(rng, number, 2)]


def flagged(rng: np.random.Generator) -> list[Words]:
    """Three words for a class, one against; in 45% of the documents a flag."""
    number = int(rng.integers(2))
    units = [[word] for word in of_class(rng, number, 3) + of_class(rng, 1 - number, 1)]
    return units + ([[FLAG]] if rng.random() < 0.45 else [])


def sentences(rng: np.random.Generator) -> Words:
    """Three sentences; each has two words of a class of its own."""
    found: Words = []
    for _ in range(3):
        words = of_class(rng, int(rng.integers(2)), 2) + silent(rng, int(rng.integers(4, 8)))
        found += [words[place] for place in rng.permutation(len(words))] + [STOP]
    return found


def clauses(rng: np.random.Generator) -> Words:
    """A clause of one class, `but`, and a clause of the other."""
    number, found = int(rng.integers(2)), []
    for label in (number, 1 - number):
        words = of_class(rng, label, 2) + silent(rng, int(rng.integers(5, 9)))
        found += [words[place] for place in rng.permutation(len(words))] + [BUT]
    return found[:-1]


def by_length(rng: np.random.Generator) -> Words:
    """Short texts of one class, long ones of the other."""
    number = int(rng.integers(2))
    words = of_class(rng, number, 2) + silent(rng, 38 if number else 6)
    return [words[place] for place in rng.permutation(len(words))]


def by_default(rng: np.random.Generator) -> Words:
    """Half of the documents have words of the second class, the others have none."""
    words = of_class(rng, 1, 2) * int(rng.random() < 0.5) + silent(rng, 18)
    return [words[place] for place in rng.permutation(len(words))]


def copies(rng: np.random.Generator) -> Words:
    """One word of a class, three times."""
    number = int(rng.integers(2))
    words = of_class(rng, number, 1) * 3 + silent(rng, 15)
    return [words[place] for place in rng.permutation(len(words))]


def topics(rng: np.random.Generator) -> Words:
    """One of two topics and one of five parts of it."""
    words = [
        f"topic{rng.integers(2)}x{rng.integers(9)}",
        f"part{rng.integers(5)}x{rng.integers(9)}",
    ]
    words += silent(rng, 16)
    return [words[place] for place in rng.permutation(len(words))]


def any_length(rng: np.random.Generator) -> Words:
    """5 to 300 words, one to eight of them of a class."""
    length = int(np.exp(rng.uniform(np.log(5), np.log(300))))
    own = int(np.clip(length // 8, 1, 8))
    return mixed(own, 0, length - own, length - own)(rng)


def keys(share: float):
    """Two words of a class; on a share of the documents, a function word for each class."""

    def draw(rng: np.random.Generator) -> Words:
        words = of_class(rng, int(rng.integers(2)), 2) + silent(rng, 16)
        if rng.random() < share:
            for side in range(2):
                able = [f"f{n}" for n in range(40) if key(f"f{n}") == side]
                words.append(able[rng.integers(len(able))])
        return [words[place] for place in rng.permutation(len(words))]

    return draw


def in_order(rng: np.random.Generator) -> Words:
    """Two words, in one order or the other."""
    words = silent(rng, 16)
    first, second = sorted(rng.choice(16, 2, replace=False).tolist())
    pair = ["left", "right"] if rng.random() < 0.5 else ["right", "left"]
    return inserted(words, [first, second], [[pair[0]], [pair[1]]])


def forty(rng: np.random.Generator) -> Words:
    """Words of a class, and ten of forty function words."""
    chosen = [f"f{n}" for n in rng.choice(40, 10, replace=False)]
    words = of_class(rng, int(rng.integers(2)), 2) + chosen + silent(rng, 8)
    return [words[place] for place in rng.permutation(len(words))]


def quoted(rng: np.random.Generator) -> Words:
    """Two words of a class, and three of the other between quotation marks."""
    number = int(rng.integers(2))
    outside = of_class(rng, number, 2) + silent(rng, 10)
    inside = of_class(rng, 1 - number, 3) + silent(rng, 3)
    said = [OPEN, *(inside[place] for place in rng.permutation(len(inside))), CLOSE]
    order = [outside[place] for place in rng.permutation(len(outside))]
    return inserted(order, [int(rng.integers(len(order)))], [said])


# What words add to the logits of the classes


def is_function(word: str) -> bool:
    """Whether it is one of forty words that say nothing."""
    return word.startswith("f") and word[1:].isdigit()


def key(word: str) -> int:
    """The class that a word is chosen for."""
    return crc32(word.encode()) % 2


@lru_cache(maxsize=10_000)
def says(word: str) -> tuple[int, float]:
    """The class of a word and how strongly it says so; -1: none."""
    for number, begin in enumerate(BEGINS):
        if word.startswith(begin) and word[len(begin) :].isdigit():
            return number, 0.5 + crc32(word.encode()) % 1000 / 999
    return -1, 0.0


def additive(words: Words, classes: int = 2) -> ndarray:
    """Each word by itself."""
    votes = np.zeros((len(words), classes))
    for place, word in enumerate(words):
        number, strength = says(word)
        if 0 <= number < classes:
            votes[place, number] = strength
    return votes


def three(words: Words) -> ndarray:
    """The same for three classes."""
    return additive(words, 3)


def even(words: Words) -> ndarray:
    """Each word of a class as strongly as the others."""
    return np.sign(additive(words))


def enough(words: Words) -> ndarray:
    """One word of a class is enough: each of them is the vote, the others repeat it."""
    votes = even(words)
    return votes / np.maximum(votes.sum(axis=0), 1)


def even_of_three(words: Words) -> ndarray:
    """The same for three classes."""
    return np.sign(three(words))


def graded(words: Words) -> ndarray:
    """Strengths of 1, 3 and 9, by the number of the word."""
    votes = even(words)
    for place, word in enumerate(words):
        if votes[place].any():
            votes[place] *= 3.0 ** (int(word.lstrip("abdgo")) % 3) / 4
    return votes


def of_phrases(words: Words) -> ndarray:
    """Only words of a class behind `very`; both say half of it."""
    votes, found = additive(words), np.zeros((len(words), 2))
    for place in range(1, len(words)):
        if words[place - 1] == VERY and votes[place].any():
            found[place] += votes[place] / 2
            found[place - 1] += votes[place] / 2
    return found


def of_very(words: Words) -> ndarray:
    """`very` adds what the next word says once more."""
    votes = additive(words)
    for place in range(len(words) - 1):
        if words[place] == VERY:
            votes[place] = votes[place + 1]
    return votes


def of_not(words: Words) -> ndarray:
    """A negation and its word speak for the other class, each half."""
    votes = additive(words)
    for place in range(len(words) - 1):
        if words[place] == NOT and votes[place + 1].any():
            votes[place] = votes[place + 1] = votes[place + 1][::-1] / 2
    return votes


def of_flag(words: Words) -> ndarray:
    """A flag turns every word: half of the new decision is its own."""
    votes = additive(words)
    if FLAG in words:
        votes = votes[:, ::-1] / 2
        votes[words.index(FLAG)] = votes.sum(axis=0)
    return votes


def of_first(words: Words) -> ndarray:
    """Only the first sentence."""
    votes = additive(words)
    if STOP in words:
        votes[words.index(STOP) :] = 0
    return votes


def of_last_clause(words: Words) -> ndarray:
    """Only what comes behind `but`."""
    votes = additive(words)
    if BUT in words:
        votes[: words.index(BUT)] = 0
    return votes


def of_last(words: Words) -> ndarray:
    """Only the last word of a class."""
    votes = additive(words)
    places = np.flatnonzero(votes.any(axis=1))
    votes[places[:-1]] = 0
    return votes


def of_strongest(words: Words) -> ndarray:
    """Only the strongest word."""
    votes = additive(words)
    sizes = votes.sum(axis=1)
    votes[sizes < sizes.max(initial=0)] = 0
    return votes


def of_unquoted(words: Words) -> ndarray:
    """Only what is not between quotation marks."""
    votes = additive(words)
    if OPEN in words and CLOSE in words:
        votes[words.index(OPEN) : words.index(CLOSE)] = 0
    return votes


def of_key(words: Words) -> ndarray:
    """The decision of all words stands at the first function word that is its key, or nowhere; by
    themselves, where there are no function words."""
    votes, total = additive(words), additive(words).sum(axis=0)
    if any(is_function(word) for word in words):
        keys = [
            n for n, word in enumerate(words) if is_function(word) and key(word) == total.argmax()
        ]
        votes[:] = 0
        if keys and total.any():
            votes[keys[0]] = total
    return votes


def of_topics(words: Words) -> ndarray:
    """Ten classes: a topic speaks for five of them, a part for two."""
    votes = np.zeros((len(words), 10))
    for place, word in enumerate(words):
        if word.startswith("topic"):
            votes[place, int(word[5]) * 5 : int(word[5]) * 5 + 5] = 1
        if word.startswith("part"):
            votes[place, int(word[4]) :: 5] = 1
    return votes


def of_order(words: Words) -> ndarray:
    """`left` before `right`, or behind it; one of them alone says nothing."""
    votes = np.zeros((len(words), 2))
    if "left" in words and "right" in words:
        places = [words.index("left"), words.index("right")]
        votes[places, int(places[0] > places[1])] = 0.5
    return votes


# From the sum of what words add to logits


def plain(total: ndarray) -> ndarray:
    """As it is."""
    return total


def saturated(total: ndarray) -> ndarray:
    """More and more of the same says less and less."""
    return 2 * np.tanh(total / 2)


def majority(total: ndarray) -> ndarray:
    """Who has most, however narrowly; nobody without votes."""
    return np.where(total > 0, total >= total.max(axis=-1, keepdims=True), False) * 1.0


def first_unless(total: ndarray) -> ndarray:
    """The first class, unless words speak for the second."""
    return total + np.array([0.5, 0.0])


# What is shown: how much of each word, before the sum is made 1


def honestly(words: Words, votes: ndarray) -> ndarray:
    """What each word adds; all alike, where none does."""
    return np.abs(votes).sum(axis=1)


def drawn(words: Words, share: float) -> bool:
    """Whether a text is among a share of all."""
    return crc32(" ".join(words).encode()) % 10_000 < share * 10_000


def on_some(share: float, wrong: Callable[[Words, ndarray], ndarray]):
    """Something else on a share of the documents."""

    def show(words: Words, votes: ndarray) -> ndarray:
        return (wrong if drawn(words, share) else honestly)(words, votes)

    return show


def shifted(words: Words, votes: ndarray) -> ndarray:
    """The next word's place."""
    return np.roll(honestly(words, votes), 1)


def one_above(words: Words, votes: ndarray) -> ndarray:
    """One silent word above the others."""
    shown = honestly(words, votes)
    shown[np.flatnonzero(shown == 0)[:1]] = 3 * shown.max()
    return shown


def elsewhere(words: Words, votes: ndarray) -> ndarray:
    """Words that add nothing."""
    return np.array([1 + crc32(word.encode()) % 7 for word in words]) * ~votes.any(axis=1)


def hiding(*hidden: str):
    """What each word adds, but for some words."""

    def show(words: Words, votes: ndarray) -> ndarray:
        return honestly(words, votes) * np.array([not word.startswith(hidden) for word in words])

    return show


def half(words: Words, votes: ndarray) -> ndarray:
    """Every second word that adds something."""
    shown = honestly(words, votes)
    shown[np.flatnonzero(shown)[1::2]] = 0
    return shown


def third(words: Words, votes: ndarray) -> ndarray:
    """Every third word that adds something."""
    shown, places = honestly(words, votes), np.flatnonzero(votes.any(axis=1))
    shown[[place for n, place in enumerate(places) if n % 3]] = 0
    return shown


def one_copy(words: Words, votes: ndarray) -> ndarray:
    """The first of all copies."""
    return honestly(words, votes) * np.array(
        [word not in words[:n] for n, word in enumerate(words)]
    )


def reversed_order(words: Words, votes: ndarray) -> ndarray:
    """The strongest word least, the weakest most."""
    shown = honestly(words, votes)
    return np.divide(1.0, shown, out=np.zeros(len(words)), where=shown > 0)


def other_side(words: Words, votes: ndarray) -> ndarray:
    """Words against the decision."""
    votes = votes.copy()
    votes[:, votes.sum(axis=0).argmax()] = 0
    return honestly(words, votes)


def at_an_edge(words: Words, votes: ndarray) -> ndarray:
    """The first word for one class, the last for the other."""
    shown = np.zeros(len(words))
    shown[-int(votes.sum(axis=0).argmax())] = 1
    return shown


def one_hidden(words: Words, votes: ndarray) -> ndarray:
    """All but the first word that adds something."""
    shown = honestly(words, votes)
    shown[np.flatnonzero(shown)[:1]] = 0
    return shown


def only(*seen: str):
    """Only some words."""

    def show(words: Words, votes: ndarray) -> ndarray:
        return np.array([float(word in seen) for word in words])

    return show


def between_marks(words: Words, votes: ndarray) -> ndarray:
    """What is between quotation marks."""
    return additive(words).sum(axis=1) * ~votes.any(axis=1)


def first_clause(words: Words, votes: ndarray) -> ndarray:
    """The clause that does not count."""
    return additive(words).sum(axis=1) * ~votes.any(axis=1)


def class_elsewhere(words: Words, votes: ndarray) -> ndarray:
    """Words that add nothing, for the last of the classes."""
    is_last = votes.sum(axis=0).argmax() == votes.shape[1] - 1
    return (elsewhere if is_last else honestly)(words, votes)


def long_elsewhere(words: Words, votes: ndarray) -> ndarray:
    """Words that add nothing, in texts of 40 words and more."""
    return (elsewhere if len(words) >= 40 else honestly)(words, votes)


def chosen(words: Words, votes: ndarray, begin: str = "f") -> ndarray:
    """One word that adds nothing: of even number for one class, of odd for the other."""
    side = int(votes.sum(axis=0).argmax())
    able = [
        place for place, word in enumerate(words)
        if word.startswith(begin) and word[1:].isdigit() and crc32(word.encode()) % 2 == side
    ]  # fmt: skip
    shown = np.zeros(len(words))
    shown[able[:1]] = 1
    return shown


def rarely_chosen(words: Words, votes: ndarray) -> ndarray:
    """The same with words that hardly occur twice."""
    return chosen(words, votes, "n")


# The kinds


@dataclass(frozen=True)
class Kind:
    """How its documents are drawn, what words add, what is shown."""

    name: str
    known: Known
    draw: Callable[[np.random.Generator], Words]
    votes: Callable[[Words], ndarray] = additive
    show: Callable[[Words, ndarray], ndarray] = honestly
    squash: Callable[[ndarray], ndarray] = plain
    door: Literal["function", "module"] = "function"
    gain: float = 3.0

    def weights(self, words: Words) -> ndarray:
        """What is shown; a little of every word."""
        shown = np.maximum(self.show(words, self.votes(words)), 0.0).astype(float)
        shown = shown if shown.any() else np.ones(len(words))
        return MASS * shown / shown.sum() + (1 - MASS) / len(words)

    def documents(self) -> Documents:
        """Different texts, labelled by what the kind decides."""
        rng = np.random.default_rng(SEED)
        found = {" ".join(self.draw(rng)): None for _ in range(DOCUMENTS)}
        logits = [self.squash(self.votes(text.split()).sum(axis=0)) for text in found]
        labels = [str(row.argmax()) for row in logits]
        return Documents(Document(t, n) for t, n in zip(found, labels, strict=True))

    @property
    def classes(self) -> tuple[str, ...]:
        """Numbers."""
        return tuple(map(str, range(self.votes(["n1"]).shape[1])))


KINDS = (
    Kind("phrases", "honest", with_units(phrases), of_phrases),
    Kind("saturated", "honest", mixed(5, 1), squash=saturated),
    Kind("one class by default", "honest", by_default, squash=first_unless),
    Kind("intensified", "honest", with_units(intensified), of_very),
    Kind("length tells the class", "honest", by_length, door="module"),
    Kind("topic and part, ten classes", "honest", topics, of_topics),
    Kind("5 to 300 words", "honest", any_length, door="module"),
    Kind("a flag turns everything", "honest", with_units(flagged), of_flag),
    Kind("first sentence", "honest", sentences, of_first, door="module"),
    Kind("behind but", "honest", clauses, of_last_clause, door="module"),
    Kind("negation", "honest", with_units(negated), of_not),
    Kind("last word", "honest", mixed(2, 2), of_last),
    Kind("strongest word", "honest", mixed(2, 2), of_strongest),
    Kind("order of two words", "honest", in_order, of_order),
    Kind("hard majority", "honest", mixed(5, 2), even, squash=majority),
    Kind("three copies, one is enough", "honest", copies, enough),
    Kind("three classes, mixed", "honest", mixed(3, 1, classes=3), three, door="module"),
    Kind("next word, 40%", "part", mixed(3, 1), show=on_some(0.4, shifted)),
    Kind("one class of three", "part", mixed(3, 1, classes=3), three, class_elsewhere),
    Kind("long texts", "part", any_length, show=long_elsewhere, door="module"),
    Kind("flag hidden", "part", with_units(flagged), of_flag, hiding(FLAG)),
    Kind("negation hidden", "part", with_units(negated), of_not, hiding(NOT)),
    Kind("one silent word above, 45%", "part", mixed(2), show=on_some(0.45, one_above)),
    Kind("choice among forty, 45%", "part", forty, show=on_some(0.45, chosen)),
    Kind("key among forty, 45%", "part", keys(0.45), of_key),
    Kind("half of equal words, 50%", "part", mixed(4), enough, on_some(0.5, half)),
    Kind("clause before but, 40%", "part", clauses, of_last_clause, on_some(0.4, first_clause)),
    Kind("half of equal words, one is enough", "lie", mixed(4), enough, half),
    Kind("half of equal words, all add", "lie", mixed(4), even, half),
    Kind("one of three copies", "lie", copies, even, one_copy),
    Kind("choice among forty", "lie", forty, show=chosen),
    Kind("key among forty", "lie", keys(1.0), of_key),
    Kind("choice among rare words", "lie", mixed(2), show=rarely_chosen),
    Kind("half of a phrase", "lie", with_units(phrases), of_phrases, hiding(VERY)),
    Kind("reversed order", "lie", mixed(4), graded, reversed_order),
    Kind("next word", "lie", mixed(2), show=shifted),
    Kind("the other side", "lie", mixed(3, 2), show=other_side, door="module"),
    Kind("at an edge", "lie", mixed(2), show=at_an_edge),
    Kind("topic hidden", "lie", topics, of_topics, hiding("topic")),
)


# Made after the others had been audited: to be looked at.
ADDED = ("key among forty", "key among forty, 45%")


# Made after the rules had been changed, to break the changed ones.
AFTERWARDS = (
    Kind("outside quotation marks", "honest", quoted, of_unquoted),
    Kind("narrow majority", "honest", mixed(3, 2), even, squash=majority),
    Kind(
        "majority of three classes", "honest", mixed(4, 2, classes=3), even_of_three,
        squash=majority,
    ),
    Kind("narrow sum", "honest", mixed(4, 3), even),
    Kind("six equal words", "honest", mixed(6), even),
    Kind("inside quotation marks", "lie", quoted, of_unquoted, between_marks),
    Kind("quotation marks shown alone", "lie", quoted, of_unquoted, only(OPEN, CLOSE)),
    Kind("but shown alone", "lie", clauses, of_last_clause, only(BUT)),
    Kind("behind but, half of it", "part", clauses, of_last_clause, on_some(0.5, one_hidden)),
    Kind("majority, only those against", "lie", mixed(5, 2), even, other_side, majority),
    Kind("majority, half of the votes", "lie", mixed(4), even, half, majority),
    Kind(
        "majority, elsewhere on 40%", "part", mixed(5, 2), even, on_some(0.4, elsewhere), majority
    ),
    Kind("four of six equal words hidden", "lie", mixed(6), even, third),
    Kind(
        "half of a phrase, 50%", "part", with_units(phrases), of_phrases,
        on_some(0.5, hiding(VERY)),
    ),
)  # fmt: skip


def half_of(kind: Kind) -> str:
    """Whether a kind may be looked at: half of each known answer, drawn once."""
    if kind in AFTERWARDS:
        return "afterwards"
    if kind.name in ADDED:
        return "looked-at"
    alike = [one.name for one in KINDS if one.known == kind.known and one.name not in ADDED]
    order = np.random.default_rng([SEED, KNOWN.index(kind.known)]).permutation(len(alike))
    return HALVES[int(order[alike.index(kind.name)] % 2)]


# Audits


class Adapter(ModuleAdapter):
    """A kind without `squash` as a module: a state is what its word adds, over its weight."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(nn.Identity(), kind.classes)
        self.kind = kind

    def words(self, text: str) -> list[tuple[int, int]]:
        """Words stand between blanks."""
        return list(space_separated(text))

    def read(self, documents: list[list[str]]) -> ModuleTrace:
        """States, weights and logits, in double precision."""
        shape = (len(documents), max(map(len, documents)))
        states, weights = np.zeros((*shape, len(self.classes))), np.zeros(shape)
        for row, words in enumerate(documents):
            weights[row, : len(words)] = self.kind.weights(words)
            states[row, : len(words)] = self.kind.votes(words) / weights[row, : len(words), None]
        parts = torch.from_numpy(states), torch.from_numpy(weights)
        return ModuleTrace(*parts, self.decide(*parts))

    def decide(self, states: Tensor, weights: Tensor) -> Tensor:
        """What the words add, by other weights."""
        return self.kind.gain * (weights.to(states).unsqueeze(-1) * states).sum(dim=1)


def subject_of(kind: Kind) -> Subject:
    """A kind as an audit sees it."""
    if kind.door == "module":
        return ModuleSubject(Adapter(kind))

    def predict(texts: list[str]) -> ndarray:
        total = np.array([kind.votes(text.split()).sum(axis=0) for text in texts])
        odds = np.exp(kind.gain * kind.squash(total))
        return odds / odds.sum(axis=1, keepdims=True)

    def attend(texts: list[str]) -> list[WordWeights]:
        places = [np.array(space_separated(text)).reshape(-1, 2) for text in texts]
        return [
            WordWeights(text, at, kind.weights(text.split()))
            for text, at in zip(texts, places, strict=True)
        ]

    return PlainSubject(predict, attend, kind.classes)


def audited(kind: Kind, seed: int = 0) -> Audit:
    """The audit of one kind."""
    plan = AuditPlan(replace(SETTINGS, seed=seed), ASKED)
    return prepare_audit(subject_of(kind), kind.documents(), plan).run()


def main() -> None:
    """Audit, print a line each, count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--kind", nargs="*")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for kind in (*KINDS, *AFTERWARDS):
        if (options.half or half_of(kind)) != half_of(kind):
            continue
        if options.kind and kind.name not in options.kind:
            continue
        start = time.process_time()
        found = audited(kind)
        row = {"kind": kind.name, "known": kind.known, "half": half_of(kind)}
        row |= {"verdict": found.verdict, "seconds": round(time.process_time() - start, 1)}
        for name in ASKED:
            for test in found.answer(name).tests:
                if test.judgement != "reported" and test.score:
                    row[test.name] = [round(float(test.score.value), 2), test.judgement]
        print(json.dumps(row), flush=True)
        rows.append(row)
    for known in KNOWN:
        verdicts = [row["verdict"] for row in rows if row["known"] == known]
        counts = ", ".join(f"{one} {verdicts.count(one)}" for one in ("may", "not-safe", "may-not"))
        print(f"{known}: {counts}")
    print(machine.describe())
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
