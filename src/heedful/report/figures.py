"""Audits -> the figures that their evidence allows, each as a picture and as a live chart.

What was not asked leaves no evidence, and the figures that need it are left out.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import vl_convert
from markupsafe import Markup

from heedful import plots
from heedful.auditing.document_filter import Selection, Within
from heedful.auditing.results import Audit, TestResult
from heedful.plots import Figure
from heedful.visible import visible

SCORES, INSTEAD = "scores", "instead"  # places of figures that belong to no question


@dataclass(frozen=True)
class Drawing:
    """A figure of a place in the report, and the evidence it needs."""

    place: str
    draw: Callable[[pd.DataFrame], Figure]
    needs: tuple[str, ...]
    table: str = ""  # of the evidence; the rows per document if none is named


DRAWINGS = (
    Drawing("decisive", plots.permutation_effect, ("max_weight", "permuted_tvd", "prediction")),
    Drawing("exclusive", plots.adversarial_distance, ("epsilon_max_jsd",)),
    Drawing("exclusive", plots.tvd_jsd_frontier, ("model", "jsd", "tvd"), "frontier"),
    Drawing("stable", plots.seed_distance, ("seed_jsd", "permuted_jsd")),
    Drawing("telling", plots.deletion_curves, ("measure", "k"), "curves"),
    Drawing("telling", plots.keep_curves, ("measure", "k"), "curves"),
    Drawing(INSTEAD, plots.measures_ranking, ("measure", "comprehensiveness"), "measures"),
    Drawing("grounded", plots.influence, ("influence_entropy", "own_influence")),
    Drawing("discerning", plots.word_scatter, ("attention_score", "polarity"), "words"),
    Drawing("discerning", plots.word_weights, ("kind", "weight"), "words"),
)


@dataclass(frozen=True)
class Panel:
    """A chart of one run (or of all), as a picture and as what the page makes live."""

    name: str
    run: str
    picture: Markup
    width: int
    chart: dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A figure with a panel for each run that has it."""

    title: str
    caption: str
    panels: tuple[Panel, ...]


def charts(audits: Mapping[str, Audit]) -> Iterator[tuple[str, Figure]]:
    """Every figure with the place where it stands: of all audits together, then of each."""
    for figure in _of_all(audits):
        yield SCORES, figure
    for audit in audits.values():
        yield from _of_one(audit)


def figures(audits: Mapping[str, Audit], *, of_each: bool = True) -> dict[str, list[Drawn]]:
    """Figures by the place where they stand: of each audit, and of all together."""
    found: dict[str, dict[str, list[tuple[str, Figure]]]] = {}
    for run, audit in audits.items() if of_each else ():
        for place, figure in _of_one(audit):
            found.setdefault(place, {}).setdefault(figure.title, []).append((run, figure))
    for figure in _of_all(audits):
        found.setdefault(SCORES, {})[figure.title] = [("", figure)]
    return {
        place: [
            Drawn(title, by_run[0][1].caption, tuple(panel(run, figure, f"{place}-{n}-{m}")
                  for m, (run, figure) in enumerate(by_run)))
            for n, (title, by_run) in enumerate(titles.items())
        ]
        for place, titles in found.items()
    }  # fmt: skip


def _of_one(audit: Audit) -> Iterator[tuple[str, Figure]]:
    documents = pd.DataFrame(audit.columns)
    documents["prediction"] = [visible(label) for label in audit.predictions]
    tables = {name: _table(rows) for name, rows in audit.evidence.items()}
    tables[""] = documents
    for drawing in (*DRAWINGS, *_agreements(documents)):
        rows = tables.get(drawing.table, pd.DataFrame())
        if not set(drawing.needs) <= set(rows):
            continue
        rows = rows.dropna(subset=list(drawing.needs))
        if len(rows):
            yield drawing.place, drawing.draw(rows)


def _agreements(documents: pd.DataFrame) -> Iterator[Drawing]:
    """A figure for each measure that attention was compared with."""
    for column in documents:
        random = f"{column}_random"
        if str(column).startswith("kendall_tau_") and random in documents:
            measure = str(column).removeprefix("kendall_tau_")
            draw = partial(plots.agreement, measure=measure)
            yield Drawing("agreeing", draw, (str(column), random, "prediction"))


def _of_all(audits: Mapping[str, Audit]) -> Iterator[Figure]:
    rows = pd.DataFrame(list(_scores(audits)))
    if not len(rows):
        return
    yield plots.scores_forest(rows)
    first = rows.sort_values("cut", kind="stable").drop_duplicates(["run", "question"])
    first = first.sort_index().dropna(subset=["accuracy", "score"])
    if first["run"].nunique() > 1:
        yield plots.pareto(first)


def _scores(audits: Mapping[str, Audit]) -> Iterator[dict[str, Any]]:
    for run, audit in audits.items():
        accuracy = _accuracy(audit)
        for answer in audit.answers:
            for test in answer.tests:
                low, high = test.score.interval
                yield {
                    "run": visible(run),
                    "question": visible(answer.question),
                    "test": spoken(visible(test.name)),
                    "score": test.score.score,
                    "low": low,
                    "high": high,
                    "cut": audit.cuts.get(test.name, np.nan),
                    "judgement": test.judgement,
                    "accuracy": accuracy,
                    "behind": _behind(test, audit),
                }


def _behind(test: TestResult, audit: Audit) -> str | None:
    """The documents that a test was made on, the highest first; None: it is of all together."""
    column = test.column
    if column is None or column not in audit.columns:
        return None
    return Selection(where=(Within(column),), sort=column).query


def _accuracy(audit: Audit) -> float:
    """On the audited documents that carry a label."""
    pairs = zip(audit.predictions, audit.labels, strict=True)
    hits = [prediction == label for prediction, label in pairs if isinstance(label, str)]
    return float(np.mean(hits)) if hits else np.nan


def spoken(name: str) -> str:
    """A name as people write it."""
    return name.replace("_", " ")


def _table(rows: tuple[Mapping[str, Any], ...]) -> pd.DataFrame:
    return pd.DataFrame(
        [{key: visible(v) if isinstance(v, str) else v for key, v in row.items()} for row in rows]
    )


def panel(run: str, figure: Figure, name: str) -> Panel:
    """A figure as a picture and as what the page makes live."""
    chart = figure.chart.to_dict(validate=False)
    chart.pop("$schema", None)
    svg = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    # Inside a page an SVG needs no namespace, so that the report names no address at all.
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg, count=2)
    width = round(float(re.search(r'<svg[^>]* width="([\d.]+)"', svg)[1]))  # type: ignore[index]
    return Panel(f"chart-{name}", run, Markup(svg), width, chart)
