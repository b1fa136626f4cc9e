"""What a question of an audit is: numbers per document, then tests over all of them.

`measure` sees a few documents at a time and gives one number per document and column, so that an
audit can stream. `conclude` sees the columns of all documents and gives the question's tests.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful.auditing import operating_points
from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import NO_INTERVAL, BootstrapSettings, Score, estimate, score
from heedful.auditing.metrics.base import Better
from heedful.auditing.results import Column, Table, TestResult
from heedful.auditing.subjects.base import Decides, Judge, Reading, Subject, Words
from heedful.auditing.subjects.retrained import Twin, Twins
from heedful.auditing.verdict import judge_test
from heedful.auditing.word_effects import WordEffects, word_effects
from heedful.config import at_least, share, within
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError
from heedful.registry import Registry
from heedful.training.settings import Settings

Columns = Mapping[str, Column]

LEAVE_ONE_OUT = "leave-one-out"
CONCLUDING = 2**31  # sets the random streams of conclusions apart from those of measuring

BEAM_WIDTH = 5  # of deep audits

# Fewer and longer steps than Jain & Wallace's, and a tolerance nearer to epsilon.
SHORT_SEARCH = Adversarial(steps=20, learning_rate=0.5, tolerance=0.04)


@dataclass(frozen=True)
class AuditSettings:
    """Numbers that carry a claim: they are saved with the audit."""

    permutations: int = 100
    random_draws: int = 20
    fractions: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2, 0.5)  # of words, as in ERASER
    curve: tuple[int, ...] = (1, 2, 3, 5, 10, 20)  # top words deleted or kept, for curves
    flip_draws: int = 5  # random orders of erasing weights, as Serrano & Smith draw
    epsilon: float = 0.05  # how far an adversary may move the prediction
    search: Adversarial = field(default_factory=Adversarial)
    short_search: Adversarial = SHORT_SEARCH  # where each step takes a pass through the model
    sampled_documents: int = 300  # for what is costly: greedy erasure, influence, adversaries
    replaced_documents: int = 100  # whose pictures are also judged with words replaced
    greedy_words: int = 10  # that greedy erasure deletes
    greedy_candidates: int = 20  # words of most leave-one-out importance that it chooses among
    beam_width: int = 0  # of the search for the best and the worst order; 0: none
    state_words: int = 40_000  # about this many words' states are clustered
    frequent_words: int = 1000  # whose mutual information with states is taken
    clusters: int = 1000  # of states, at most; and at least 20 states to a cluster
    folds: int = 5  # of the classifier that sees only the weights
    rationale_words: int | None = None  # k of token F1 and IOU F1; None: mean of the documents'
    seeds: int = 3  # further ones, with --deep
    adversary_weights: tuple[float, ...] = (3e-4, 1e-3, 3e-3, 1e-2)  # of trained adversaries
    adversary_epochs: int = 20
    chosen_words: int = 5  # of most weight, for FS-M, FU-M, FS-A and FU-A
    bootstrap: BootstrapSettings = field(default_factory=BootstrapSettings)
    tolerate: float | None = None  # share of false pictures; none: what the cuts were made for
    seed: int = 0

    def __post_init__(self) -> None:
        share(tolerate=self.tolerate)
        at_least(100, permutations=self.permutations)
        at_least(20, random_draws=self.random_draws)
        within(0, 2**32 - 1, seed=self.seed)
        at_least(2, folds=self.folds, clusters=self.clusters, frequent_words=self.frequent_words)
        at_least(0, beam_width=self.beam_width)
        at_least(
            1,
            flip_draws=self.flip_draws,
            sampled_documents=self.sampled_documents,
            replaced_documents=self.replaced_documents,
            greedy_words=self.greedy_words,
            greedy_candidates=self.greedy_candidates,
            state_words=self.state_words,
            rationale_words=self.rationale_words,
            seeds=self.seeds,
            adversary_epochs=self.adversary_epochs,
            chosen_words=self.chosen_words,
        )
        tolerance = max(self.search.tolerance, self.short_search.tolerance)
        if self.epsilon < tolerance:
            raise ConfigError(
                f"an adversary may move the prediction by epsilon = {self.epsilon}, less than its "
                f"search tolerates: {tolerance}. Give search and short_search smaller tolerances."
            )
        if not self.adversary_weights:
            raise ConfigError("adversary_weights should name at least one weight.")

    def deepened(self) -> "AuditSettings":
        """The same with the searches of a deep audit."""
        return replace(self, beam_width=self.beam_width or BEAM_WIDTH)

    def search_in(self, subject: Subject) -> Adversarial:
        """How adversarial weights of a subject are sought."""
        is_slow = isinstance(subject, Decides) and subject.decides_slowly
        return self.short_search if is_slow else self.search

    @property
    def middle_weight(self) -> float:
        """The adversary whose weights are imposed on a model that sees one word at a time."""
        return self.adversary_weights[len(self.adversary_weights) // 2]


@dataclass(frozen=True)
class DocumentGroup:
    """Some documents under audit: who is asked, how it reads them, what is known about them."""

    subject: Subject
    judge: Judge  # whose predictions erasure looks at: the subject itself, or another model
    reading: Reading
    labels: Int[ndarray, " documents"]  # class numbers; -1 where there is none
    is_marked: Bool[ndarray, "documents words"]  # words that people marked
    has_marks: Bool[ndarray, " documents"]  # whether anybody was asked to mark
    is_sampled: Bool[ndarray, " documents"]  # of the sample for costly measures
    is_replaced: Bool[ndarray, " documents"]  # of the sample whose words are replaced, too
    is_state_sampled: Bool[ndarray, " documents"]  # of the sample whose states are clustered
    settings: AuditSettings
    rng: np.random.Generator
    measured: dict[str, Words] = field(default_factory=dict)  # shared by all questions of a group
    of_sample: dict[str, Words] = field(default_factory=dict)  # likewise, of sampled documents only
    readings: dict[bytes, Reading] = field(default_factory=dict)  # of some of the documents
    effects: dict[int, WordEffects] = field(default_factory=dict)  # likewise, by who predicts
    twins: Twins = field(default_factory=Twins)

    def effects_by(self, judge: Judge) -> WordEffects:
        """What each word does to the decision, measured once for all questions."""
        if id(judge) not in self.effects:
            self.effects[id(judge)] = word_effects(judge, self.reading)
        return self.effects[id(judge)]

    def importance(self, measure: str) -> Words:
        """Signed importance of each word for the prediction, measured once for all questions."""
        if measure == LEAVE_ONE_OUT:
            return self.effects_by(self.subject).lost_probability
        if measure not in self.measured:
            self.measured[measure] = self.subject.importance(self.reading, measure)
        return self.measured[measure]

    def importance_of_sample(self, measure: str) -> Words:
        """The same, but 0 in documents of no sample: most measures are not asked for there."""
        if measure in self.measured or measure == LEAVE_ONE_OUT:
            return self.importance(measure)
        rows = np.flatnonzero(self.is_sampled | self.is_replaced)
        if len(rows) == len(self.reading.texts):
            return self.importance(measure)
        if measure not in self.of_sample:
            found = self.subject.importance(self.reading_of(rows), measure)
            spread = np.zeros(self.reading.is_token.shape)
            spread[rows, : found.shape[1]] = found
            self.of_sample[measure] = spread
        return self.of_sample[measure]

    def is_right(self, prediction: Int[ndarray, " documents"]) -> Column:
        """Whether predictions of the documents are right: 1 or 0; NaN without a label."""
        return np.where(self.labels >= 0, prediction == self.labels, np.nan)

    def reading_of(self, rows: Int[ndarray, " chosen"]) -> Reading:
        """Some of the documents, read again once unless they are all."""
        if len(rows) == len(self.reading.texts):
            return self.reading
        key = rows.tobytes()
        if key not in self.readings:
            texts = [self.reading.texts[row] for row in rows.tolist()]
            self.readings[key] = self.subject.read(texts)
        return self.readings[key]

    @property
    def seed(self) -> int:
        """A seed for code that makes its own generators."""
        return int(self.rng.integers(2**31))


@dataclass(frozen=True)
class Measured:
    """What a question found in some documents."""

    columns: dict[str, Column]  # a number per document; NaN where it cannot be asked
    curves: dict[str, Float[ndarray, "documents steps"]] = field(default_factory=dict)
    words: dict[str, ndarray] = field(default_factory=dict)  # a row per word that was looked at
    document: Int[ndarray, " words"] = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True)
class Findings:
    """What a question found in all documents, and what tests are made with."""

    question: str
    subject: Subject
    measured: Measured
    labels: Int[ndarray, " documents"]
    prediction: Int[ndarray, " documents"]
    is_right: Column  # 1 or 0; NaN without a label
    distinct: int  # different documents
    settings: AuditSettings
    twins: Twins = field(default_factory=Twins)

    @property
    def columns(self) -> Columns:
        """One number per document."""
        return self.measured.columns

    def rng_for(self, purpose: str) -> np.random.Generator:
        """A source of chance for one purpose of one question.

        Every interval has its own, so that asking a question less, or adding a test or a measure,
        changes no other number.
        """
        words = (crc32(word.encode()) for word in (self.question, purpose))
        return np.random.default_rng([self.settings.seed, CONCLUDING, *words])

    def test(
        self,
        test: AuditTest,
        value: Column,
        floor: Column | float,
        ceiling: Column | float,
        *,
        note: str = "",
        cannot_move: bool = False,
    ) -> TestResult:
        """A test from its value, floor and ceiling per document."""
        rng = self.rng_for(test.name)
        found = score(value, floor, ceiling, rng, self.settings.bootstrap)
        return self.judged(test, found, note=note, cannot_move=cannot_move)

    def judged(
        self, test: AuditTest, found: Score, *, note: str = "", cannot_move: bool = False
    ) -> TestResult:
        """A test from its score; no score where floor and ceiling do not separate.

        Nor where a reported test's value lies clearly beyond the ceiling: the control failed.
        """
        cuts = operating_points.shipped().cuts_for(
            self.subject.architecture, self.settings.tolerate
        )
        judgement = judge_test(
            test.name, found, test.better, self.distinct, cannot_move=cannot_move, cuts=cuts
        )
        has_failed = judgement == "reported" and found.is_beyond_ceiling
        if has_failed:
            failure = f"control failed: the value lies beyond the ceiling, at {found.score:.2f}"
            note = "; ".join(filter(None, (failure, note)))
        if has_failed or not found.separates(test.better):
            found = replace(found, score=np.nan, interval=NO_INTERVAL)
        return TestResult(
            self.question, test.name, test.better, found, judgement, note, test.column
        )

    def untrained(self, *prefixes: str) -> list[dict[str, object]]:
        """The twins that could not be trained, and why: whatever is left out is reported."""
        return [
            self.no_fact(f"twin {name}", f"could not be trained: {reason}")
            for name, reason in self.twins.failed.items()
            if name.startswith(prefixes)
        ]

    def no_fact(self, name: str, note: str) -> dict[str, object]:
        """Evidence that there is none of, and why."""
        nothing = {"mean": np.nan, "low": np.nan, "high": np.nan, "documents": 0}
        return {"question": self.question, "name": name, "note": note, **nothing}

    def fact(self, name: str, values: Column, note: str = "") -> dict[str, object]:
        """A mean with its interval: evidence without controls."""
        mean = estimate(values, self.rng_for(name), self.settings.bootstrap)
        low, high = mean.interval
        described = {"question": self.question, "name": name, "note": note}
        return {
            **described, "mean": mean.mean, "low": low, "high": high, "documents": mean.documents
        }  # fmt: skip


@dataclass(frozen=True)
class Conclusion:
    """The tests of a question and the evidence beside them; no tests: it cannot be asked here."""

    tests: tuple[TestResult, ...] = ()
    evidence: dict[str, Table] = field(default_factory=dict)
    reason: str = ""  # why there are no tests


class Question(ABC):
    """A question that an audit asks of a model's attention."""

    name: ClassVar[str]
    place: ClassVar[int]  # among the ten
    asks: ClassVar[str]
    needs: ClassVar[type[Subject]] = Subject  # type: ignore[type-abstract]
    tests: ClassVar[tuple[AuditTest, ...]]  # what `conclude` may give

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """Retrained models that a deep audit also asks."""
        return ()

    def why_not(self, subject: Subject, twins: Twins) -> str:
        """Why the question cannot be asked of a subject; nothing if it can."""
        return "" if isinstance(subject, self.needs) else self.needs.missing

    @abstractmethod
    def measure(self, group: DocumentGroup) -> Measured:
        """Numbers of some documents."""

    @abstractmethod
    def conclude(self, found: Findings) -> Conclusion:
        """The question's tests over all documents."""


