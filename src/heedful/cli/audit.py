"""`heedful audit`: may this model's attention be shown as an explanation?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import (
    DataDir,
    Device,
    Exactness,
    LabelColumn,
    Quiet,
    Sample,
    Seed,
    TextColumn,
)

if TYPE_CHECKING:
    from heedful.text.documents import Documents


def audit(
    run: Annotated[
        str, typer.Argument(help="A run folder, or hf:FOLDER_OR_NAME of a Hugging Face classifier.")
    ],
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
        str | None, typer.Option(help="Audit as many documents as fit in this time: 90s, 5m, 1h.")
    ] = None,
    ask: Annotated[
        list[str] | None, typer.Option(help="Ask only this question; may be repeated.")
    ] = None,
    include_trained: Annotated[
        bool, typer.Option("--include-trained", help="Also documents the model was trained on.")
    ] = False,
    judge: Annotated[
        str, typer.Option(help="Whose predictions erasure looks at: self, or another run.")
    ] = "self",
    deep: Annotated[
        bool, typer.Option("--deep", help="Also ask what takes models trained anew; needs -o.")
    ] = False,
    train_data: Annotated[
        str | None,
        typer.Option("--train", help="With --deep: what the run was trained on. Default: found."),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(help="With --deep: train so many models at once. Default: all.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(help="With --deep: GiB that they may take together.")
    ] = None,
    readout: Annotated[
        list[str] | None,
        typer.Option(help="With hf: how to read attention (heedful list readouts); repeatable."),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="With hf: also rank every head of every layer.")
    ] = False,
    fail_on: Annotated[
        str | None, typer.Option(help="Leave with code 1 on may-not, or on not-safe and worse.")
    ] = None,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a killed audit.")] = False,
    device: Device = "auto",
    precision: Exactness = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="The audit as JSON.")] = False,
) -> None:
    """Ask whether attention explains this model's decisions, and say so in a sentence.

    A corpus is audited on its test part. Eight of the ten questions need only the trained model;
    needed and stable, and parts of exclusive and leak-free, take models trained anew: --deep trains
    about twenty, in parallel, and goes on where it was stopped with --resume.
    """
    from dataclasses import replace

    from heedful import runs
    from heedful.auditing.audit import Request, audit
    from heedful.auditing.judge import TrainedJudge
    from heedful.auditing.of_run import described, request_of, unseen
    from heedful.auditing.parts import PartsInFolder
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.subjects import ClassifierSubject
    from heedful.cli import show
    from heedful.cli.audit_hf import HF, audit_transformer, refuse_options
    from heedful.cli.deep import Deep
    from heedful.cli.request import seconds_in
    from heedful.config import at_least, check
    from heedful.errors import UsageError, counted
    from heedful.model.precision import Precision
    from heedful.training.trained import Trained

    if fail_on not in (None, "may-not", "not-safe"):
        raise UsageError(f"--fail-on takes may-not or not-safe, not {fail_on!r}.")
    at_least(1, documents=documents)
    at_least(0, seed=seed)
    exactness: Precision = check(precision, Precision, "--precision")
    seconds = None if budget is None else seconds_in(budget)
    if run.startswith(HF):
        refuse_options(
            {
                "--include-trained": include_trained, "--judge": judge != "self", "--deep": deep,
                "--train": train_data, "--cores": cores, "--memory": memory,
            }
        )  # fmt: skip
        audit_transformer(
            run.removeprefix(HF), data, output, readout, heads, ask, seed, device, exactness,
            quiet, json,
            documents_to_audit(data, text, label, data_dir), documents, seconds, fail_on, resume,
        )  # fmt: skip
        return
    if readout is not None or heads:
        raise UsageError(f"--readout and --heads go with {HF}FOLDER_OR_NAME.")
    trained = Trained.load(run, device)
    of_judge = None
    if judge != "self":
        of_judge = TrainedJudge(Trained.load(judge, device), trained.classes)
    settings = AuditSettings(seed=seed)
    found = documents_to_audit(data, text, label, data_dir)
    plan = None
    if deep:
        plan = Deep.checked(Path(run), trained, train_data, data_dir, output, cores, memory, device)
    elif train_data is not None or cores is not None or memory is not None:
        raise UsageError("--train, --cores and --memory go with --deep.")
    chosen, trained_on = unseen(trained, found[0], include_trained)
    if not quiet and len(chosen) < len(found[0]):
        left_out = counted(len(found[0]) - len(chosen), "document")
        show.note(f"note: {left_out} left out, trained on; --include-trained audits them too")
    settings = replace(settings, rationale_words=found[1])
    _check_place(output, resume)
    twins = None
    if plan is not None:
        twins = plan.twins(settings, ask, None if judge == "self" else Path(judge), quiet)
    asked_twins = sorted(twins.subjects) if twins else []
    parts = None
    if output is not None:
        asked = request_of(
            trained, chosen, settings, ask, documents,
            has_budget=seconds is not None, judge=judge, twins=asked_twins, precision=exactness,
        )  # fmt: skip
        parts = PartsInFolder(output, asked)
    total = min(len(chosen), documents or len(chosen))
    with show.DocumentBar(total, is_shown=not quiet, seconds=seconds) as bar:
        result = audit(
            ClassifierSubject(trained, precision=exactness),
            chosen,
            settings,
            ask,
            judge=of_judge,
            twins=twins,
            request=Request(documents, seconds, parts, bar, is_written=output is not None),
            about={
                "name": Path(run).resolve().name,
                "data": data,
                "judge": judge,
                "documents_trained_on": trained_on,
                **described(trained),
            },
        )
        if output is not None and parts is not None:
            bar.begin_phase("writing the report")
            result.save(output)
            result.to_html(output / runs.REPORT)
            parts.clear()
    for sentence in result.about.get("notes", ()) if not quiet else ():
        show.note(f"note: {sentence}")
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
    from heedful.cli import show
    from heedful.errors import DataError
    from heedful.text.readers import read_documents
    from heedful.training.task import find_corpus

    if Path(data).is_file():
        found, notes = read_documents(data, text, label, needs_labels=False)
        for sentence in notes:
            show.note(f"note: {sentence}")
        return found, None
    corpus = find_corpus(data, text=text, label=label, data_dir=data_dir, test_share=0.0)
    if not len(corpus.test):
        raise DataError(f"{data} has no test part to audit on. Give a file of documents.")
    has_marks = any(document.rationale for document in corpus.train)
    return corpus.test, mean_rationale_words(corpus.train) if has_marks else None


def _check_place(output: Path | None, resume: bool) -> None:
    """Refuse a folder that holds anything but, with --resume, an unfinished audit."""
    from heedful import runs
    from heedful.errors import UsageError
    from heedful.runs import RunFolder

    if output is None:
        if resume:
            raise UsageError("--resume goes on with what is kept in a folder: give it with -o.")
        return
    has_twins_only = (output / runs.TWINS).is_dir() and not (output / runs.AUDIT).is_file()
    is_unfinished = (output / runs.PARTS).is_dir() or has_twins_only
    if not resume:
        if is_unfinished:
            raise UsageError(
                f"{output} holds an unfinished audit: go on with --resume, or choose another."
            )
        RunFolder.new(output)
    elif not is_unfinished:
        raise UsageError(f"{output} holds no unfinished audit to resume.")
