"""Every question asked of the documents, a few at a time: the numbers that conclusions are made of.

Documents are drawn in random order, wave by wave, so that what was measured when time runs out is a
fair sample. Within a wave, documents of like length are read together, so memory stays flat however
many there are. Each group has a random stream of its own, so it does not matter what was done
before.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool
from numpy import ndarray

from heedful.auditing.checkpoints import Part, Parts, PartsInMemory
from heedful.auditing.given_scores import unscored_words
from heedful.auditing.progress import MEASURING, AuditWatcher
from heedful.auditing.questions import AuditSettings, Question, questions
from heedful.auditing.questions.base import DocumentGroup, Measured
from heedful.auditing.sampling import Group, Sampled, drawn, grouped, planned
from heedful.auditing.subjects.base import Decides, Judge, Reading, Subject, Words
from heedful.auditing.subjects.retrained import Twins
from heedful.auditing.time_budget import SHOWN, SHOWN_OF_SLOW, Ending, TimeBudget, measured_slowness
from heedful.auditing.verdict import FEWEST
from heedful.auditing.word_effects import WordEffects
from heedful.errors import DataError, EnvironmentFailure
from heedful.model.precision import is_broken_device
from heedful.text.documents import Document, Documents, words_in_spans

IN_WINDOWS = "in_windows"  # 1 for as many documents as were; only of subjects that read so
WITHHELD = "is_withheld"  # 1 where a run shows no heat map; only of runs that may withhold one
# What a part holds. Raise it whenever a number of a document is measured otherwise, or a column is
# added: an audit that an earlier version began is then not resumed with parts of two kinds.
MEASUREMENTS = "version 3"
BASE = "documents"  # what is noted of each document, whatever is asked


@dataclass(frozen=True)
class AuditOptions:
    """How much of the documents to audit, and where to keep what was done."""

    documents: int | None = None  # size of a random sample; None: all
    seconds: float | None = None  # audit as many as fit in this time; at least a verdict's
    parts: Parts | None = None  # None: kept in memory
    watcher: AuditWatcher = field(default_factory=AuditWatcher)
    is_written: bool = False  # a report follows, and is to be finished within the time too


@dataclass(frozen=True)
class Asked:
    """Who is asked."""

    subject: Subject
    judge: Judge
    twins: Twins


def _prepared(
    asked_of: "Asked",
    documents: Documents,
    settings: AuditSettings | None,
    asked: Sequence[str] | None,
) -> tuple[AuditSettings, list[Question], dict[str, str]]:
    """The settings in numbers, the questions in order, and why some cannot be asked."""
    settings, subject = settings or AuditSettings(), asked_of.subject
    if not len(documents):
        raise DataError("there are no documents to audit on.")
    if settings.rationale_words is None:
        settings = replace(settings, rationale_words=mean_rationale_words(documents))
    names = dict.fromkeys(asked or questions)
    asking = sorted(map(questions.make, names), key=lambda question: question.place)
    _check_labels(subject, documents)
    why_not = {
        q.name: subject.refuses(q.name) or q.why_not(subject, asked_of.twins) for q in asking
    }
    return settings, asking, why_not


@dataclass
class Measuring:
    """Every question asked of the documents of one audit, wave by wave.

    The parts are taken from where they are kept each time they are asked for, so that of an audit
    kept in a folder no more than one question's numbers stand in memory twice.
    """

    asked: Asked
    documents: Documents
    settings: AuditSettings
    asking: list[Question]
    why_not: dict[str, str]  # why some cannot be asked
    store: Parts
    groups: list[Group] = field(default_factory=list)  # so far
    wave_sizes: list[int] = field(default_factory=list)  # documents in the wave of each group
    measured: list[int] = field(default_factory=list)  # groups that were not kept from before
    longest_read: int = 0  # words of a document that was cut

    def __post_init__(self) -> None:
        self.able = [question for question in self.asking if not self.why_not[question.name]]
        self.sampled = Sampled(self.documents, self.settings)

    @classmethod
    def of(
        cls,
        asked_of: Asked,
        documents: Documents,
        settings: AuditSettings | None,
        asked: Sequence[str] | None,
        request: AuditOptions,
    ) -> "Measuring":
        """Everything checked, nothing measured."""
        settings, asking, why_not = _prepared(asked_of, documents, settings, asked)
        store = request.parts or PartsInMemory()
        return cls(asked_of, documents, settings, asking, why_not, store)

    def measure_all(self, request: AuditOptions, share: int = 0, shares: int = 1) -> None:
        """All documents of the request, or one of several shares of them."""
        plan = planned(self.documents, self.settings, request.documents)
        request.watcher.begin_phase(MEASURING)
        for wave in plan:
            self.measure_wave(wave, request.watcher, share, shares)

    def measure_wave(
        self, wave: list[Group], watcher: AuditWatcher, share: int = 0, shares: int = 1
    ) -> None:
        """The groups of a wave, or those of one share."""
        self.sampled.add(wave)
        numbers = range(len(self.groups), len(self.groups) + len(wave))
        self.groups += wave
        self.wave_sizes += [sum(map(len, wave))] * len(wave)
        mine = [number for number in numbers if number % shares == share]
        workers = torch.get_num_threads() if self.asked.subject.reads_side_by_side else 1
        with _threads(workers) as pool:
            for number, _ in zip(mine, pool.map(self.part, mine), strict=True):
                watcher.advance(len(self.groups[number]))

    def part(self, number: int) -> Part:
        """What all questions find in a group, kept from before or measured now."""
        group, part = self.groups[number], self.store.get(number)
        if part is None or not np.array_equal(part[BASE].columns.get("place", ()), group):
            try:
                part = _measure_group(self, group, number)
            except RuntimeError as error:
                if not is_broken_device(error):
                    raise
                raise EnvironmentFailure(_of_broken_device(error)) from error
            self.store.put(number, part)
            self.measured.append(number)
        return part

    def kept_wave(self) -> int | None:
        """The number of documents in the next wave, if an earlier process measured it."""
        part = self.store.get(len(self.groups))
        return None if part is None else int(part[BASE].columns["wave"][0])

    def parts(self) -> Iterator[Part]:
        """The parts of all groups that are measured."""
        return map(self.part, range(len(self.groups)))


def measure_within(
    seconds: float,
    audits: Sequence[Measuring],
    request: AuditOptions,
    later: Callable[[list[str]], object] | None = None,
) -> None:
    """As many documents as fit in the time, the same for all audits: wave by wave, each in turn.

    A budget that is too small for a verdict is reported as soon as that is known, and overrun.
    """
    first = audits[0]
    documents, watcher = first.documents, request.watcher
    order = drawn(documents, first.settings, request.documents)
    is_slow = isinstance(first.asked.subject, Decides) and first.asked.subject.decides_slowly
    budget = TimeBudget(
        seconds,
        np.array([len(documents[int(place)].text.split()) for place in order]),
        fewest_for_verdict(documents, order),
        Ending(len(audits), request.is_written, SHOWN_OF_SLOW if is_slow else SHOWN),
        slowness=measured_slowness(),
    )
    watcher.begin_phase(MEASURING)
    has_noted = False
    while size := first.kept_wave() or budget.next_wave():
        wave = grouped(documents, order[budget.done : budget.done + size])
        measured_before = len(first.measured)
        started = budget.clock()
        for measuring in audits:
            measuring.measure_wave(wave, watcher)
        is_new = len(first.measured) == measured_before + len(wave)
        budget.add_wave(size, budget.clock() - started if is_new else None, first.longest_read)
        budget.slowness = (budget.slowness + measured_slowness()) / 2
        if later is not None and len(budget.waves) == 1:
            started = budget.clock()
            later([documents[int(place)].text for place in order[:size]])
            budget.add_later(size, budget.clock() - started, first.settings.sampled_documents)
        watcher.expect(budget.expected * len(audits))
        if budget.shortfall and not has_noted:
            has_noted = True
            watcher.note(budget.shortfall)


def fewest_for_verdict(documents: Documents, order: Group) -> int:
    """The number of documents, in the order in which they are drawn, that a verdict needs.

    They must differ, and one of a single word is left out. 0: there are too few for a verdict.
    """
    seen: set[str] = set()
    for number, place in enumerate(order.tolist(), start=1):
        text = documents[place].text
        if len(text.split()) > 1:
            seen.add(text)
        if len(seen) == FEWEST:
            return number
    return 0


@contextmanager
def _threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that measure groups side by side, each of them computing with one thread.

    A group is many small steps, too small to share out: two threads that each work on a group of
    their own are much faster than two that wait for each other at every step.
    """
    before = torch.get_num_threads()
    alone = partial(torch.set_num_threads, 1) if workers > 1 else None
    pool = ThreadPoolExecutor(workers, initializer=alone)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(before)


