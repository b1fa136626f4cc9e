"""Could a very different attention have led to the same prediction?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.frontier import area_interval, frontier, tvd_terms
from heedful.auditing.metrics.divergence import max_js_divergence
from heedful.auditing.questions.base import (
    AuditSettings,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.results import Column, TestResult
from heedful.auditing.subjects.base import Decides, Reading
from heedful.auditing.subjects.retrained import Twin, adversary, context_free
from heedful.errors import counted
from heedful.training.settings import Settings

ADVERSARY = "adversary-"
CONTROL = "mlp-trained"
CONTROL_ADVERSARY = "mlp-against-"
AT_JSD = 0.4
FARTHEST = "the farthest weights found"  # of the search on the fixed model
MATCHED_JSD = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65)  # at which frontiers are compared

EPSILON_MAX_JSD = AuditTest(
    "epsilon-max JSD", "lower", "Jain & Wallace 2019", "the largest possible JSD", "0",
    "epsilon_max_jsd", is_compared=True, is_usual_column=True,
)  # fmt: skip
TVD_AT_JSD = AuditTest(
    f"TVD at JSD {AT_JSD}", "higher", "Wiegreffe & Pinter 2019", "0",
    "that of a model that sees one word at a time", needs_retraining=True,
)  # fmt: skip


@questions.register("exclusive")
@dataclass(frozen=True)
class Exclusive(Question):
    """Adversarial weights on the fixed model (Jain & Wallace): the largest JSD within epsilon."""

    name = "exclusive"
    place = 2
    asks = "Could a very different attention have led to the same prediction?"
    needs = Decides
    tests = (EPSILON_MAX_JSD, TVD_AT_JSD)

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """Adversaries of the run, and of a model that sees one word at a time."""
        epochs, weights = settings.adversary_epochs, settings.adversary_weights
        own = [adversary(weight, epochs, run) for weight in weights]
        others = [
            adversary(weight, epochs, run, base=CONTROL, name=CONTROL_ADVERSARY)
            for weight in weights
        ]
        return (*own, Twin(CONTROL, context_free(run)), *others)

    def measure(self, group: DocumentGroup) -> Measured:
        """The largest divergence found with the same prediction, and the largest there is."""
        subject, reading, settings = group.subject, group.reading, group.settings
        assert isinstance(subject, Decides)
        columns = {
            "epsilon_max_jsd": np.full(len(reading.texts), np.nan),
            "right_farthest": np.full(len(reading.texts), np.nan),
            "max_jsd": max_js_divergence(reading.weights, reading.is_token),
        }
        rows = np.flatnonzero(group.is_sampled)
        if len(rows):
            looked_at = group.reading_of(rows)
            found = subject.otherwise(looked_at, settings.search_in(subject), group.seed)
            # Decided with once more: what a search says of itself is not relied on.
            decided, apart = subject.decide(looked_at, found), looked_at.apart(found)
            # The attention itself is always within epsilon, at distance 0.
            allowed = np.where(looked_at.moved(decided) <= settings.epsilon, apart, 0.0)
            columns["epsilon_max_jsd"][rows] = allowed.max(axis=1)
            prediction = reading.prediction.copy()
            prediction[rows] = decided[np.arange(len(rows)), apart.argmax(axis=1)].argmax(axis=-1)
            columns["right_farthest"][rows] = group.is_right(prediction)[rows]
        columns |= _distances(group, reading, group.twins.named(ADVERSARY), "adversary")
        control = group.twins.subjects.get(CONTROL)
        if control is not None:
            others = group.twins.named(CONTROL_ADVERSARY)
            own = control.read(reading.texts)
            columns |= _distances(group, own, others, "control_adversary")
        return Measured(columns)

    def conclude(self, found: Findings) -> Conclusion:
        """Between the farthest attention there is and none: lower is better."""
        search = found.settings.search_in(found.subject)
        value, most = found.columns["epsilon_max_jsd"], found.columns["max_jsd"]
        note = (
            f"{search.candidates} candidates, {search.steps} steps; "
            f"epsilon {found.settings.epsilon}"
        )
        if (np.isnan(value) & ~np.isnan(most)).any():
            note += f"; searched in {counted(int((~np.isnan(value)).sum()), 'sampled document')}"
        test = found.test(EPSILON_MAX_JSD, value, most, 0.0, note=note)
        trained = self._frontier(found)
        facts = (*_accuracies(found), *trained.evidence.get("facts", ()))
        return Conclusion((test, *trained.tests), {**trained.evidence, "facts": facts})

    def _frontier(self, found: Findings) -> Conclusion:
        """What trained adversaries pay for looking elsewhere, beside a context-free model's."""
        own = _points(found, "adversary")
        untrained = found.untrained(ADVERSARY, CONTROL_ADVERSARY)
        if own is None:
            return Conclusion((), {"facts": tuple(untrained)})
        own_terms = tvd_terms(own.jsd, own.tvd, AT_JSD)
        rows, matched = _rows("this model", own), _matched("this model", own)
        facts = [_area(found, "this model", own)]
        tests: tuple[TestResult, ...] = ()
        control = _points(found, "control_adversary")
        if control is not None:
            rows += _rows("words one by one", control)
            matched += _matched("words one by one", control)
            facts.append(_area(found, "words one by one", control))
            ceiling = tvd_terms(control.jsd, control.tvd, AT_JSD)
            if own_terms is not None and ceiling is not None:
                note = (
                    f"of adversaries trained with weights {_named(own.weights)}, one training each"
                )
                tests = (found.test(TVD_AT_JSD, own_terms, 0.0, ceiling, note=note),)
        if not tests:
            facts.append(_unreached(found, own, control))
        evidence = {"frontier": tuple(rows), "matched": tuple(matched)}
        return Conclusion(tests, {**evidence, "facts": (*facts, *untrained)})


