"""Texts and models -> sheets: explain, attend, replace, compare."""

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.metrics.divergence import js_divergence
from heedful.auditing.metrics.ranking import kendall_tau, top_overlap
from heedful.auditing.results import Audit, plain
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.withholding import Withholding
from heedful.counterfactual import what_if
from heedful.errors import DataError, RunError
from heedful.importance.explanation import Explanation, explain
from heedful.training.trained import Trained
from heedful.web import schemas
from heedful.web.limits import Limits
from heedful.web.store import Store

Scores = Mapping[str, Float[ndarray, " words"]]


class Reader:
    """Reads texts with the runs of a store; remembers the last ones, since people drag."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store = store
        self.limits = limits
        self._lock = threading.Lock()
        self._readings: OrderedDict[tuple[object, ...], what_if.EditedText] = OrderedDict()
        # By run, each with what it was made from: both are read again when their files change.
        self._withholdings: dict[str, tuple[list[Trained | Audit], Withholding | None]] = {}

    def explain(self, run: str, form: schemas.ExplainForm) -> schemas.Explained:
        """One text, word by word."""
        trained = self.store.run(run)
        found = explain(trained, form.text, _once(form.measures))
        return explained(run, trained, self._judged(run, trained, found))

    def compare(self, form: schemas.CompareForm) -> schemas.Compared:
        """One text as several runs see it."""
        sheets, attentions = [], {}
        for run in _once(form.runs):
            trained = self.store.run(run)
            found = explain(trained, form.text, _once(["attention", *form.measures]))
            sheets.append(explained(run, trained, self._judged(run, trained, found)))
            if not found.withheld:
                attentions[run] = (found.offsets, found.scores["attention"])
        pairs = list(_comparable(attentions))
        return schemas.Compared(
            runs=sheets,
            agreements=[
                agreement(first, second, attentions[first][1], attentions[second][1])
                for first, second in pairs
            ],
            distances=[
                distance(first, second, attentions[first][1], attentions[second][1])
                for first, second in pairs
            ],
        )

    def attend(self, run: str, form: schemas.AttendForm) -> schemas.Attended:
        """The prediction under some weights."""
        trained = self.store.run(run)
        reading = self._reading(run, trained, form.text, form.deleted)
        return attended(run, trained, reading, what_if.decide(reading, form.weights))

    def replace(self, run: str, form: schemas.ReplaceForm) -> schemas.Attended:
        """The prediction under the weights of a counterfactual."""
        trained = self.store.run(run)
        reading = self._reading(run, trained, form.text, form.deleted)
        weights = what_if.other_weights(reading, form.by, form.seed)
        return attended(run, trained, reading, what_if.decide(reading, weights))

    def _judged(self, run: str, trained: Trained, found: Explanation) -> Explanation:
        """An explanation that says whether its heat map may be shown, if the run was audited."""
        audits = self.store.audits_of(run)
        with self._lock:
            known = self._withholdings.get(run)
        seen: list[Trained | Audit] = [trained, *audits]
        if known is None or list(map(id, known[0])) != list(map(id, seen)):
            known = (seen, _withholding(trained, audits))
            with self._lock:
                self._withholdings[run] = known
        return found if known[1] is None else known[1].explained(found)

    def _reading(
        self, run: str, trained: Trained, text: str, deleted: Sequence[int]
    ) -> what_if.EditedText:
        key = (run, text, frozenset(deleted))
        with self._lock:
            if (known := self._readings.get(key)) is not None and known.model is trained.model:
                self._readings.move_to_end(key)
                return known
        found = what_if.read(trained, text, deleted)
        with self._lock:
            self._readings[key] = found
            while len(self._readings) > self.limits.readings_kept:
                self._readings.popitem(last=False)
        return found


def _withholding(trained: Trained, audits: Sequence[Audit]) -> Withholding | None:
    """By the rule of the largest audit of this very model that has one; none: there is none."""
    subject = ClassifierSubject(trained)
    for audit in sorted(audits, key=lambda audit: -audit.documents):
        try:
            return Withholding.by_audit(audit, subject)
        except RunError:
            continue
    return None


def explained(run: str, trained: Trained, found: Explanation) -> schemas.Explained:
    """An explanation as a sheet."""
    return schemas.Explained(
        **_read(run, trained, found.text, found.offsets),
        prediction=str(found.prediction),
        probabilities=_by_class(trained, found.probabilities),
        withheld=found.withheld,
        scores={measure: plain(scores.tolist()) for measure, scores in found.scores.items()},
        unsigned=[measure for measure in found.scores if measure in found.unsigned],
        agreements=list(agreements(found.scores)),
        deletions=[
            schemas.DeletionSheet(
                measure=one.measure, words=list(one.words), probability=one.probability
            )
            for one in found.drawn_deletions
        ],
        shown=found.shown,
        why=found.why,
    )


def attended(
    run: str, trained: Trained, reading: what_if.EditedText, found: what_if.WhatIf
) -> schemas.Attended:
    """An answer to "what if?" as a sheet; weights that are withheld are left out."""
    (withheld,) = reading.decisions.withheld
    return schemas.Attended(
        **_read(run, trained, reading.text, reading.offsets),
        deleted=np.flatnonzero(~reading.is_kept).tolist(),
        weights=[] if withheld else found.weights.tolist(),
        own=[] if withheld else reading.own.tolist(),
        prediction=str(reading.classes[int(found.probabilities.argmax())]),
        probabilities=_by_class(trained, found.probabilities),
        own_prediction=str(reading.classes[int(reading.probabilities.argmax())]),
        own_probabilities=_by_class(trained, reading.probabilities),
        decided=_by_class(trained, reading.decisions.probabilities[0]),
        withheld=withheld,
        jsd=found.jsd,
        tvd=found.tvd,
        largest_jsd=math.log(2),
        same_within=what_if.SAME,
    )


def agreements(scores: Scores) -> Iterator[schemas.Agreement]:
    """How alike each two measures rank the words; attention has no sign, so none counts."""
    for first, second in combinations(scores, 2):
        yield agreement(first, second, scores[first], scores[second])


def agreement(
    first: str,
    second: str,
    first_scores: Float[ndarray, " words"],
    second_scores: Float[ndarray, " words"],
) -> schemas.Agreement:
    """How alike two rankings of the same words are."""
    one, other = (
        np.abs(scores.astype(np.float64))[None] for scores in (first_scores, second_scores)
    )
    is_token = np.ones(one.shape, dtype=bool)
    tau, overlap = (
        plain(float(metric(one, other, is_token)[0])) for metric in (kendall_tau, top_overlap)
    )
    return schemas.Agreement(first=first, second=second, kendall_tau=tau, top_overlap=overlap)


def distance(
    first: str, second: str, one: Float[ndarray, " words"], other: Float[ndarray, " words"]
) -> schemas.Distance:
    """How far two attentions on the same words are from each other."""
    rows = [weights.astype(np.float64)[None] for weights in (one, other)]
    jsd = float(js_divergence(*rows)[0])
    return schemas.Distance(first=first, second=second, jsd=jsd)


def _comparable(
    attentions: Mapping[str, tuple[Int[ndarray, "words 2"], Float[ndarray, " words"]]],
) -> Iterator[tuple[str, str]]:
    """Pairs of runs that cut the text into the same words."""
    for first, second in combinations(attentions, 2):
        if np.array_equal(attentions[first][0], attentions[second][0]):
            yield first, second


def _read(
    run: str, trained: Trained, text: str, offsets: Int[ndarray, "words 2"]
) -> dict[str, Any]:
    return {
        "run": run,
        "text": text,
        "words": [schemas.Word(start=start, end=end) for start, end in offsets.tolist()],
        "is_cut": trained.tokenizer.encode([text]).cut > 0,
        "longest": trained.longest_text,
    }


def _by_class(
    trained: Trained, probabilities: Float[ndarray, " classes"]
) -> list[schemas.Probability]:
    if not np.isfinite(probabilities).all():
        raise DataError("the model gives this text probabilities that are no numbers.")
    shares = zip(trained.classes, probabilities.tolist(), strict=True)
    return [schemas.Probability(label=str(label), probability=share) for label, share in shares]


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
