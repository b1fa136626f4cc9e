"""`heedful explain`: one text, word by word."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import (
    AnyModel,
    Device,
    LabelWords,
    LongTextsOf,
    OfAudit,
    Readout,
    Risk,
    Template,
)

if TYPE_CHECKING:
    from heedful.auditing.results import Audit
    from heedful.auditing.withholding import Withholding
    from heedful.cli.models import TransformerSource
    from heedful.importance.explanation import Explanation
    from heedful.training.trained import Trained


def explain(
    run: AnyModel,
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Importance measure (`heedful list importances`); may be repeated."),
    ] = None,
    audit: OfAudit = None,
    risk: Risk = 0.05,
    readout: Readout = None,
    long_texts: LongTextsOf = None,
    template: Template = None,
    label_words: LabelWords = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Show the heat map even if the audit withholds it.")
    ] = False,
    device: Device = "auto",
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the explanation to this HTML file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Show a text coloured by several measures, and its prediction without the top words.

    Orange supports the predicted label, blue opposes it; attention has no sign. If the run was
    audited (the audit is given, or found in or next to the run's folder), the audit's rule decides
    whether this text's heat map of attention is shown or withheld. For a Hugging Face model, give
    --audit the folder of the reading's audit, such as DIR/1-last-cls.
    """
    from heedful.cli import show
    from heedful.cli.models import transformer_source
    from heedful.errors import UsageError

    if html is not None and not html.absolute().parent.is_dir():
        raise UsageError(
            f"cannot write {html}: the folder {html.parent} does not exist. Create it first."
        )
    source = transformer_source(run, template, label_words, long_texts, readout)
    if source is not None:
        explanation = _by_transformer(source, text, measure, audit, risk, readout, device)
    else:
        explanation = _by_run(Path(run), text, measure, audit, risk, device)
    if html is not None:
        from heedful.report import explanation_page
        from heedful.storage import write_atomically

        write_atomically(html, explanation_page(explanation).encode("utf-8", "backslashreplace"))
        show.note(f"written: {html}")
    if json:
        show.as_json(explanation.to_dict())
        return
    for line in show.explained(explanation, anyway):
        show.result(line)


def _by_run(
    run: Path, text: str, measures: list[str] | None, audit: Path | None, risk: float, device: str
) -> "Explanation":
    from heedful.auditing.alternatives import refused_measures
    from heedful.auditing.withholding import measures_by_default
    from heedful.cli import show
    from heedful.importance.explanation import USUAL_MEASURES, explain
    from heedful.training.trained import Trained

    trained = Trained.load(run, device)
    found = _audit_of(run, trained, audit, risk)
    if found is None:
        return explain(trained, text, measures or USUAL_MEASURES)
    withholding, judged = found
    for sentence in refused_measures(measures or (), judged.evidence.get("measures", ())):
        show.note(f"note: {sentence}")
    asked = measures or measures_by_default(judged)
    return withholding.explained(explain(trained, text, asked))


def _by_transformer(
    source: "TransformerSource",
    text: str,
    measures: list[str] | None,
    audit: Path | None,
    risk: float,
    readout: str | None,
    device: str,
) -> "Explanation":
    from heedful.auditing.explanation import explain_with
    from heedful.auditing.results import Audit
    from heedful.auditing.withholding import Withholding
    from heedful.cli.models import transformer_subject

    found = None if audit is None else Audit.load(audit)
    subject = transformer_subject(source.load(device), readout)
    explanation = explain_with(subject, text, measures)
    if found is None:
        return explanation
    return Withholding.by_audit(found, subject, risk).explained(explanation)


def _audit_of(
    run: Path, trained: "Trained", audit: Path | None, risk: float
) -> "tuple[Withholding, Audit] | None":
    """The audit that is given or found, and its rule, which says whether a heat map is shown."""
    from heedful.auditing.results import Audit
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.auditing.withholding import Withholding, find_audit
    from heedful.cli import show
    from heedful.model.classifier import AttentionClassifier

    if not isinstance(trained.model, AttentionClassifier):  # `explain` says what is wrong
        return None
    subject = ClassifierSubject(trained)
    place = audit or find_audit(run, subject)
    if place is None:
        return None
    if audit is None:
        show.note(f"note: using the audit {place}")
    judged = Audit.load(place)
    return Withholding.by_audit(judged, subject, risk), judged
