"""`heedful audit`: may this model's attention be shown as an explanation?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import (
    DataDir,
    Device,
    LabelColumn,
    Quiet,
    Run,
    Sample,
    Seed,
    TextColumn,
)

if TYPE_CHECKING:
    from heedful.auditing.parts import PartsInFolder
    from heedful.text.documents import Documents
    from heedful.training.trained import Trained


def audit(
    run: Run,
    data: Annotated[str, typer.Argument(help="Documents: a file, a folder or a corpus name.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for report.html, audit.json and Parquet."),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    documents: Sample = None,
    budget: Annotated[
        str | None, typer.Option(help="Audit as many as fit in this time: 90s, 5m, 1h.")
    ] = None,
    ask: Annotated[
        list[str] | None, typer.Option(help="Ask only this question; may be repeated.")
    ] = None,
    judge: Annotated[
        str, typer.Option(help="Whose predictions erasure looks at: self, or another run.")
    ] = "self",
    fail_on: Annotated[
        str | None, typer.Option(help="Leave with code 1 on may-not, or on not-safe and worse.")
    ] = None,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a killed audit.")] = False,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="The audit as JSON.")] = False,
) -> None:
    """Ask whether attention explains this model's decisions, and say so in a sentence.

    A corpus is audited on its test part. Eight of the ten questions need only the trained model and
    are asked; needed and stable take models trained anew and are listed as not asked.
    """
    from heedful import runs
    from heedful.auditing.audit import Request, audit
    from heedful.auditing.judge import TrainedJudge
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.subjects import ClassifierSubject
    from heedful.cli import show
    from heedful.cli.request import seconds_in
    from heedful.config import at_least
    from heedful.errors import UsageError
    from heedful.training.trained import Trained

    if fail_on not in (None, "may-not", "not-safe"):
        raise UsageError(f"--fail-on takes may-not or not-safe, not {fail_on!r}.")
    at_least(1, documents=documents)
    at_least(0, seed=seed)
    seconds = None if budget is None else seconds_in(budget)
    trained = Trained.load(run, device)
    of_judge = None
    if judge != "self":
        of_judge = TrainedJudge(Trained.load(judge, device), trained.classes)
    found = documents_to_audit(data, text, label, data_dir)
    if not quiet and (seen := int(trained.was_trained_on(found[0].texts).sum())):
        show.note(
            f"note: {seen:,} of {len(found[0]):,} documents were trained on: "
            "an audit on those says little about new text"
        )
    settings = AuditSettings(seed=seed, rationale_words=found[1])
    parts = _parts(output, resume, trained, found[0], settings, documents, judge, ask)
    total = min(len(found[0]), documents or len(found[0]))
    with show.DocumentBar(total, is_shown=not quiet) as bar:
        result = audit(
            ClassifierSubject(trained),
            found[0],
            settings,
            ask,
            judge=of_judge,
            request=Request(documents, seconds, parts, bar.advance),
            about={"name": run.name, "data": data, "judge": judge, **described(trained)},
        )
    if output is not None and parts is not None:
        result.save(output)
        result.to_html(output / runs.REPORT)
        parts.clear()
    if json:
        show.as_json(result.to_dict())
    else:
        for line in show.audited(result):
            show.result(line)
        if output is not None:
            show.result(f"\nreport: {output / runs.REPORT}")
    is_bad = result.verdict == "may-not" or (fail_on == "not-safe" and result.verdict != "may")
    if fail_on is not None and is_bad:
        raise typer.Exit(1)


def documents_to_audit(
    data: str, text: str | None, label: str | None, data_dir: Path | None
) -> "tuple[Documents, int | None]":
    """The documents to audit on, a file's or the test part of a corpus; how long rationales are in
    its training part, if there is one."""
    from heedful.auditing.audit import mean_rationale_words
    from heedful.cli.request import find_corpus
    from heedful.errors import DataError
    from heedful.text.readers import read_documents

    if Path(data).is_file():
        found, _ = read_documents(data, text, label, needs_labels=False)
        return found, None
    corpus = find_corpus(data, text=text, label=label, data_dir=data_dir, test_share=0.0)
    if not len(corpus.test):
        raise DataError(f"{data} has no test part to audit on. Give a file of documents.")
    has_marks = any(document.rationale for document in corpus.train)
    return corpus.test, mean_rationale_words(corpus.train) if has_marks else None


def _parts(
    output: Path | None,
    resume: bool,
    trained: "Trained",
    documents: "Documents",
    settings: object,
    count: int | None,
    judge: str,
    ask: list[str] | None,
) -> "PartsInFolder | None":
    """Where the audit keeps what it has done, so that it can be resumed."""
    import hashlib

    from heedful import runs
    from heedful.auditing.parts import PartsInFolder
    from heedful.errors import UsageError
    from heedful.runs import RunFolder
    from heedful.text.documents import fingerprints

    if output is None:
        if resume:
            raise UsageError("--resume goes on with what is kept in a folder: give it with -o.")
        return None
    if not resume:
        if (output / runs.PARTS).is_dir():
            raise UsageError(
                f"{output} holds an unfinished audit: go on with --resume, or choose another."
            )
        RunFolder.new(output)
    elif not (output / runs.PARTS).is_dir():
        raise UsageError(f"{output} holds no unfinished audit to resume.")
    digest = hashlib.sha256(fingerprints(documents.texts).tobytes()).hexdigest()[:16]
    request = {
        "model": trained.provenance.get("sha256", {}).get(runs.MODEL),
        "documents": digest,
        "sample": count,
        "judge": judge,
        "questions": ask or "all",
        "settings": str(settings),
    }
    return PartsInFolder(output, request)


def described(trained: "Trained") -> dict[str, object]:
    """What the model under audit is, for the report."""
    from heedful.model.alignments import alignments
    from heedful.model.encoders import encoders
    from heedful.model.projections import projections

    model = trained.settings.model
    return {
        "encoder": encoders.spec(model.encoder),
        "alignment": alignments.spec(model.alignment),
        "projection": projections.spec(model.projection),
        "trained_on": trained.provenance.get("data", {}).get("name"),
    }