def _measure_group(measuring: Measuring, group: Group, number: int) -> Part:
    """What every question finds in one group of documents."""
    asked, settings = measuring.asked, measuring.settings
    documents = measuring.documents.take(group.tolist())
    samples = measuring.sampled.of(group)
    reading = asked.subject.read(documents.texts)
    if reading.cut:
        longest = int(reading.is_token.sum(axis=1).max())
        measuring.longest_read = max(measuring.longest_read, longest)
    marks = _marks(reading, documents)
    part = {BASE: _base(asked.subject, reading, documents)}
    # Where they stand in the plan, which a budget makes as it goes.
    part[BASE].columns["place"] = group.astype(np.float64)
    part[BASE].columns["wave"] = np.full(len(group), float(measuring.wave_sizes[number]))
    measured: dict[str, Words] = {}
    effects: dict[int, WordEffects] = {}
    for question in measuring.able:
        chunk = DocumentGroup(
            subject=asked.subject,
            judge=asked.judge,
            reading=reading,
            labels=part[BASE].columns["label_number"].astype(np.int64),
            is_marked=marks,
            has_marks=np.array([document.rationale is not None for document in documents]),
            is_sampled=samples.is_costly,
            is_replaced=samples.is_replaced,
            is_state_sampled=samples.is_state,
            settings=settings,
            rng=np.random.default_rng([settings.seed, number, question.place]),
            measured=measured,
            effects=effects,
            twins=asked.twins,
        )
        part[question.name] = question.measure(chunk)
    return part


