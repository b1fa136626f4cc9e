"""Readings that are no attention: every measure of importance, and scores that were given.

Each has a picture of every document, which is true or false by the same rule as that of attention.
Words are deleted for it; in the other ways of taking words away only given scores are judged too.
Nothing in a model decides by them, so `decisive` cannot be asked. Instead, two checks can refuse:

    random weights   the reading must change if the model's numbers are shuffled (arXiv:1810.03292)
    completeness     where scores are said to add up to something, they must

Of all readings, the one that is named as what may be shown instead was chosen on other documents
than those that it is judged on, so that the best of many is not best by chance.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import estimate, score_share
from heedful.auditing.metrics.ranking import kendall_tau
from heedful.auditing.pictures import ATTENTION, Deleting, drawn, judge_pictures
from heedful.auditing.questions.base import (
    DocumentGroup,
    Findings,
    chosen_names,
    cross_fitted_choice,
    pick,
)
from heedful.auditing.questions.erased import FALL
from heedful.auditing.questions.other_judges import other_tests
from heedful.auditing.results import Column, Table
from heedful.auditing.verdict import (
    INCOMPLETE,
    LIKE_RANDOM,
    Judgement,
    judge_check,
    judge_question,
    reading_verdict,
)
from heedful.errors import counted
from heedful.importance.base import Complete

IS_TRUE = "is_true"  # its column: whether the picture of a measure is true
RANDOM_MODEL = "random_model"  # rank agreement with the measure of a model with random weights
GAP = "gap"  # between the sum of scores and what they should sum to, as a share
BY_CHANCE = "random"
NEVER = (ATTENTION, BY_CHANCE)  # judged elsewhere, or the floor itself


def measured_readings(
    group: DocumentGroup, columns: Mapping[str, Column], deleting: Deleting
) -> dict[str, Column]:
    """The pictures and checks of all measures that were ranked; NaN where they were not."""
    ranked = [
        measure
        for measure in group.subject.measures
        if f"{FALL}_{measure}" in columns and measure != BY_CHANCE
    ]
    found = _pictures(group, ranked, columns, deleting)
    return found | _like_random_model(group, ranked) | _gaps(group, ranked)


def _pictures(
    group: DocumentGroup, measures: Sequence[str], columns: Mapping[str, Column], deleting: Deleting
) -> dict[str, Column]:
    effects, reading = group.effects_by(group.judge), group.reading
    floor, found = columns[f"{FALL}_random"], {}
    for measure in measures:
        fall, weights = columns[f"{FALL}_{measure}"], None
        if measure != ATTENTION:
            is_signed = group.subject.measure(measure).is_signed
            weights = drawn(group.importance_of_sample(measure), is_signed, reading.is_token)
        pictures = judge_pictures(group.judge, reading, effects, deleting, fall, floor, weights)
        found[f"{IS_TRUE}_{measure}"] = np.where(np.isnan(fall), np.nan, pictures.is_true)
    return found


def _like_random_model(group: DocumentGroup, measures: Sequence[str]) -> dict[str, Column]:
    """How alike a measure ranks words of the model and of one with random weights; of a sample."""
    other, reading = group.subject.randomised, group.reading
    if other is None:
        return {}
    rows = np.flatnonzero(group.is_replaced & (reading.is_token.sum(axis=1) > 1))
    computed = [m for m in measures if m in other.measures and not group.subject.measure(m).digest]
    found = {f"{RANDOM_MODEL}_{m}": np.full(len(reading.texts), np.nan) for m in computed}
    if not len(rows):
        return found
    blind = other.read([reading.texts[row] for row in rows.tolist()])
    words, target = blind.is_token.shape[1], reading.prediction[rows]
    for measure in computed:
        own = group.importance_of_sample(measure)[rows, :words]
        same = kendall_tau(own, other.importance(blind, measure, target), blind.is_token)
        # A reading that ranks nothing at all without the weights is no longer the same.
        found[f"{RANDOM_MODEL}_{measure}"][rows] = np.nan_to_num(same)
    return found


def _gaps(group: DocumentGroup, measures: Sequence[str]) -> dict[str, Column]:
    """What the scores of a document lack to their sum, as a share of all that they come to."""
    found: dict[str, Column] = {}
    for name in measures:
        if not isinstance(group.subject.measure(name), Complete):
            continue
        found[f"{GAP}_{name}"] = np.full(len(group.reading.texts), np.nan)
        rows = np.flatnonzero(group.is_sampled)
        if not len(rows):
            continue
        scores = group.importance_of_sample(name)[rows]
        expected = group.subject.expected_sum(group.reading_of(rows), name)
        size = np.maximum(np.abs(scores).sum(axis=1), np.abs(expected))
        gap = np.abs(scores.sum(axis=1) - expected)
        found[f"{GAP}_{name}"][rows] = gap / np.maximum(size, np.finfo(np.float64).tiny)
    return found


def reading_facts(found: Findings, measure: str, true_pictures: AuditTest) -> dict[str, Any]:
    """The share of false pictures of a measure, its checks, and what they come to."""
    columns, bootstrap = found.columns, found.settings.bootstrap
    judged = np.full(len(columns[f"{FALL}_best"]), np.nan)  # not measured
    if measure == BY_CHANCE:
        judged = np.where(np.isnan(columns[f"{FALL}_best"]), np.nan, 0.0)
    true = score_share(columns.get(f"{IS_TRUE}_{measure}", judged), bootstrap)
    judgement = found.judged(true_pictures, true).judgement
    others = other_tests(found, measure)  # of given scores
    telling = judge_question([judgement, *(other.judgement for other in others)])
    checks: list[Judgement | None] = []
    told: dict[str, Any] = {}
    for name, column, cut in (
        ("random_model", RANDOM_MODEL, LIKE_RANDOM),
        ("incompleteness", GAP, INCOMPLETE),
    ):
        check, number = _checked(found, f"{column}_{measure}", cut)
        checks.append(check)
        told |= {name: number, f"{name}_judgement": check}
    return {
        "false_pictures": 1 - true.value,
        "false_low": 1 - true.interval[1],
        "false_high": 1 - true.interval[0],
        "judgement": judgement,
        "otherwise": "; ".join(
            f"with {other.note} instead of deleted it is false on {1 - other.score.value:.0%} of "
            f"{counted(other.score.documents, 'document')}"
            for other in others
        ),
        **told,
        "verdict": None if measure in NEVER else reading_verdict(telling, *checks),
    }


def _checked(found: Findings, column: str, cut: float) -> tuple[Judgement | None, float | None]:
    """A check's judgement and its mean; nothing where it is not defined."""
    if column not in found.columns:
        return None, None
    mean = estimate(found.columns[column], found.rng_for(column), found.settings.bootstrap)
    return judge_check(mean.interval, cut, min(found.distinct, mean.documents)), mean.mean