@dataclass(frozen=True)
class Points:
    """How far each trained adversary came, document by document."""

    weights: tuple[float, ...]
    jsd: Float[ndarray, "adversaries documents"]
    tvd: Float[ndarray, "adversaries documents"]
    is_right: Float[ndarray, "adversaries documents"]  # 1 or 0; NaN without a label
    base_is_right: Column  # the model that they imitate


def _distances(
    group: DocumentGroup, reading: Reading, adversaries: Mapping[str, Decides], name: str
) -> dict[str, Column]:
    """Divergence of the weights and of the predictions from each adversary's, and who is right."""
    columns = {f"{name}_base_right": group.is_right(reading.prediction)} if adversaries else {}
    for weight, twin in adversaries.items():
        other = twin.read(reading.texts)
        columns[f"{name}_jsd_{weight}"] = reading.apart(other.weights[:, None])[:, 0]
        columns[f"{name}_tvd_{weight}"] = reading.moved(other.probabilities[:, None])[:, 0]
        columns[f"{name}_right_{weight}"] = group.is_right(other.prediction)
    return columns


def _points(found: Findings, name: str) -> Points | None:
    weights = [w for w in found.settings.adversary_weights if f"{name}_jsd_{w:g}" in found.columns]
    if not weights:
        return None
    jsd, tvd, is_right = (
        np.stack([found.columns[f"{name}_{kind}_{w:g}"] for w in weights])
        for kind in ("jsd", "tvd", "right")
    )
    return Points(tuple(weights), jsd, tvd, is_right, found.columns[f"{name}_base_right"])


def _rows(model: str, points: Points) -> list[dict[str, object]]:
    """The adversaries as rows for a figure."""
    jsd, tvd = (np.nanmean(values, axis=1) for values in (points.jsd, points.tvd))
    on_frontier = set(frontier(jsd, tvd).tolist())
    return [
        {
            "model": model, "adversary_weight": weight, "jsd": float(jsd[place]),
            "tvd": float(tvd[place]), "is_on_frontier": place in on_frontier,
            "accuracy": _mean(points.is_right[place]),
            "accuracy_drop": _mean(points.base_is_right - points.is_right[place]),
        }
        for place, weight in enumerate(points.weights)
    ]  # fmt: skip


def _mean(values: Column) -> float:
    """The mean over documents that have a number; NaN where none has."""
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else float("nan")


def _accuracies(found: Findings) -> list[dict[str, object]]:
    """Accuracy under the own weights and the farthest found, on the documents of the search."""
    farthest = found.columns["right_farthest"]
    if np.isnan(farthest).all():
        return []
    own = np.where(np.isnan(farthest), np.nan, found.is_right)
    note = "of all candidates, also those beyond epsilon"
    return [
        found.fact("accuracy under its own weights", own),
        found.fact(f"accuracy under {FARTHEST}", farthest, note),
    ]


def _matched(model: str, points: Points) -> list[dict[str, object]]:
    """The frontier's TVD at JSDs that are the same for all models, as far as it reaches."""
    terms = {at: tvd_terms(points.jsd, points.tvd, at) for at in MATCHED_JSD}
    return [
        {"model": model, "at_jsd": at, "tvd": float(np.nanmean(some))}
        for at, some in terms.items()
        if some is not None
    ]


def _area(found: Findings, model: str, points: Points) -> dict[str, object]:
    """The area under a frontier, from resampled documents."""
    reach = float(np.nanmean(points.jsd, axis=1).max())
    value, low, high, documents = area_interval(
        points.jsd, points.tvd, found.rng_for(f"area, {model}"), found.settings.bootstrap
    )
    return {
        "question": found.question, "name": f"area under the TVD-JSD frontier, {model}",
        "note": f"TVD over JSD from 0 to 0.69, taken as level beyond {reach:.2f}",
        "mean": value, "low": low, "high": high, "documents": documents,
    }  # fmt: skip


def _unreached(found: Findings, own: Points, control: Points | None) -> dict[str, object]:
    """Why there is no test of the frontier."""
    if control is None:
        return found.no_fact(TVD_AT_JSD.name, "no word-by-word model to compare with")
    far = [float(np.nanmean(points.jsd, axis=1).max()) for points in (own, control)]
    note = f"not every frontier reaches it: this model's {far[0]:.3f}, word by word {far[1]:.3f}"
    return found.no_fact(TVD_AT_JSD.name, note)


def _named(weights: Sequence[float]) -> str:
    return ", ".join(f"{weight:g}" for weight in weights)
