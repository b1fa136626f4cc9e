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
from heedful.auditing.withholding import Withholding
from heedful.counterfactual import what_if
from heedful.errors import DataError, RunError
from heedful.importance.explanation import ATTENTION, Explanation
from heedful.web import schemas
from heedful.web.limits import Limits
from heedful.web.models import ServedModel
from heedful.web.store import Store

Scores = Mapping[str, Float[ndarray, " words"]]


class Reader:
    """Reads texts with the runs of a store; remembers the last ones, since people drag."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store = store
        self.limits = limits
        self._lock = threading.Lock()
        # Each with what it was made from: models and audits are read again when files change.
        self._readings: OrderedDict[tuple[object, ...], tuple[ServedModel, what_if.EditedText]] = (
            OrderedDict()
        )
        self._withholdings: dict[str, tuple[list[ServedModel | Audit], Withholding | None]] = {}

    def explain(self, run: str, form: schemas.ExplainForm) -> schemas.Explained:
        """One text, word by word."""
        model = self.store.run(run)
        with model.turn():
            measures = _once(form.measures or model.usual_measures)
            found = self._judged(run, model, model.explain(form.text, measures))
            return explained(run, model, found)

    def compare(self, form: schemas.CompareForm) -> schemas.Compared:
        """One text as several runs see it, by those of the measures that each of them has."""
        sheets, attentions = [], {}
        for run in _once(form.runs):
            model = self.store.run(run)
            asked = _once([ATTENTION, *(form.measures or model.usual_measures)])
            measures = [name for name in asked if name in model.measures]
            with model.turn():
                found = self._judged(run, model, model.explain(form.text, measures))
                sheets.append(explained(run, model, found))
            if not found.withheld:
                attentions[run] = (found.offsets, found.scores[ATTENTION])
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
        model = self.store.run(run)
        with model.turn():
            reading = self._reading(run, model, form.text, form.deleted)
            return attended(run, model, reading, what_if.decide(reading, form.weights))

    def replace(self, run: str, form: schemas.ReplaceForm) -> schemas.Attended:
        """The prediction under the weights of a counterfactual."""
        model = self.store.run(run)
        with model.turn():
            reading = self._reading(run, model, form.text, form.deleted)
            weights = what_if.other_weights(reading, form.by, form.seed)
            return attended(run, model, reading, what_if.decide(reading, weights))

    def _judged(self, run: str, model: ServedModel, found: Explanation) -> Explanation:
        """An explanation that says whether its heat map may be shown, if the run was audited."""
        audits = self.store.audits_of(run)
        with self._lock:
            known = self._withholdings.get(run)
        seen: list[ServedModel | Audit] = [model, *audits]
        if known is None or list(map(id, known[0])) != list(map(id, seen)):
            known = (seen, _withholding(model, audits))
            with self._lock:
                self._withholdings[run] = known
        return found if known[1] is None else known[1].explained(found)

    def _reading(
        self, run: str, model: ServedModel, text: str, deleted: Sequence[int]
    ) -> what_if.EditedText:
        key = (run, text, frozenset(deleted))
        with self._lock:
            if (known := self._readings.get(key)) is not None and known[0] is model:
                self._readings.move_to_end(key)
                return known[1]
        found = model.read(text, deleted)
        with self._lock:
            self._readings[key] = (model, found)
            while len(self._readings) > self.limits.readings_kept:
                self._readings.popitem(last=False)
        return found


def _withholding(model: ServedModel, audits: Sequence[Audit]) -> Withholding | None:
    """By the rule of the largest audit of this very model that has one; none: there is none."""
    for audit in sorted(audits, key=lambda audit: -audit.documents):
        try:
            return Withholding.by_audit(audit, model.subject)
        except RunError:
            continue
    return None


def explained(run: str, model: ServedModel, found: Explanation) -> schemas.Explained:
    """An explanation as a sheet."""
    return schemas.Explained(
        **_read(run, model, found.text, found.offsets),
        prediction=str(found.prediction),
        probabilities=_by_class(model, found.probabilities),
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
    run: str, model: ServedModel, reading: what_if.EditedText, found: what_if.WhatIf
) -> schemas.Attended:
    """An answer to "what if?" as a sheet; weights that are withheld are left out."""
    (withheld,) = reading.decisions.withheld
    return schemas.Attended(
        **_read(run, model, reading.text, reading.offsets),
        deleted=np.flatnonzero(~reading.is_kept).tolist(),
        weights=[] if withheld else found.weights.tolist(),
        own=[] if withheld else reading.own.tolist(),
        prediction=str(reading.classes[int(found.probabilities.argmax())]),
        probabilities=_by_class(model, found.probabilities),
        own_prediction=str(reading.classes[int(reading.probabilities.argmax())]),
        own_probabilities=_by_class(model, reading.probabilities),
        decided=_by_class(model, reading.decisions.probabilities[0]),
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
    run: str, model: ServedModel, text: str, offsets: Int[ndarray, "words 2"]
) -> dict[str, Any]:
    return {
        "run": run,
        "text": text,
        "words": [schemas.Word(start=start, end=end) for start, end in offsets.tolist()],
        "is_cut": model.is_cut(text),
        "longest": model.longest_text,
    }


def _by_class(
    model: ServedModel, probabilities: Float[ndarray, " classes"]
) -> list[schemas.Probability]:
    if not np.isfinite(probabilities).all():
        raise DataError(
            "the model's probabilities for this text are not numbers (NaN or infinite)."
        )
    shares = zip(model.classes, probabilities.tolist(), strict=True)
    return [schemas.Probability(label=str(label), probability=share) for label, share in shares]


def _once(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))