def chosen_elsewhere(found: Findings, rows: Table, true_pictures: AuditTest) -> Table:
    """The best reading but attention, chosen on other documents than it is judged on.

    Each half of the documents takes the reading that was true most often on the other half. One
    that a check refuses, or that was given, is not among them. No row: there is nothing to choose.
    """
    able = [
        str(row["measure"])
        for row in rows
        if row["verdict"] is not None
        and f"{IS_TRUE}_{row['measure']}" in found.columns
        and not found.subject.measure(str(row["measure"])).digest
        and reading_verdict("supported", *_checks(row)) == "may"
    ]
    if not able:
        return ()
    values = np.stack([found.columns[f"{IS_TRUE}_{measure}"] for measure in able])
    choice = cross_fitted_choice(values, "higher", found.rng_for("reading to show instead"))
    of_all = ~np.isnan(values).any(axis=0)
    true = score_share(np.where(of_all, pick(values, choice), np.nan), found.settings.bootstrap)
    return (
        {
            "measure": chosen_names(able, choice[of_all]) if of_all.any() else able[0],
            "false_pictures": 1 - true.value,
            "false_low": 1 - true.interval[1],
            "false_high": 1 - true.interval[0],
            "judgement": found.judged(true_pictures, true).judgement,
            "documents": true.documents,
        },
    )


def _checks(row: Mapping[str, Any]) -> tuple[Judgement | None, ...]:
    return row["random_model_judgement"], row["incompleteness_judgement"]
