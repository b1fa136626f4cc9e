"""`heedful compare`: several models on the same documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.options import DataDir, Device, LabelColumn, Quiet, Sample, Seed, TextColumn

if TYPE_CHECKING:
    from heedful.auditing.record import Audit
    from heedful.auditing.subjects import ClassifierSubject
    from heedful.text.documents import Documents


def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Audit folders, or run folders with --data.")
    ],
    data: Annotated[
        str | None, typer.Option(help="Audit the runs on this: a file, a folder or a corpus name.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the report of all of them.")
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    documents: Sample = None,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="The comparison as JSON.")] = False,
) -> None:
    """Put accuracy beside faithfulness for several models, and test their differences in pairs.

    A folder that holds an audit is taken as it is; a run is audited first, on --data. All must have
    been audited on the same documents.
    """
    from heedful import runs
    from heedful.auditing.comparing import compare
    from heedful.auditing.record import Audit
    from heedful.auditing.subjects import ClassifierSubject
    from heedful.cli import show
    from heedful.cli.audit import documents_to_audit
    from heedful.config import at_least
    from heedful.errors import UsageError
    from heedful.runs import RunFolder
    from heedful.training.trained import Trained

    if output is not None:
        RunFolder.new(output)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("the same folder is given twice.")
    names = _names(folders)
    subjects = {}
    for name, folder in zip(names, folders, strict=True):  # refuse before anything is audited
        if not (folder / runs.AUDIT).is_file():
            if data is None:
                raise UsageError(
                    f"{folder} holds no audit. Name the documents with --data to audit it now."
                )
            subjects[name] = ClassifierSubject(Trained.load(folder, device))
    loaded = {n: Audit.load(f) for n, f in zip(names, folders, strict=True) if n not in subjects}
    made = {}
    if subjects:
        at_least(1, documents=documents)
        found = documents_to_audit(str(data), text, label, data_dir)
        made = _audit_all(subjects, str(data), found, documents, seed, quiet)
    audits = {name: (loaded | made)[name] for name in names}
    comparison = compare(audits, seed)
    if output is not None:
        from heedful.report import write_report

        for number, (name, audit) in enumerate(audits.items(), start=1):
            audit.save(output / f"{number}-{runs.folder_name(name)}")
        write_report(output / runs.REPORT, audits, comparison.differences)
    if json:
        show.as_json(comparison.to_dict())
        return
    for line in show.compared(comparison):
        show.result(line)
    if output is not None:
        show.result(f"\nreport: {output / runs.REPORT}")


def _audit_all(
    subjects: "Mapping[str, ClassifierSubject]",
    data: str,
    found: "tuple[Documents, int | None]",
    count: int | None,
    seed: int,
    quiet: bool,
) -> "dict[str, Audit]":
    """Each run audited now, all on the same documents: those that none was trained on, if any."""
    from heedful.auditing.audit import Request, audit
    from heedful.auditing.of_run import described, unseen
    from heedful.auditing.questions import AuditSettings
    from heedful.cli import show

    documents, rationale_words = found
    for subject in subjects.values():
        documents, _ = unseen(subject.trained, documents)
    settings = AuditSettings(seed=seed, rationale_words=rationale_words)
    audits = {}
    for name, subject in subjects.items():
        trained_on = int(subject.trained.was_trained_on(documents.texts).sum())
        total = min(len(documents), count or len(documents))
        with show.DocumentBar(total, is_shown=not quiet) as bar:
            audits[name] = audit(
                subject,
                documents,
                settings,
                request=Request(documents=count, watcher=bar),
                about={
                    "name": name,
                    "data": data,
                    "judge": "self",
                    "documents_trained_on": trained_on,
                    **described(subject.trained),
                },
            )
    return audits


def _names(folders: list[Path]) -> list[str]:
    """The folders' own names; whole paths where two are alike."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
