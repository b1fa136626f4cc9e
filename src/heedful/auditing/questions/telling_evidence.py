"""What the report shows beside the tests of *telling*: curves, classes, measures, the ceiling."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import estimate, score_share
from heedful.auditing.pictures import ATTENTION
from heedful.auditing.questions.base import DocumentGroup, Findings
from heedful.auditing.questions.erased import CANDIDATES, FALL, WORST, Rows, erase
from heedful.auditing.questions.other_readings import reading_facts
from heedful.auditing.results import Table
from heedful.auditing.subjects.erasure import Ranking

SAME = 1e-9  # falls that differ by less are equal
CURVES = ("probability_drop", "accuracy_drop", "kept_own", "kept_gold")
ON_CURVES = (ATTENTION, "leave-one-out", "gradient-x-input", "random")


def class_table(found: Findings) -> Table:
    """False pictures by predicted class."""
    is_true, prediction = found.columns["is_true_picture"], found.prediction
    rows = []
    for number, name in enumerate(found.subject.classes):
        some = score_share(is_true[prediction == number], found.settings.bootstrap)
        low, high = some.interval
        rows.append(
            {
                "class": str(name), "false_pictures": 1 - some.value,
                "low": 1 - high, "high": 1 - low, "documents": some.documents,
            }
        )  # fmt: skip
    return tuple(rows)


def curves(
    group: DocumentGroup, sample: Rows, rankings: Mapping[str, Ranking]
) -> dict[str, Float[ndarray, "documents steps"]]:
    """What deleting or keeping the top 1, 2, … words does; NaN beyond a document's words."""
    steps = np.array(group.settings.curve)
    sizes = np.repeat(steps[None], len(group.labels), axis=0)
    is_long_enough = group.reading.is_token.sum(axis=1)[sample][:, None] > steps
    curves = empty_curves(group)
    all_erased = erase(group, sample, rankings.values(), sizes)
    for name, erased in zip(rankings, all_erased, strict=True):
        labels, prediction = erased.labels[:, None], erased.prediction[:, None]
        right_whole, right_without = (
            (found == labels).astype(np.float64)
            for found in (prediction, erased.prediction_without)
        )
        found = {
            "probability_drop": erased.probability[:, None] - erased.without,
            "accuracy_drop": np.where(labels >= 0, right_whole - right_without, np.nan),
            "kept_own": (erased.prediction_only == prediction).astype(np.float64),
            "kept_gold": np.where(labels >= 0, erased.prediction_only == labels, np.nan),
        }
        for curve, values in found.items():
            curves[f"{curve}_{name}"][sample] = np.where(is_long_enough, values, np.nan)
    return curves


def empty_curves(group: DocumentGroup) -> dict[str, Float[ndarray, "documents steps"]]:
    """Curves of documents that were not sampled: NaN throughout."""
    shape = (len(group.labels), len(group.settings.curve))
    names = [m for m in ON_CURVES if m in (*group.subject.measures, "random")]
    return {f"{curve}_{m}": np.full(shape, np.nan) for curve in CURVES for m in names}


def curve_table(found: Findings) -> Table:
    """Means of the curves: one row per measure and number of words."""
    rows = []
    curves = found.measured.curves
    for measure in ON_CURVES:
        if f"{CURVES[0]}_{measure}" not in curves:
            continue
        for step, k in enumerate(found.settings.curve):
            columns = {curve: curves[f"{curve}_{measure}"][:, step] for curve in CURVES}
            documents = int((~np.isnan(columns[CURVES[0]])).sum())
            means = {
                curve: float(np.nanmean(column)) if not np.isnan(column).all() else None
                for curve, column in columns.items()
            }
            if documents:
                rows.append({"measure": measure, "k": k, **means, "documents": documents})
    return tuple(rows)


def measure_table(found: Findings, true_pictures: AuditTest) -> Table:
    """Every measure on the sampled documents, best first: what may be shown instead."""
    columns, bootstrap = found.columns, found.settings.bootstrap
    known = [m for m in found.subject.measures if m != "random"]
    names = [m for m in known if f"comprehensiveness_{m}" in columns]
    sampled = np.all([~np.isnan(columns[f"comprehensiveness_{m}"]) for m in names], axis=0)
    rows = []
    for measure in (*names, "random"):
        column = np.where(sampled, columns[f"comprehensiveness_{measure}"], np.nan)
        rng = found.rng_for(f"ranking of {measure}")
        mean = estimate(column, rng, bootstrap)
        over = estimate(column - columns["comprehensiveness_attention"], rng, bootstrap)
        kept = estimate(
            np.where(sampled, columns[f"sufficiency_{measure}"], np.nan), rng, bootstrap
        )
        rows.append(
            {
                "measure": measure, "comprehensiveness": mean.mean,
                "low": mean.interval[0], "high": mean.interval[1],
                "over_attention": over.mean, "over_attention_low": over.interval[0],
                "over_attention_high": over.interval[1],
                "sufficiency": kept.mean, "documents": mean.documents,
                **reading_facts(found, measure, true_pictures),
            }
        )  # fmt: skip
    return tuple(sorted(rows, key=lambda row: -row["comprehensiveness"]))


def ceiling_table(found: Findings) -> Table:
    """Which ranking was the best of a document, most often first; of equal ones the cheapest."""
    names, chosen = _best_rankings(found)
    counts = np.bincount(chosen, minlength=len(names))
    return tuple(
        {"measure": names[number], "share": float(counts[number] / len(chosen)),
         "documents": int(counts[number])}
        for number in np.argsort(-counts, kind="stable").tolist()
        if counts[number]
    )  # fmt: skip


def ceiling_sentence(found: Findings) -> str:
    """The same in words; nothing where no picture was judged."""
    shares = [f"{row['measure']} on {row['share']:.0%}" for row in ceiling_table(found)]
    if not shares:
        return ""
    first, *others = shares
    return f"best ranking: {', '.join([f'{first} of the documents', *others])}"


def _best_rankings(found: Findings) -> tuple[list[str], Int[ndarray, " judged"]]:
    """The candidates, and which is the best of each document that has a picture."""
    columns = found.columns
    names = [name for name in CANDIDATES if f"{FALL}_{name}" in columns]
    falls = np.stack([columns[f"{FALL}_{name}"] for name in names])
    falls = np.where(np.isnan(falls), -np.inf, falls)[:, ~np.isnan(columns["is_true_picture"])]
    is_best = falls >= falls.max(axis=0, initial=-np.inf) - SAME
    return names, is_best.argmax(axis=0)


def limit_facts(found: Findings) -> Table:
    """Comprehensiveness between its limits: the worst (0) and the best order that was found (1)."""
    columns = found.columns
    if f"comprehensiveness_{WORST}" not in columns:
        return ()
    measured = [columns[name] for name in columns if name.startswith("comprehensiveness_")]
    low, high = np.fmin.reduce(measured), np.fmax.reduce(measured)
    known = ~np.isnan(columns[f"comprehensiveness_{WORST}"]) & (high - low > SAME)
    note = "0: the worst order of deletion that a beam search found, 1: the best (NAOPC)"
    return tuple(
        found.fact(
            f"normalised comprehensiveness of {name}",
            np.where(known, (columns[f"comprehensiveness_{column}"] - low) / (high - low), np.nan),
            note,
        )
        for name, column in ((ATTENTION, ATTENTION), ("random rankings", "random"))
    )
