"""`heedful predict`: texts in, labels and probabilities out."""

import shlex
import sys
from dataclasses import dataclass
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
    from collections.abc import Mapping, Sequence

    from numpy import ndarray

    from heedful.auditing.subjects.base import Subject
    from heedful.cli.models import TransformerSource
    from heedful.text.documents import Documents
    from heedful.training.task import Label
    from heedful.training.trained import Trained


def predict(
    run: AnyModel,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts. Default: lines of standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="CSV, TSV, JSONL or Parquet file of texts.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of --file that holds the text.")] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of --file that holds the label, for accuracy.")
    ] = None,
    audit: OfAudit = None,
    risk: Risk = 0.05,
    readout: Readout = None,
    long_texts: LongTextsOf = None,
    template: Template = None,
    label_words: LabelWords = None,
    attributions: Annotated[
        Path | None,
        typer.Option(help="Also write the scores of each word to this file."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="With --attributions: importance measure, may be repeated. Default: attention."
        ),
    ] = None,
    format: Annotated[
        str,
        typer.Option(help="With --attributions: its format (`heedful list formats`)."),
    ] = "table",
    device: Device = "auto",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only the predictions.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per text.")] = False,
) -> None:
    """Label texts with a trained classifier.

    Prints label, probability and text, separated by tabs. If the file has labels, accuracy is
    printed too (on standard error). With --json and an --audit of this run, each object also says
    whether the heat map of its attention may be shown, and why; this needs dozens of predictions
    per text. --attributions writes the word scores of each --measure to a file that other tools can
    read and that `heedful audit --attributions` can judge.
    """
    from heedful.cli import show
    from heedful.cli.models import transformer_source
    from heedful.errors import UsageError
    from heedful.training.trained import Trained

    export = Export.checked(attributions, measure, format)
    if audit is not None and not json:
        raise UsageError("--audit needs --json. To see one text, use `heedful explain`.")
    source = transformer_source(run, template, label_words, long_texts, readout)
    if source is not None:
        documents, notes = _documents(texts, file, text, label)
        if audit is not None:
            raise UsageError("--audit works only with run folders: leave it out with hf:.")
        _predict_with_transformer(source, documents, notes, readout, device, export, quiet, json)
        return
    trained = Trained.load(run, device)
    documents, notes = _documents(texts, file, text, label, trained.columns)
    documents = trained.with_own_labels(documents)
    labels = _label_numbers(documents, trained.classes, notes)
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
        notes.append(f"{strange:,} of {len(documents):,} contain no word that the model knows")
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
        if json:
            facts: dict[str, object] = (
                {"decided_by": decisions.decided_by} if decisions.decided_by else {}
            )
            facts |= {"withheld": why, "shown": False, "why": why} if why else {}
            _as_json(document.text, trained.classes, row, {**showing, **facts})
        else:
            _as_row(document.text, trained.classes, row)
    if export is not None:
        from heedful.auditing.subjects.classifier import ClassifierSubject

        rows = zip(documents.texts, decisions.withheld, strict=True)
        shown = [text for text, why in rows if not why]
        if withheld:
            notes.append(
                f"{withheld:,} of {len(documents):,} left out of {export.path.name}: they would be "
                "shown without a heat map"
            )
        export.write(ClassifierSubject(trained), shown)
    if not quiet:
        for sentence in notes:
            show.note(f"note: {sentence}")
        if labels is not None:
            show.note(_score("all", probabilities, labels))
            if met.is_new.any() and not met.is_new.all():
                new = met.is_new
                show.note(_score("those new to the model", probabilities[new], labels[new]))


@dataclass(frozen=True)
class Export:
    """Scores of words that are written to a file."""

    path: Path
    measures: list[str]
    format: str

    @classmethod
    def checked(cls, path: Path | None, measures: list[str] | None, format: str) -> "Export | None":
        """What was asked for, refused before anything is computed if it cannot be written."""
        from heedful.errors import UsageError
        from heedful.importance import importances
        from heedful.importance.attributions import check_file

        if path is None:
            if measures or format != "table":
                raise UsageError("--measure and --format need --attributions.")
            return None
        check_file(path, format)
        for one in measures or []:
            importances.make(one)
        return cls(path, measures or ["attention"], format)

    def write(self, subject: "Subject", texts: "Sequence[str]") -> None:
        """The scores of some texts."""
        from heedful.auditing.given_scores import scored_texts
        from heedful.cli import show
        from heedful.importance.attributions import write_attributions

        if not texts:
            show.note(f"not written: {self.path}, no text has scores that may be shown")
            return
        found = list(scored_texts(subject, texts, self.measures))
        write_attributions(found, self.path, self.format)
        show.note(f"written: {self.path}")


