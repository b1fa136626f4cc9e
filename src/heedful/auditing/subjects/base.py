"""What an audit sees of a model: a small protocol, never a concrete class.

    Subject      reads texts: words, weights, probabilities; predicts from some of the words;
                 measures importance
    Decides      also decides with other weights
    ShowsStates  also shows its states, and where they come from
    KnowsWords   also knows which words were tied to a label in training

A question names what it needs; a subject that lacks it is not asked, and the reason is given. So
does a measure of importance: what a subject `gives` decides which measures it has.
The modules beside this one are its members. Arrays are padded to the longest document of a reading;
`is_token` is True on words.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from heedful.auditing.metrics.divergence import js_divergence
from heedful.auditing.metrics.log_odds import SMALLEST
from heedful.auditing.subjects.variants import KeptWords, KnownVariants, OfVariants, Sources
from heedful.counterfactual import Counterfactual
from heedful.errors import ConfigError
from heedful.importance import importances
from heedful.importance.base import Complete, Importance, Measure, ready
from heedful.importance.seen import IsKept, Need, Seen, TokenScores, Variants, of_target
from heedful.text.documents import fingerprints
from heedful.text.token_classes import TokenClasses
from heedful.training.task import Label
from heedful.training.trained import Exposure

Architecture = Literal["classifier", "module", "transformer", "function"]
Words = Float[ndarray, "documents words"]
IsToken = Bool[ndarray, "documents words"]
Attentions = Float[ndarray, "documents attentions words"]
Probabilities = Float[ndarray, "documents classes"]
States = Float[ndarray, "documents words size"]
Offsets = Int[ndarray, "_ 2"]  # of a document's words, in its own characters
Write = Callable[[str, Offsets, Bool[ndarray, " _"]], str]
"""A text, its words and which of them are kept -> the text with only these."""
AnySubject = TypeVar("AnySubject", bound="Subject")
TEXTS_AT_ONCE = 256


@dataclass(frozen=True)
class Reading:
    """Some documents as a subject reads them."""

    texts: tuple[str, ...]
    is_token: IsToken
    weights: Words  # what the subject shows as its attention
    probabilities: Probabilities
    offsets: tuple[Offsets, ...]
    inner: Any = None  # whatever the subject wants to find again
    cut: int = 0  # documents of which only the first words were read
    in_windows: int = 0  # documents too long for the model, read part by part
    on_special: Float[ndarray, " documents"] | None = None  # attention to no word; None: none there
    is_withheld: Bool[ndarray, " documents"] | None = None  # shown without a heat map; None: none
    known: defaultdict[object, KnownVariants] = field(  # what was predicted, by judge
        default_factory=lambda: defaultdict(KnownVariants)
    )

    @property
    def prediction(self) -> Int[ndarray, " documents"]:
        """The class that each document is given."""
        return self.probabilities.argmax(axis=1)

    @property
    def support(self) -> IsToken:
        """Words with any weight: all of them, unless attention is sparse."""
        return self.is_token & (self.weights > 0)

    @property
    def even(self) -> Words:
        """The same weight for every word of a document."""
        return self.is_token / np.maximum(self.is_token.sum(axis=1, keepdims=True), 1)

    @property
    def without_one(self) -> tuple[Sources, KeptWords]:
        """For each word, in order: its document, and all words of it but this one."""
        rows, places = np.nonzero(self.is_token)
        is_kept = self.is_token[rows]
        is_kept[np.arange(len(rows)), places] = False
        return rows, is_kept

    def written(self, document: Sources, is_kept: KeptWords, write: Write) -> list[str]:
        """Texts of documents with only the kept words left in them."""
        rows = zip(document.tolist(), is_kept, strict=True)
        return [
            write(self.texts[row], self.offsets[row], kept[: len(self.offsets[row])])
            for row, kept in rows
        ]

    def renormalised(self, is_left: Bool[ndarray, "documents attentions words"]) -> Attentions:
        """The shown weights with some erased and the rest sharing out what they had."""
        weights = self.weights[:, None] * is_left
        total = weights.sum(axis=-1, keepdims=True)
        return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)

    def permuted(self, count: int, rng: np.random.Generator) -> Attentions:
        """The shown weights permuted among the words of their document, `count` times."""
        keys = rng.random((len(self.weights), count, self.weights.shape[1]))
        order = np.where(self.is_token[:, None], keys, 2.0).argsort(axis=-1)
        return np.take_along_axis(self.weights[:, None], order, axis=-1)

    def moved(
        self, probabilities: Float[ndarray, "documents attentions classes"]
    ) -> Float[ndarray, "documents attentions"]:
        """Total variation between the prediction and each of the others: half the differences."""
        return np.abs(probabilities - self.probabilities[:, None]).sum(axis=-1) / 2

    def apart(self, attentions: Attentions) -> Float[ndarray, "documents attentions"]:
        """Jensen-Shannon divergence of the shown weights from each of the others."""
        count = attentions.shape[1]
        found = [js_divergence(attentions[:, number], self.weights) for number in range(count)]
        return np.stack(found, axis=1)


class Judge(ABC):
    """Anything that predicts from some of the words of a reading."""

    smallest: ClassVar[float] = SMALLEST  # probability that it tells from 0

    @abstractmethod
    def judged(self, reading: Reading) -> Probabilities:
        """Probabilities of the whole documents."""

    @abstractmethod
    def predict_kept(self, reading: Reading, document: Sources, is_kept: KeptWords) -> OfVariants:
        """Probabilities of documents of a reading with only the kept words left in them."""

    def without_each(self, reading: Reading) -> Float[ndarray, "documents words classes"]:
        """For each word, the probabilities of its document without it; 0 where there is none."""
        found = self.predict_kept(reading, *reading.without_one)
        without = np.zeros((*reading.is_token.shape, found.shape[-1]))
        without[reading.is_token] = found
        return without

    def alone_each(self, reading: Reading) -> Float[ndarray, "all_words classes"]:
        """For each word of each document, in order, the probabilities of it alone."""
        rows, places = np.nonzero(reading.is_token)
        return self.predict_kept(
            reading, rows, np.eye(reading.is_token.shape[1], dtype=bool)[places]
        )


class Subject(Judge):
    """A classifier that shows a weight for each word. It is its own judge."""

    missing: ClassVar[str] = "the model shows no weights"
    architecture: ClassVar[Architecture] = "function"  # whose operating points judge it
    classes: tuple[Label, ...]
    noun: ClassVar[str] = "this model"
    gives: frozenset[Need] = frozenset(
        {Need.DELETIONS, Need.TEXTS}
    )  # of what measures of importance need
    further: Mapping[str, Importance] = MappingProxyType({})  # measures that were asked for

    @property
    def replacement(self) -> str:
        """An uninformative word to put in place of others; empty if there is none."""
        return ""

    @property
    def masking(self) -> Judge | None:
        """A judge that hides words from its attention and keeps their places; None if it cannot.

        Where nothing but the words themselves is read, to hide a word is to delete it.
        """
        return None

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of importance that are ranked: all that it can give, and further ones."""
        usual = (name for name in importances.audited if importances[name].needs <= self.gives)
        return (*usual, *self.further)

    @property
    def reads_side_by_side(self) -> bool:
        """Whether several threads may ask it at once."""
        return False

    @property
    def reads_windows(self) -> bool:
        """Whether texts that are too long for it are read part by part."""
        return False

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of the audit should know of how it was measured, in sentences."""
        return ()

    @property
    def identity(self) -> Mapping[str, object]:
        """What distinguishes it from other subjects, so that another one's audit is not resumed."""
        return {}

    def describe(self) -> Mapping[str, object]:
        """What it is, for the head of a report."""
        return {}

    def exposure(self, texts: Sequence[str]) -> Exposure:
        """Which texts it met in training; none, where that is not known."""
        return Exposure.none(len(texts))

    def is_strange(self, texts: Sequence[str]) -> Bool[ndarray, " documents"]:
        """Which texts hold no word that it knows; none, where that is not known."""
        return np.zeros(len(texts), dtype=bool)

    @property
    def randomised(self) -> "Subject | None":
        """The same with random weights in it; None where they cannot be replaced."""
        return None

    def refuses(self, question: str) -> str:
        """Why a question makes no sense for it, whatever it can do; nothing if it does."""
        return ""

    @abstractmethod
    def read(self, texts: Sequence[str]) -> Reading:
        """Words, weights and probabilities of some texts."""

    def see(self, reading: Reading) -> Seen:
        """What measures of importance may look at; more than this for a subject that `gives` it."""
        return SeenReading(self, reading)

    def importance(
        self, reading: Reading, measure: str, target: Int[ndarray, " documents"] | None = None
    ) -> Words:
        """Signed importance of each word for the prediction, or for the class `target`.

        What the subject cannot give is refused.
        """
        chosen = self.measure(measure)
        self._check(measure, chosen)
        seen = self.see(reading)
        if target is not None:
            seen.target = torch.from_numpy(target).to(seen.target)
        return self._scores(measure, chosen, seen)

    def _scores(self, name: str, measure: Importance, seen: Seen) -> Words:
        return measure.of(seen).double().cpu().numpy()

    def expected_sum(self, reading: Reading, measure: str) -> Float[ndarray, " documents"]:
        """What the importance of a document's words should sum to, by a complete measure."""
        chosen = self.measure(measure)
        assert isinstance(chosen, Complete)
        return chosen.expected_sum(self.see(reading)).double().cpu().numpy()

    def measure(self, name: str) -> Importance:
        """The measure of that name."""
        return self.further.get(name) or importances.make(name)

    def with_measures(self: AnySubject, measures: Sequence[Measure]) -> AnySubject:
        """The same, with further measures that its audit ranks beside those that it has."""
        other, more = copy(self), ready(measures)
        other.further = {**self.further, **more}
        for name, measure in more.items():
            self._check(name, measure)
            if name in self.measures:
                raise ConfigError(
                    f"every audit already ranks {name}: leave it out of `measures`, which adds "
                    "further ones."
                )
        return other

    def _check(self, name: str, measure: Importance) -> None:
        if missing := [need.value for need in Need if need in measure.needs - self.gives]:
            raise ConfigError(
                f"{self.noun} has no {name}, which needs {' and '.join(missing)}. "
                f"Available: {', '.join(self.measures)}."
            )

    def judged(self, reading: Reading) -> Probabilities:
        """As it read them."""
        return reading.probabilities

    def predict_texts(self, texts: Sequence[str]) -> Probabilities:
        """Probabilities of any texts."""
        parts = [
            self.read(texts[start : start + TEXTS_AT_ONCE]).probabilities
            for start in range(0, len(texts), TEXTS_AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes)))