questions: Registry[Question] = Registry("question")


def audit_tests() -> dict[str, AuditTest]:
    """The tests of all questions by name, in the order of the questions."""
    in_order = sorted(questions.values(), key=lambda question: question.place)
    return {test.name: test for question in in_order for test in question.tests}


def cross_fitted_best(
    columns: Columns, candidates: Mapping[str, str], better: Better, rng: np.random.Generator
) -> tuple[Column, str]:
    """The best available control, and which it was. NaN where the chosen one was not measured."""
    values = np.stack([columns[column] for column in candidates.values()])
    choice = cross_fitted_choice(values, better, rng)
    return pick(values, choice), chosen_names(list(candidates), choice)


def cross_fitted_choice(
    values: Float[ndarray, "candidates documents"], better: Better, rng: np.random.Generator
) -> Int[ndarray, " documents"]:
    """Which candidate is best, without choosing on the documents it is read on.

    Documents are split in two. Each half takes the candidate that does best on the other half, on
    the documents where every candidate was measured.
    """
    half = rng.permutation(values.shape[1]) % 2
    is_asked = ~np.isnan(values).any(axis=0)
    choice = np.zeros(values.shape[1], dtype=np.int64)
    for side in (0, 1):
        others = values[:, (half != side) & is_asked]
        means = others.mean(axis=1) if others.shape[1] else np.zeros(len(values))
        choice[half == side] = means.argmin() if better == "lower" else means.argmax()
    return choice


def pick(
    values: Float[ndarray, "candidates documents"], choice: Int[ndarray, " documents"]
) -> Column:
    """Each document's value of its chosen candidate."""
    return np.take_along_axis(values, choice[None], axis=0)[0]


def chosen_names(names: Sequence[str], choice: Int[ndarray, " documents"]) -> str:
    """The names of the chosen candidates, in words."""
    return " or ".join(names[number] for number in np.unique(choice).tolist())