def _predict_with_transformer(
    source: "TransformerSource",
    documents: "Documents",
    notes: list[str],
    readout: str | None,
    device: str,
    export: Export | None,
    quiet: bool,
    json: bool,
) -> None:
    """Label texts with a Hugging Face classifier."""
    from heedful.cli import show
    from heedful.cli.models import transformer_subject

    loaded = source.load(device)
    if any(label is not None for label in documents.labels):
        loaded, documents, matched = loaded.with_labels_of(documents)
        notes += [matched] if matched else []
    labels = _label_numbers(documents, loaded.classes, notes)
    pieces = loaded.model.cutter.encode(documents.texts)
    if cut := sum(one.is_cut for one in pieces):
        limit = loaded.model.cutter.limit
        notes.append(
            f"{cut:,} of {len(documents):,} cut at {limit}; --long-texts windows reads all of them"
        )
    if windowed := sum(bool(one.further) for one in pieces):
        notes.append(f"{windowed:,} of {len(documents):,} read in windows")
    probabilities = loaded.model.probabilities(documents.texts)
    for document, row in zip(documents, probabilities, strict=True):
        if json:
            _as_json(document.text, loaded.classes, row, {})
        else:
            _as_row(document.text, loaded.classes, row)
    if export is not None:
        export.write(transformer_subject(loaded, readout), documents.texts)
    if not quiet:
        for sentence in notes:
            show.note(f"note: {sentence}")
        if labels is not None:
            show.note(_score("all", probabilities, labels))


def _as_json(
    text: str, classes: "Sequence[Label]", row: "ndarray", facts: dict[str, object]
) -> None:
    from heedful.cli import show

    by_class = {str(c): float(p) for c, p in zip(classes, row, strict=True)}
    label = classes[int(row.argmax())]
    show.as_json({"text": text, "label": label, "probabilities": by_class, **facts})


def _as_row(text: str, classes: "Sequence[Label]", row: "ndarray") -> None:
    from heedful.terminal import write_row
    from heedful.visible import one_line

    best = int(row.argmax())
    write_row(one_line(str(classes[best])), f"{row[best]:.3f}", one_line(text))


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


def _is_file(name: str) -> bool:
    """Whether there is a file of that name; a text may be no path at all."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _documents(
    texts: list[str] | None,
    file: Path | None,
    text: str | None,
    label: str | None,
    usual: "Mapping[str, str] | None" = None,
) -> tuple["Documents", list[str]]:
    """The texts that were asked about, and notes on what was skipped."""
    from heedful.errors import DataError, UsageError, counted
    from heedful.text.documents import Document, Documents
    from heedful.text.files import decode
    from heedful.text.readers import read_documents

    if file is None and (text is not None or label is not None):
        raise UsageError("--text and --label name columns of --file: give --file too.")
    if file is not None:
        if texts:
            raise UsageError("give texts or --file, not both.")
        return read_documents(file, text, label, needs_labels=False, usual=usual)
    if texts:
        return Documents(map(Document, texts)), [
            f"{name!r} is read as a text, and is also a file: --file {shlex.quote(name)} reads it"
            for name in texts
            if _is_file(name)
        ]
    if sys.stdin.isatty():
        raise UsageError("no text: give texts as arguments, --file FILE, or lines on stdin.")
    lines = decode(sys.stdin.buffer.read(), Path("standard input")).removesuffix("\n").split("\n")
    kept = [Document(line) for line in lines if line.strip()]
    if not kept:
        raise DataError("standard input is empty. Expected one text per line.")
    blank = len(lines) - len(kept)
    notes = [f"{counted(blank, 'blank line')} skipped"] if blank else []
    return Documents(kept), notes


def _label_numbers(
    documents: "Documents", classes: "Sequence[Label]", notes: list[str]
) -> "ndarray | None":
    """Labels as class numbers; None when not every document has one, with a note if some have."""
    import numpy as np

    from heedful.errors import DataError

    labels = documents.labels
    if unlabelled := labels.count(None):
        if unlabelled < len(labels):
            notes.append(f"no score, because {unlabelled:,} of {len(labels):,} have no label")
        return None
    number_of = {str(name): number for number, name in enumerate(classes)}
    unseen = sorted({str(label) for label in labels} - set(number_of))
    if unseen:
        raise DataError(
            f"labels never seen in training: {', '.join(unseen[:5])}. "
            f"The run knows: {', '.join(number_of)}."
        )
    return np.array([number_of[str(label)] for label in labels], dtype=np.int64)