class SeenReading(Seen):
    """A reading as seen from outside: its weights, and predictions from some words."""

    def __init__(self, judge: Judge, reading: Reading) -> None:
        self.judge, self.reading = judge, reading
        self.is_token = torch.from_numpy(reading.is_token)
        self.target = torch.from_numpy(reading.prediction)

    @property
    def identifiers(self) -> list[int]:
        """What tells the texts apart."""
        return fingerprints(self.reading.texts).tolist()

    @property
    def texts(self) -> Sequence[str]:
        """As they were given."""
        return self.reading.texts

    @property
    def offsets(self) -> Sequence[Offsets]:
        """Of their words."""
        return self.reading.offsets

    @property
    def shown(self) -> TokenScores:
        """The weights of the reading."""
        return torch.from_numpy(self.reading.weights)

    @property
    def probability(self) -> Float[Tensor, " batch"]:
        """Of the prediction."""
        return of_target(torch.from_numpy(self.reading.probabilities), self.target)

    def of_kept(self, document: Variants, is_kept: IsKept) -> Float[Tensor, " variants"]:
        """From the words that are left."""
        found = self.judge.predict_kept(self.reading, document.numpy(), is_kept.numpy())
        return of_target(torch.from_numpy(found), self.target[document])

    def without_each(self) -> TokenScores:
        """From all words but one."""
        found = torch.from_numpy(self.judge.without_each(self.reading))
        return of_target(found, self.target) * self.is_token