def _of_broken_device(error: Exception) -> str:
    said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return (
        f"the device failed while documents were measured: {said}. What was measured before is "
        "kept in the folder of the audit, if it has one: --resume continues there, with --device "
        "cpu if the device does not come back."
    )


def _base(subject: Subject, reading: Reading, documents: Documents) -> Measured:
    number_of = {str(label): number for number, label in enumerate(subject.classes)}
    labels = np.array([_label_number(document, number_of) for document in documents])
    cut, in_windows = np.zeros((2, len(labels)))
    cut[: reading.cut] = 1.0  # only their number is used
    in_windows[: reading.in_windows] = 1.0
    withheld = {} if reading.is_withheld is None else {WITHHELD: reading.is_withheld.astype(float)}
    return Measured(
        {
            **withheld,
            "words": reading.is_token.sum(axis=1).astype(np.float64),
            "label_number": labels.astype(np.float64),
            "prediction_number": reading.prediction.astype(np.float64),
            "probability": reading.probabilities.max(axis=1),
            "cut": cut,
            **({IN_WINDOWS: in_windows} if subject.reads_windows else {}),
            **unscored_words(subject, reading),
        }
    )


def _check_labels(subject: Subject, documents: Documents) -> None:
    """Before anything is measured."""
    known = {str(label) for label in subject.classes}
    for number, label in enumerate(documents.labels):
        if label is not None and label not in known:
            raise DataError(
                f"document {number + 1} has a label never seen in training: {label!r}. "
                f"Known: {', '.join(map(str, subject.classes))}."
            )


def _label_number(document: Document, number_of: dict[str, int]) -> int:
    return -1 if document.label is None else number_of[document.label]


def _marks(reading: Reading, documents: Documents) -> Bool[ndarray, "documents words"]:
    marked = np.zeros_like(reading.is_token)
    for row, (document, offsets) in enumerate(zip(documents, reading.offsets, strict=True)):
        if document.rationale is not None:
            marked[row, : len(offsets)] = words_in_spans(offsets, document.rationale)
    return marked


def mean_rationale_words(documents: Documents) -> int:
    """How many words people marked, on average over the documents with marks; at least 1."""
    counts = []
    for document in documents:
        if document.rationale:
            spans = "  ".join(document.text[start:end] for start, end in document.rationale)
            counts.append(len(spans.split()))
    return max(1, round(float(np.mean(counts)))) if counts else 1
