"""Audits -> one HTML file that needs no network; an explanation -> the same, smaller.

Everything that comes from outside is escaped by the templates and shown by `visible`. The page
allows its own scripts and styles by their hashes and nothing else, so that a text which slipped
through would still not run.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heedful.auditing.next_step import COMMANDS, LEAD, next_steps
from heedful.auditing.results import AT_CHANCE, Audit, ShownDocument, Table
from heedful.auditing.scope import scope
from heedful.auditing.verdict import RULES
from heedful.errors import DataError
from heedful.report import calibration_points, tables
from heedful.report.figures import INSTEAD, SCORES, figures, spoken
from heedful.report.heatmap import HeatMap, heat_map
from heedful.visible import visible

if TYPE_CHECKING:
    from heedful.importance.explanation import Explanation


@dataclass(frozen=True)
class Document:
    """A document and its heat map."""

    run: str
    shown: ShownDocument
    heat: HeatMap


@dataclass(frozen=True)
class AuditedRun:
    """One audited run, as the head of the report shows it."""

    run: str
    audit: Audit
    mark: str
    why: str
    scope: str  # what is claimed and where it stops
    single_texts: str  # which single texts to show the picture of
    by_tolerance: list[tuple[str, str]]  # verdicts at other shares of false pictures
    by_class: list[tuple[str, str, str, int]]  # false pictures: class, share, interval, documents
    readings: list[tuple[str, str, str, str, str]]  # that are no attention, and their verdicts
    tally: str
    facts: list[tuple[str, str]]
    settings: list[tuple[str, str]]
    flips: dict[tuple[bool, bool], tuple[int, str]]


MOST_IN_FULL = 3  # audits that have their own figures and documents in one report


def render(
    audits: Mapping[str, Audit], *, title: str | None = None, differences: Table = ()
) -> str:
    """The report of one audit, or of several side by side, each under its name.

    `differences` are the paired ones of a comparison. Of many audits only what compares them is
    drawn, or the page would outgrow what people can read.
    """
    if not audits:
        raise DataError("there is no audit to report on.")
    is_in_full = len(audits) <= MOST_IN_FULL
    drawn = figures(audits, of_each=is_in_full)
    charts = {
        panel.name: panel.chart
        for figure in (figure for group in drawn.values() for figure in group)
        for panel in figure.panels
    }
    names = " and ".join(audits) if is_in_full else f"{len(audits)} models"
    return make_page(
        "report.html",
        title=title or f"Audit of {names}",
        subjects=[_subject(run, audit) for run, audit in audits.items()],
        questions=tables.questions(audits),
        figures=drawn,
        charts=charts,
        documents=[
            Document(run, shown, heat_map(shown.text, shown.offsets, shown.scores))
            for run, audit in audits.items()
            for shown in audit.shown
            if is_in_full
        ],
        differences=tables.difference_rows(differences, list(audits), is_in_full),
        calibrations=calibration_points.calibrations(audits),
        rules=RULES,
        places={"scores": SCORES, "instead": INSTEAD},
        lead=LEAD,
        next_steps=next_steps(*audits.values()),
    )


def explanation_page(explanation: "Explanation") -> str:
    """One text explained: the text once per measure, and the prediction without its top words."""
    offsets = [(start, end) for start, end in explanation.offsets.tolist()]
    scores = {measure: numbers.tolist() for measure, numbers in explanation.scores.items()}
    withheld = {measure: scores.pop(measure) for measure in scores.keys() - explanation.drawn}
    return make_page(
        "explanation.html",
        title=f"Explained: {explanation.prediction}",
        explanation=explanation,
        probability=float(explanation.probabilities.max()),
        heat=heat_map(explanation.text, offsets, scores),
        withheld=heat_map(explanation.text, offsets, withheld),
        charts={},
    )


def make_page(template: str, *, charts: dict[str, Any], **content: Any) -> str:
    """A template filled in, its scripts and style allowed by their hashes and nothing else."""
    environment = _environment()
    style = stylesheet()
    scripts = [Markup(environment.get_template("page.js").render())]
    if charts:
        scripts.insert(0, chart_library())
    page = environment.get_template(template)
    return page.render(
        **content, charts=charts, style=style, scripts=scripts, policy=_policy(style, scripts)
    )


def stylesheet() -> Markup:
    """The look that all pages share."""
    return Markup(_environment().get_template("style.css").render())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("heedful.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": tables.number, "spoken": spoken}
    return environment


def _shown(value: Any) -> Any:
    """What a template prints: nothing hidden in it, whatever it is and wherever it came from."""
    return value if isinstance(value, Markup) else visible(str(value))


@cache
def chart_library() -> Markup:
    """Vega, Vega-Lite and their embedder, which draws without `eval`."""
    library = vl_convert.javascript_bundle("window.embedChart = vegaEmbed;")
    # Three addresses stand in it as plain strings, of a schema, an editor and an issue. None is
    # ever asked for; without their scheme none can be.
    library = library.replace("https://", "").replace("</script", "<\\/script")
    return Markup(f"(() => {{{library}}})();")


def _policy(style: str, scripts: list[Markup]) -> str:
    """No network at all; only the scripts and the style of this page."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        f"style-src-elem {_hash(style)}; style-src-attr 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# Facts whose short name could be taken for something else.
FACTS = {
    "trained_on": "training data",
    "documents_trained_on": "audited documents that were trained on",
    "left_out_trained_on": "left out because trained on",
    "left_out_dev": "left out because they chose the best epoch",
    "documents_cut": "documents cut to the length the model reads",
    "documents_in_windows": "documents longer than the model reads, read in windows",
}


def _about(audit: Audit) -> dict[str, Any]:
    """The facts about an audit, its accuracies in words."""
    in_words = {"accuracy": "; ".join(audit.accuracies.values()) or "unknown"}
    of_accuracy = ("accuracy", "labelled_documents", "test_accuracy", "test_documents")
    replaced = (*of_accuracy, AT_CHANCE, COMMANDS)  # said elsewhere
    return {
        **{name: value for name, value in audit.about.items() if name not in replaced},
        **in_words,
    }


def _subject(run: str, audit: Audit) -> AuditedRun:
    left_out = [("of one word, left out", f"{audit.single_words:,}")] if audit.single_words else []
    return AuditedRun(
        run=run,
        audit=audit,
        mark=tables.VERDICT_MARKS[audit.verdict],
        why=tables.why(audit),
        scope=scope(audit),
        single_texts="" if (rule := audit.single_texts()) is None else rule.sentence,
        by_tolerance=tables.by_tolerance(audit),
        by_class=tables.by_class(audit),
        readings=tables.readings(audit),
        tally=tables.tally(audit),
        facts=[
            *flat({FACTS.get(name, name): value for name, value in _about(audit).items()}),
            ("documents audited", f"{audit.documents:,} of {audit.available:,}"),
            *left_out,
        ],
        settings=list(flat(audit.settings)),
        flips={
            (bool(row["top_flips"]), bool(row["other_flips"])): (
                int(row["documents"]),
                f"{row['share']:.1%}",
            )
            for row in audit.evidence.get("flips", ())
        },
    )


def flat(settings: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, str]]:
    """Settings within settings as one list of names and values."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{inside}{name} · ")
        elif isinstance(value, list | tuple):
            yield f"{inside}{spoken(str(name))}", ", ".join(map(str, value))
        elif isinstance(value, float):
            yield f"{inside}{spoken(str(name))}", f"{value:.4g}"
        else:
            yield f"{inside}{spoken(str(name))}", str(value)
