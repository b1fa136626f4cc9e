"""`heedful predict`: texts in, labels and probabilities out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import Device, OfAudit, Risk, Run

if TYPE_CHECKING:
    from numpy import ndarray

    from heedful.text.documents import Documents
    from heedful.training.trained import Trained


def predict(
    run: Run,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts; none: lines of standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="CSV, TSV, JSONL or Parquet file of texts.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of --file that holds the text.")] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of --file that holds the label, to be scored.")
    ] = None,
    audit: OfAudit = None,
    risk: Risk = 0.05,
    device: Device = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the predictions.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per text.")] = False,
) -> None:
    """Label texts with a trained classifier.

    Prints label, probability and text, separated by tabs. If the file has labels, the share that
    agrees is printed too (on standard error). With --json and an --audit of this run, each object
    also says whether the heat map of its attention may be shown, and why; this takes dozens of
    predictions per text.
    """
    from heedful.cli import show
    from heedful.errors import UsageError
    from heedful.terminal import write_row
    from heedful.training.trained import Trained
    from heedful.visible import one_line

    if audit is not None and not json:
        raise UsageError("--audit adds to the objects of --json: give both, or use explain.")
    trained = Trained.load(run, device)
    documents, notes = _documents(texts, file, text, label)
    documents = trained.with_own_labels(documents)
    labels = _label_numbers(documents, trained)
    if labels is None and (unlabelled := documents.labels.count(None)) < len(documents):
        notes.append(f"no score, because {unlabelled:,} of {len(documents):,} have no label")
    batches = trained.batches(documents.texts)
    if batches.documents.cut:
        limit = trained.longest_text
        notes.append(f"{batches.documents.cut:,} of {len(documents):,} cut at {limit}")
    met = trained.exposure(documents.texts)
    for is_met, what in (
        (met.was_trained_on, "were among the training documents"),
        (met.chose_epoch, "were used to choose the best epoch"),
    ):
        if is_met.any():
            notes.append(
                f"{int(is_met.sum()):,} of {len(documents):,} {what}: "
                "scores on those say nothing about new text"
            )
    if strange := int(trained.is_strange(documents.texts).sum()):
        notes.append(f"{strange:,} of {len(documents):,} hold no word that the model knows")
    decisions = trained.decisions(documents.texts)
    probabilities = decisions.probabilities
    if withheld := sum(map(bool, decisions.withheld)):
        notes.append(
            f"{withheld:,} of {len(documents):,} would be shown without a heat map; `heedful "
            "explain` or --json says why"
        )
    showings = _showings(trained, documents, audit, risk)
    for document, row, why, showing in zip(
        documents, probabilities, decisions.withheld, showings, strict=True
    ):
        best = int(row.argmax())
        if json:
            by_class = {str(c): float(p) for c, p in zip(trained.classes, row, strict=True)}
            answer = {"label": trained.classes[best], "probabilities": by_class}
            facts: dict[str, object] = (
                {"decided_by": decisions.decided_by} if decisions.decided_by else {}
            )
            facts |= {"withheld": why, "shown": False, "why": why} if why else {}
            show.as_json({"text": document.text, **answer, **showing, **facts})
        else:
            name = one_line(str(trained.classes[best]))
            write_row(name, f"{row[best]:.3f}", one_line(document.text))
    if not quiet:
        for sentence in notes:
            show.note(f"note: {sentence}")
        if labels is not None:
            show.note(_score("all", probabilities, labels))
            if met.is_new.any() and not met.is_new.all():
                new = met.is_new
                show.note(_score("those new to the model", probabilities[new], labels[new]))


def _showings(
    trained: "Trained", documents: "Documents", audit: Path | None, risk: float
) -> list[dict[str, object]]:
    """Of each document whether its heat map may be shown, and why; nothing without an audit."""
    from heedful.auditing.results import Audit
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.auditing.withholding import Withholding

    if audit is None:
        return [{} for _ in documents]
    withholding = Withholding.by_audit(Audit.load(audit), ClassifierSubject(trained), risk)
    found = withholding.decide(documents.texts)
    return [{"shown": one.is_shown, "why": one.why} for one in found]


def _score(which: str, probabilities: "ndarray", labels: "ndarray") -> str:
    from heedful.errors import percent
    from heedful.training.evaluate import score

    scores = score(probabilities, labels)
    low, high = (percent(bound) for bound in scores.accuracy_interval)
    return (
        f"accuracy on {which}: {percent(scores.accuracy)} of {scores.documents:,} documents; "
        f"95% interval {low} to {high}"
    )


def _documents(
    texts: list[str] | None, file: Path | None, text: str | None, label: str | None
) -> tuple["Documents", list[str]]:
    """The texts that were asked about, and notes on what was skipped."""
    from heedful.errors import DataError, UsageError, counted
    from heedful.text.documents import Document, Documents
    from heedful.text.files import decode
    from heedful.text.readers import read_documents

    if file is None and (text is not None or label is not None):
        raise UsageError("--text and --label name columns of --file, which is not given.")
    if file is not None:
        if texts:
            raise UsageError("give texts or --file, not both.")
        return read_documents(file, text, label, needs_labels=False)
    if texts:
        return Documents(map(Document, texts)), []
    if sys.stdin.isatty():
        raise UsageError("no text: give texts as arguments, --file FILE, or lines on stdin.")
    lines = decode(sys.stdin.buffer.read(), Path("standard input")).removesuffix("\n").split("\n")
    kept = [Document(line) for line in lines if line.strip()]
    if not kept:
        raise DataError("standard input is empty. Expected one text per line.")
    blank = len(lines) - len(kept)
    notes = [f"{counted(blank, 'blank line')} skipped"] if blank else []
    return Documents(kept), notes


def _label_numbers(documents: "Documents", trained: "Trained") -> "ndarray | None":
    """Labels as class numbers; None when not every document has one."""
    import numpy as np

    from heedful.errors import DataError

    labels = documents.labels
    if any(label is None for label in labels):
        return None
    number_of = {str(name): number for number, name in enumerate(trained.classes)}
    unseen = sorted({str(label) for label in labels} - set(number_of))
    if unseen:
        raise DataError(
            f"labels never seen in training: {', '.join(unseen[:5])}. "
            f"The run knows: {', '.join(number_of)}."
        )
    return np.array([number_of[str(label)] for label in labels], dtype=np.int64)
