"""`heedful audit`: may this model's attention be shown as an explanation?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heedful.auditing.audit import Audit
    from heedful.text.documents import Documents


def audit(
    run: Annotated[Path, typer.Argument(help="A run folder made by `heedful train`.")],
    data: Annotated[str, typer.Argument(help="Documents: a file, a folder or a corpus name.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for audit.json and Parquet.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column that holds the text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column that holds the label.")] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of named corpora. Default: $HEEDFUL_DATA.")
    ] = None,
    documents: Annotated[
        int | None, typer.Option(help="Audit a random sample of so many documents.")
    ] = None,
    ask: Annotated[
        list[str] | None, typer.Option(help="Ask only this question; may be repeated.")
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option(help="Leave with code 1 on may-not, or on not-safe and worse.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The audit as JSON.")] = False,
) -> None:
    """Ask whether attention explains this model's decisions, and say so in a sentence.

    A corpus is audited on its test part. Five questions are asked in this version: decisive,
    exclusive, agreeing, telling, plausible.
    """
    from heedful.auditing.audit import audit
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.subject import ClassifierSubject
    from heedful.cli import show
    from heedful.errors import UsageError
    from heedful.training.trained import Trained

    if fail_on not in (None, "may-not", "not-safe"):
        raise UsageError(f"--fail-on takes may-not or not-safe, not {fail_on!r}.")
    trained = Trained.load(run, device)
    subject = ClassifierSubject(trained)
    chosen = _documents(data, text, label, data_dir, documents, seed)
    if not quiet and (seen := int(trained.was_trained_on(chosen.texts).sum())):
        show.note(
            f"note: {seen:,} of {len(chosen):,} documents were trained on: "
            "an audit on those says little about new text"
        )
    with show.DocumentBar(len(chosen), is_shown=not quiet) as bar:
        result = audit(subject, chosen, AuditSettings(seed=seed), ask, bar.advance)
    if output is not None:
        _save(result, chosen, output)
    if json:
        show.as_json(result.to_dict())
    else:
        for line in show.audited(result):
            show.result(line)
    is_bad = result.verdict == "may-not" or (fail_on == "not-safe" and result.verdict != "may")
    if fail_on is not None and is_bad:
        raise typer.Exit(1)


def _documents(
    data: str,
    text: str | None,
    label: str | None,
    data_dir: Path | None,
    count: int | None,
    seed: int,
) -> "Documents":
    """The documents to audit on: a file's, or the test part of a corpus; perhaps a sample."""
    import numpy as np

    from heedful.cli.request import find_corpus
    from heedful.config import at_least
    from heedful.errors import DataError
    from heedful.text.readers import read_documents

    at_least(1, documents=count)
    at_least(0, seed=seed)
    if Path(data).is_file():
        found, _ = read_documents(data, text, label, needs_labels=False)
    else:
        corpus = find_corpus(data, text=text, label=label, data_dir=data_dir, test_share=0.0)
        found = corpus.test
        if not len(found):
            raise DataError(f"{data} has no test part to audit on. Give a file of documents.")
    if count is None or count >= len(found):
        return found
    places = np.random.default_rng(seed).choice(len(found), count, replace=False)
    return found.take(sorted(places.tolist()))


def _save(audit: "Audit", documents: "Documents", output: Path) -> None:
    """Write audit.json and per_example.parquet."""
    import io

    from heedful import runs
    from heedful.runs import RunFolder, environment_failures

    folder = RunFolder.new(output)
    with environment_failures(output):
        output.mkdir(parents=True, exist_ok=True)
    frame = audit.to_frame()
    frame.insert(0, "text", documents.texts)
    frame.insert(1, "label", documents.labels)
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    folder.write_bytes(runs.PER_EXAMPLE, buffer.getvalue())
    folder.write_json(runs.AUDIT, audit.to_dict())