class Decides(Subject):
    """A classifier that can also be asked to decide with other weights."""

    missing = "the model cannot be made to decide with other weights"
    decides_slowly: ClassVar[bool] = False  # other weights take a pass through the whole model

    @abstractmethod
    def decide(
        self, reading: Reading, attentions: Attentions
    ) -> Float[ndarray, "documents attentions classes"]:
        """Probabilities under other weights, the states as they are."""

    @abstractmethod
    def without_evidence(self, reading: Reading) -> Probabilities:
        """Probabilities when no state at all is passed on."""

    @abstractmethod
    def otherwise(self, reading: Reading, counterfactual: Counterfactual, seed: int) -> Attentions:
        """Other attentions than the shown ones: uniform, permuted, adversarial, …"""

    def can_seek(self, counterfactual: Counterfactual) -> bool:
        """Whether `otherwise` knows this one."""
        return True

    def decide_at_each_word(self, reading: Reading) -> Float[ndarray, "documents words classes"]:
        """Probabilities with all weight on one word, for each word."""
        documents, words = reading.weights.shape
        return self.decide(reading, np.broadcast_to(np.eye(words), (documents, words, words)))

    def decide_erased(
        self, reading: Reading, rank: Int[ndarray, "documents words"], most: int
    ) -> Float[ndarray, "documents most classes"]:
        """Probabilities with the weights of the first 1, 2, … `most` words by rank erased.

        The rest is renormalised.
        """
        steps = np.arange(1, most + 1)
        is_left = (rank[:, None] >= steps[:, None]) & reading.support[:, None]
        return self.decide(reading, reading.renormalised(is_left))


class ShowsStates(Subject):
    """A classifier whose states can be seen."""

    missing = "the model does not show its states"

    @abstractmethod
    def word_ids(self, reading: Reading) -> Int[ndarray, "documents words"]:
        """A number for each word, the same for the same word; negative where it has none."""

    @abstractmethod
    def states(self, reading: Reading) -> dict[str, States]:
        """What stands at each word: `embedded`, `hidden`, and, where it can be had, `untrained`, of
        an encoder like its own that learnt nothing."""

    @abstractmethod
    def influence(self, reading: Reading) -> Float[ndarray, "documents words words"]:
        """Row p: the shares of the words in the state at word p."""


class KnowsWords(Subject):
    """A classifier of which it is known how words and labels went together in training."""

    missing = "the words of its training documents are not known"
    vocabulary: Sequence[str]
    token_classes: TokenClasses

    @abstractmethod
    def word_ids(self, reading: Reading) -> Int[ndarray, "documents words"]:
        """The place of each word in the vocabulary; negative where it has none."""
