"""A model that is right no more often than chance: nothing that it shows is supported.

Its attention may well agree with its decisions, but the decisions are about nothing, and so is the
picture. The guard holds for every model and every way to audit.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from heedful.auditing.bootstrap import BootstrapSettings, paired_difference
from heedful.auditing.results import AT_CHANCE, Answer, Audit
from heedful.auditing.verdict import judge_question, reach_verdict


def guard_against_chance(
    found: Audit, rng: np.random.Generator, settings: BootstrapSettings
) -> Audit:
    """The audit as it is; with nothing supported if the model is not clearly better than chance."""
    why = why_chance(found, rng, settings)
    return unsupported(found, why) if why else found


def why_chance(found: Audit, rng: np.random.Generator, settings: BootstrapSettings) -> str:
    """A sentence if the model is not clearly right more often than the commonest label would be.

    Empty where no document has a label.
    """
    labels = [label for label in found.labels if label is not None]
    if not labels:
        return ""
    commonest = max(sorted(set(labels)), key=labels.count)
    right = found.columns["is_right"]
    always = np.array([np.nan if x is None else float(x == commonest) for x in found.labels])
    ahead = paired_difference(right, always, rng, settings)
    if ahead.interval[0] > 0:
        return ""
    above = "at chance" if ahead.mean <= 0 else "not clearly above chance on these documents"
    return (
        f"the model's accuracy is {above}: {np.nanmean(right):.1%}, and {np.nanmean(always):.1%} "
        f"for always predicting {commonest!r}; so nothing that it shows is supported"
    )


def unsupported(found: Audit, why: str) -> Audit:
    """The audit of a model at chance: nothing is supported, and nothing may be shown instead."""

    def judged(answer: Answer) -> Answer:
        tests = tuple(
            replace(test, judgement="undecided", note=why)
            if test.judgement == "supported"
            else test
            for test in answer.tests
        )
        judgement = judge_question(test.judgement for test in tests) if tests else answer.judgement
        return replace(answer, tests=tests, judgement=judgement)

    answers = tuple(map(judged, found.answers))
    verdict = reach_verdict({answer.question: answer.judgement for answer in answers})
    about = {**found.about, AT_CHANCE: why}
    evidence = {name: tuple(map(_unsupported, rows)) for name, rows in found.evidence.items()}
    return replace(
        found, answers=answers, verdict=verdict, about=about, instead="", evidence=evidence
    )


def _unsupported(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of evidence; a measure is not supported either."""
    if row.get("judgement") != "supported":
        return row
    verdict = {"verdict": "not-safe"} if row.get("verdict") == "may" else {}
    return {**row, "judgement": "undecided", **verdict}
