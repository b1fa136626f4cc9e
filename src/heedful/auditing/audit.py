"""An audit: every question asked of every document, then answers and a verdict.

Documents are drawn in random order, wave by wave, so that whatever was done when time runs out is a
fair sample. Within a wave, documents of like length are read together, a few at a time, so memory
stays flat however many there are. Each group has a random stream of its own, so it does not matter
what was done before.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy import ndarray

from heedful.auditing import rules
from heedful.auditing.chance import guard_against_chance
from heedful.auditing.instead import what_instead
from heedful.auditing.parts import Part, Parts, PartsInMemory, joined
from heedful.auditing.questions import AuditSettings, Question, questions
from heedful.auditing.questions.question import Chunk, Conclusion, Found, Measured
from heedful.auditing.record import Answer, Audit, Column, Table
from heedful.auditing.showing import show_documents
from heedful.auditing.subject import Judge, Reading, Subject, Words
from heedful.auditing.twins import Twins
from heedful.auditing.waves import Group, planned, samples
from heedful.errors import DataError
from heedful.model.precision import in_full
from heedful.text.documents import Document, Documents, fingerprints, words_in_spans


@dataclass(frozen=True)
class Request:
    """How much of the documents to audit, and where to keep what was done."""

    documents: int | None = None  # a random sample of so many; None: all
    seconds: float | None = None  # stop drawing documents in time to end within this
    parts: Parts | None = None  # None: kept in memory
    advance: Callable[[int], None] = lambda documents: None  # told how many more are done


@in_full()
def audit(
    subject: Subject,
    documents: Documents,
    settings: AuditSettings | None = None,
    asked: Sequence[str] | None = None,
    *,
    judge: Judge | None = None,
    twins: Twins | None = None,
    request: Request | None = None,
    about: dict[str, Any] | None = None,
) -> Audit:
    """Ask the questions (all, unless some are named) of a subject on some documents.

    `judge` says whose predictions telling looks at; without one, the subject's own. `twins` are
    models trained anew, for the questions that take them.
    """
    request, twins = request or Request(), twins or Twins()
    asked_of = Asked(subject, judge or subject, twins)
    settings, asking, why_not = _prepared(asked_of, documents, settings, asked)
    able = [question for question in asking if not why_not[question.name]]
    plan = planned(documents, settings, request.documents, request.seconds is not None)
    parts, groups = _measure(asked_of, documents, settings, able, plan, request)
    chosen = np.sort(np.concatenate(groups))
    position = np.full(len(documents), -1)
    position[chosen] = np.arange(len(chosen))
    places = [position[group] for group in groups]
    base = joined(parts(), places, BASE, len(chosen))
    is_single = base.columns["words"] < 2
    if is_single.all():
        raise DataError("every document has one word only, so there is nothing to attend to.")
    labels = base.columns["label_number"].astype(np.int64)
    prediction = base.columns["prediction_number"].astype(np.int64)
    is_right = np.where(labels >= 0, labels == prediction, np.nan)
    columns = {name: base.columns[name] for name in ("words", "probability")}
    columns["is_right"] = is_right
    left = np.where(is_single, np.nan, is_right)
    audited = documents.take(chosen.tolist())
    distinct = len(np.unique(fingerprints(audited.texts)))
    answers: list[Answer] = []
    evidence: dict[str, Table] = {}
    for question in asking:
        conclusion = Conclusion(reason=why_not[question.name])
        if question in able:
            measured = joined(parts(), places, question.name, len(chosen))
            measured = _without(is_single, measured)
            columns |= measured.columns
            conclusion = question.conclude(
                Found(question.name, subject, measured, labels, left, distinct, settings, twins)
            )
        answers.append(_answer(question, conclusion))
        for name, rows in conclusion.evidence.items():
            evidence[name] = (*evidence.get(name, ()), *rows)
    verdict = _verdict(answers)
    result = Audit(
        verdict=verdict,
        answers=tuple(answers),
        texts=tuple(audited.texts),
        labels=tuple(audited.labels),
        predictions=tuple(str(subject.classes[number]) for number in prediction.tolist()),
        columns=columns,
        evidence=evidence,
        shown=(),
        instead=what_instead(evidence.get("measures", ()), verdict),
        single_words=int(is_single.sum()),
        available=len(documents),
        about={**(about or {}), **_facts(subject, base, is_right)},
        settings=asdict(settings),
    )
    chance_rng = np.random.default_rng(settings.seed)
    result = guard_against_chance(result, chance_rng, settings.bootstrap)
    order = position[np.concatenate([g for wave in plan for g in wave])]
    return replace(result, shown=show_documents(subject, result, order[order >= 0]))


@in_full()
def measure_share(
    subject: Subject,
    documents: Documents,
    settings: AuditSettings,
    asked: Sequence[str] | None,
    request: Request,
    share: int,
    shares: int,
    *,
    judge: Judge | None = None,
    twins: Twins | None = None,
) -> None:
    """Measure one of so many shares of an audit into the parts of `request`, for `audit` to find.

    Shares may be measured at the same time, anywhere: what comes out is the same.
    """
    asked_of = Asked(subject, judge or subject, twins or Twins())
    settings, asking, why_not = _prepared(asked_of, documents, settings, asked)
    able = [question for question in asking if not why_not[question.name]]
    plan = planned(documents, settings, request.documents, request.seconds is not None)
    _measure(asked_of, documents, settings, able, plan, request, share, shares)


def _prepared(
    asked_of: "Asked",
    documents: Documents,
    settings: AuditSettings | None,
    asked: Sequence[str] | None,
) -> tuple[AuditSettings, list[Question], dict[str, str]]:
    """The settings in numbers, the questions in order, and why some cannot be asked."""
    settings, subject = settings or AuditSettings(), asked_of.subject
    if not len(documents):
        raise DataError("there is no document to audit on.")
    if settings.rationale_words is None:
        settings = replace(settings, rationale_words=mean_rationale_words(documents))
    names = dict.fromkeys(asked or questions)
    asking = sorted(map(questions.make, names), key=lambda question: question.place)
    _check_labels(subject, documents)
    why_not = {
        q.name: subject.refuses(q.name) or q.why_not(subject, asked_of.twins) for q in asking
    }
    return settings, asking, why_not


BASE = "documents"  # what is noted of each document, whatever is asked


@dataclass(frozen=True)
class Asked:
    """Who is asked."""

    subject: Subject
    judge: Judge
    twins: Twins


def _measure(
    asked: Asked,
    documents: Documents,
    settings: AuditSettings,
    able: Sequence[Question],
    plan: list[list[Group]],
    request: Request,
    share: int = 0,
    shares: int = 1,
) -> tuple[Callable[[], Iterator[Part]], list[Group]]:
    """All groups (or every so many-th) measured, wave by wave, until they end or time does.

    The parts are taken from where they are kept each time they are asked for, so that of an audit
    kept in a folder no more than one question's numbers stand in memory twice.
    """
    started = time.monotonic()
    store = request.parts or PartsInMemory()
    sampled = samples(documents, plan, settings)

    def measured(number: int, group: Group) -> Part:
        part = store.get(number)
        if part is None:
            some = documents.take(group.tolist())
            of_group = (sampled[0][group], sampled[1][group])
            part = _measure_group(asked, some, settings, able, of_group, number)
            store.put(number, part)
        return part

    groups: list[Group] = []
    workers = torch.get_num_threads() if asked.subject.reads_side_by_side else 1
    with _threads(workers) as pool:
        for wave in plan:
            done, ahead = sum(map(len, groups)), sum(map(len, wave))
            needed = (time.monotonic() - started) * (1 + ahead / max(done, 1))
            if request.seconds is not None and done and needed > request.seconds:
                break
            numbers = range(len(groups), len(groups) + len(wave))
            mine = {n: group for n, group in zip(numbers, wave, strict=True) if n % shares == share}
            parts = pool.map(measured, mine, mine.values())
            for group, _ in zip(mine.values(), parts, strict=True):
                request.advance(len(group))
            groups += wave
    return lambda: map(measured, range(len(groups)), groups), groups


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


def _measure_group(
    asked: Asked,
    documents: Documents,
    settings: AuditSettings,
    able: Sequence[Question],
    samples: tuple[Bool[ndarray, " group"], Bool[ndarray, " group"]],
    number: int,
) -> Part:
    """What every question finds in one group of documents."""
    reading = asked.subject.read(documents.texts)
    marks = _marks(reading, documents)
    part = {BASE: _base(asked.subject, reading, documents)}
    measured: dict[str, Words] = {}
    for question in able:
        chunk = Chunk(
            subject=asked.subject,
            judge=asked.judge,
            reading=reading,
            labels=part[BASE].columns["label_number"].astype(np.int64),
            is_marked=marks,
            has_marks=np.array([document.rationale is not None for document in documents]),
            is_sampled=samples[0],
            is_state_sampled=samples[1],
            settings=settings,
            rng=np.random.default_rng([settings.seed, number, question.place]),
            measured=measured,
            twins=asked.twins,
        )
        part[question.name] = question.measure(chunk)
    return part


def _base(subject: Subject, reading: Reading, documents: Documents) -> Measured:
    number_of = {str(label): number for number, label in enumerate(subject.classes)}
    labels = np.array([_label_number(document, number_of) for document in documents])
    cut = np.zeros(len(labels))
    cut[: reading.cut] = 1.0  # only their number is used
    return Measured(
        {
            "words": reading.is_token.sum(axis=1).astype(np.float64),
            "label_number": labels.astype(np.float64),
            "prediction_number": reading.prediction.astype(np.float64),
            "probability": reading.probabilities.max(axis=1),
            "cut": cut,
        }
    )


def _check_labels(subject: Subject, documents: Documents) -> None:
    """Before anything is measured."""
    known = {str(label) for label in subject.classes}
    for number, label in enumerate(documents.labels):
        if label is not None and label not in known:
            raise DataError(
                f"a label never seen in training: {label!r}, of document {number + 1}. "
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


def _without(is_left_out: Bool[ndarray, " documents"], measured: Measured) -> Measured:
    """The same, with no number for some documents."""
    columns = {n: np.where(is_left_out, np.nan, c) for n, c in measured.columns.items()}
    is_kept = ~is_left_out[measured.document]
    words = {name: rows[is_kept] for name, rows in measured.words.items()}
    return replace(measured, columns=columns, words=words, document=measured.document[is_kept])


def _answer(question: Question, conclusion: Conclusion) -> Answer:
    if not conclusion.tests:
        return Answer(question.name, question.asks, None, (), conclusion.reason)
    judgement = rules.answer(test.judgement for test in conclusion.tests)
    return Answer(question.name, question.asks, judgement, conclusion.tests)


def _verdict(answers: Sequence[Answer]) -> rules.Verdict:
    found = {answer.question: answer.judgement or "undecided" for answer in answers}
    decisive, telling = (found.get(name, "undecided") for name in ("decisive", "telling"))
    return rules.verdict(decisive, telling)


def _facts(
    subject: Subject,
    base: Measured,
    is_right: Column,
) -> dict[str, Any]:
    """What else a reader of the audit asks first."""
    known = is_right[~np.isnan(is_right)]
    return {
        "classes": [str(label) for label in subject.classes],
        "accuracy": float(known.mean()) if len(known) else None,
        "labelled_documents": len(known),
        "documents_cut": int(base.columns["cut"].sum()),
        "mean_words": float(base.columns["words"].mean()),
        **({"notes": list(subject.notes)} if subject.notes else {}),
    }
