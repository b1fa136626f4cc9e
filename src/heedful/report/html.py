"""Audits -> one HTML file that needs no network; an explanation -> the same, smaller.

Everything that comes from outside is escaped by the templates and shown by `visible`. The page
allows its own scripts and styles by their hashes and nothing else, so that a text which slipped
through would still not run.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from heedful.auditing.next_step import COMMANDS, LEAD, next_steps
from heedful.auditing.results import AT_CHANCE, Audit, ShownDocument, Table
from heedful.auditing.scope import scope
from heedful.auditing.terms import TERMS
from heedful.auditing.verdict import RULES
from heedful.errors import DataError
from heedful.heatmap import HeatMap, heat_map, scales_of
from heedful.report import calibration_points, tables
from heedful.report.figures import INSTEAD, SCORES, figures, spoken
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
    plain: str  # the verdict for somebody who has read no paper
    summary: str  # what was audited, in a line
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
    audits: Mapping[str, Audit],
    *,
    title: str | None = None,
    differences: Table = (),
    together: tuple[str, str] | None = None,
) -> str:
    """The report of one audit, or of several side by side, each under its name.

    `differences` are the paired ones of a comparison; `together` is the verdict on all readings of
    one model, in a sentence and a paragraph. Of many audits only what compares them is
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
    shown = [(run, one) for run, audit in audits.items() for one in audit.shown if is_in_full]
    scales = scales_of(one.scores for _, one in shown)
    return make_page(
        "report.html",
        title=without_folders(title or f"Audit of {names}"),
        together=together,
        subjects=[_subject(run, audit) for run, audit in audits.items()],
        questions=tables.questions(audits),
        figures=drawn,
        charts=charts,
        documents=[Document(run, one, _heat_of(one, scales)) for run, one in shown],
        scales=[(measure, tables.number(largest, 2)) for measure, largest in scales.items()],
        has_marks=any(one.marked for _, one in shown),
        terms=TERMS,
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
        heat=heat_map(explanation.text, offsets, scores, unsigned=explanation.unsigned),
        withheld=heat_map(explanation.text, offsets, withheld, unsigned=explanation.unsigned),
        charts={},
    )


def _heat_of(shown: ShownDocument, scales: Mapping[str, float]) -> HeatMap:
    """A document's heat map in the colours of its report."""
    return heat_map(
        shown.text,
        shown.offsets,
        shown.scores,
        unsigned=shown.unsigned,
        marked=shown.marked,
        scales=scales,
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
    environment.filters |= {"number": tables.number, "spoken": spoken, "coded": _coded}
    return environment


def _coded(text: str) -> Markup:
    """A paragraph with its commands, which stand between backticks, set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


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
        plain=str(audit.in_plain_words),
        summary=_summary(audit),
        why=tables.why(audit),
        scope=scope(audit),
        single_texts="" if (rule := audit.single_texts()) is None else rule.sentence,
        by_tolerance=tables.by_tolerance(audit),
        by_class=tables.by_class(audit),
        readings=tables.readings(audit),
        tally=tables.tally(audit),
        facts=[
            *(
                (name, without_folders(value))
                for name, value in flat({FACTS.get(n, n): v for n, v in _about(audit).items()})
            ),
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


def _summary(audit: Audit) -> str:
    """What was audited, in a line: data, documents, accuracy."""
    texts = f"{audit.documents:,} texts"
    if audit.documents < audit.available:
        texts = f"{audit.documents:,} of {audit.available:,} texts, drawn at random"
    data = without_folders(str(audit.about.get("data", "")))
    right = [f"accuracy {one}" for one in list(audit.accuracies.values())[:1]]
    return " · ".join(filter(None, (data, texts, *right)))


def without_folders(text: str) -> str:
    """Without the folders of absolute paths: a report is sent on, and they say nothing there."""
    return ABSOLUTE.sub(r"\1\2", text)


# What is before a path from the root, a home or a drive; its folders; its last part.
ABSOLUTE = re.compile(r"(^|[\s:\"'(])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\])*([^\s/\\]+)[/\\]?")


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
