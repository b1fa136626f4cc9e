"""An audit: every question asked of every document, then answers and a verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from heedful.auditing import operating_points
from heedful.auditing.alternatives import what_instead
from heedful.auditing.chance import guard_against_chance
from heedful.auditing.checkpoints import joined
from heedful.auditing.examples import show_documents
from heedful.auditing.given_scores import unscored_notes
from heedful.auditing.measuring import (
    BASE,
    IN_WINDOWS,
    WITHHELD,
    Asked,
    AuditOptions,
    Measuring,
    measure_within,
)
from heedful.auditing.questions import AuditSettings, Question
from heedful.auditing.questions.base import Conclusion, Findings, Measured
from heedful.auditing.results import Answer, Audit, Column, Table
from heedful.auditing.subjects.base import Judge, Subject
from heedful.auditing.subjects.retrained import Twins
from heedful.auditing.verdict import judge_question, reach_verdict
from heedful.errors import DataError
from heedful.model.precision import in_full
from heedful.text.documents import Documents, fingerprints


@in_full()
def audit(
    subject: Subject,
    documents: Documents,
    settings: AuditSettings | None = None,
    asked: Sequence[str] | None = None,
    *,
    judge: Judge | None = None,
    twins: Twins | None = None,
    request: AuditOptions | None = None,
    about: dict[str, Any] | None = None,
) -> Audit:
    """Ask the questions (all, unless some are named) of a subject on some documents.

    `judge` says whose predictions telling looks at; without one, the subject's own. `twins` are
    retrained models, for the questions that need them.
    """
    request, twins = request or AuditOptions(), twins or Twins()
    asked_of = Asked(subject, judge or subject, twins)
    measuring = Measuring.of(asked_of, documents, settings, asked, request)
    if request.seconds is None:
        measuring.measure_all(request)
    else:
        measure_within(request.seconds, [measuring], request)
    request.watcher.begin_phase("concluding")
    return _concluded(measuring, about or {})


@in_full()
def audit_within(
    seconds: float,
    subjects: Mapping[str, Subject],
    documents: Documents,
    settings: AuditSettings,
    asked: Sequence[str] | None,
    *,
    request: AuditOptions,
    about: Mapping[str, dict[str, Any]],
    later: Callable[[list[str]], object] | None = None,
    twins: Twins | None = None,
) -> dict[str, Audit]:
    """Audit several subjects on the same documents, as many as fit in the time of all together.

    `later` is what the caller does with the texts of the costly sample afterwards: it is tried on
    the first documents, so that its cost is part of the plan.
    """
    in_memory = replace(request, parts=None)
    measuring = {
        name: Measuring.of(
            Asked(subject, subject, twins or Twins()), documents, settings, asked, in_memory
        )
        for name, subject in subjects.items()
    }
    measure_within(seconds, [*measuring.values()], request, later)
    audits = {}
    for name, one in measuring.items():
        request.watcher.begin_phase(f"concluding {name}")
        audits[name] = _concluded(one, about[name])
    return audits


def _concluded(measuring: "Measuring", about: dict[str, Any]) -> Audit:
    """Answers and a verdict from what was measured."""
    documents, settings, groups = measuring.documents, measuring.settings, measuring.groups
    subject, twins, parts = measuring.asked.subject, measuring.asked.twins, measuring.parts
    chosen = np.sort(np.concatenate(groups))
    position = np.full(len(documents), -1)
    position[chosen] = np.arange(len(chosen))
    places = [position[group] for group in groups]
    base = joined(parts(), places, BASE, len(chosen))
    is_single = base.columns["words"] < 2
    if is_single.all():
        raise DataError("every document has only one word, so there is nothing to attend to.")
    labels = base.columns["label_number"].astype(np.int64)
    prediction = base.columns["prediction_number"].astype(np.int64)
    is_right = np.where(labels >= 0, labels == prediction, np.nan)
    columns = {name: base.columns[name] for name in ("words", "probability")}
    columns["is_right"] = is_right
    columns |= {name: base.columns[name] for name in (WITHHELD,) if name in base.columns}
    left = np.where(is_single, np.nan, is_right)
    audited = documents.take(chosen.tolist())
    distinct = len(np.unique(fingerprints(audited.texts)))
    answers: list[Answer] = []
    evidence: dict[str, Table] = {}
    for question in measuring.asking:
        conclusion = Conclusion(reason=measuring.why_not[question.name])
        if question in measuring.able:
            measured = joined(parts(), places, question.name, len(chosen))
            measured = _without(is_single, measured)
            columns |= measured.columns
            conclusion = question.conclude(
                Findings(
                    question.name,
                    subject,
                    measured,
                    labels,
                    prediction,
                    left,
                    distinct,
                    settings,
                    twins,
                )
            )
        answers.append(_answer(question, conclusion))
        for name, rows in conclusion.evidence.items():
            evidence[name] = (*evidence.get(name, ()), *rows)
    verdict = reach_verdict({answer.question: answer.judgement for answer in answers})
    result = Audit(
        verdict=verdict,
        answers=tuple(answers),
        texts=tuple(audited.texts),
        labels=tuple(audited.labels),
        predictions=tuple(str(subject.classes[number]) for number in prediction.tolist()),
        columns=columns,
        evidence=evidence,
        shown=(),
        instead=what_instead(
            evidence.get("measures", ()), evidence.get("instead", ()), verdict, tolerated(settings)
        ),
        single_words=int(is_single.sum()),
        available=len(documents),
        about={**about, **_facts(subject, base, is_right)},
        settings=asdict(settings),
    )
    chance_rng = np.random.default_rng(settings.seed)
    result = guard_against_chance(result, chance_rng, settings.bootstrap)
    order = position[np.concatenate(groups)]
    return replace(result, shown=show_documents(subject, result, order, audited.rationales))


def tolerated(settings: AuditSettings) -> float:
    """The share of false pictures that an audit tolerates."""
    usual = operating_points.shipped().tolerated(operating_points.FALSE_DOCUMENTS)
    return float(usual or 0.0) if settings.tolerate is None else settings.tolerate


@in_full()
def measure_share(
    subject: Subject,
    documents: Documents,
    settings: AuditSettings,
    asked: Sequence[str] | None,
    request: AuditOptions,
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
    Measuring.of(asked_of, documents, settings, asked, request).measure_all(request, share, shares)


def _without(is_left_out: Bool[ndarray, " documents"], measured: Measured) -> Measured:
    """The same, with no number for some documents."""
    columns = {n: np.where(is_left_out, np.nan, c) for n, c in measured.columns.items()}
    is_kept = ~is_left_out[measured.document]
    words = {name: rows[is_kept] for name, rows in measured.words.items()}
    return replace(measured, columns=columns, words=words, document=measured.document[is_kept])


def _answer(question: Question, conclusion: Conclusion) -> Answer:
    if not conclusion.tests:
        return Answer(question.name, question.asks, None, (), conclusion.reason)
    judgement = judge_question(test.judgement for test in conclusion.tests)
    return Answer(question.name, question.asks, judgement, conclusion.tests)


def _facts(
    subject: Subject,
    base: Measured,
    is_right: Column,
) -> dict[str, Any]:
    """What else a reader of the audit asks first."""
    known = is_right[~np.isnan(is_right)]
    notes = [*subject.notes, *(note for one in subject.further.values() for note in one.notes)]
    windowed = base.columns.get(IN_WINDOWS)
    notes += unscored_notes(subject, base.columns)
    return {
        "judged_as": subject.architecture,
        "identity": dict(subject.identity),
        "classes": [str(label) for label in subject.classes],
        "accuracy": float(known.mean()) if len(known) else None,
        "labelled_documents": len(known),
        "documents_cut": int(base.columns["cut"].sum()),
        **({"documents_in_windows": int(windowed.sum())} if windowed is not None else {}),
        "mean_words": float(base.columns["words"].mean()),
        **({"notes": notes} if notes else {}),
    }
