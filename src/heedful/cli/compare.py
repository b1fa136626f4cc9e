"""`heedful compare`: several models on the same documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import (
    DataDir,
    Device,
    IncludeTrained,
    LabelColumn,
    Quiet,
    Sample,
    Seed,
    TextColumn,
    Tolerate,
)

if TYPE_CHECKING:
    from heedful.auditing.results import Audit
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.text.documents import Documents


@holds_output
def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Audit folders, or run folders with --data.")
    ],
    data: Annotated[
        str | None, typer.Option(help="Documents for run folders: a file, folder or corpus name.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the common report.")
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    documents: Sample = None,
    include_trained: IncludeTrained = False,
    tolerate: Tolerate = None,
    seed: Seed = 0,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare the accuracy and faithfulness of several models, and test each pair's differences.

    An audit folder is used as it is. A run folder is audited first, on --data. All audits must be
    of the same documents.
    """
    from heedful import runs
    from heedful.auditing.comparison import compare
    from heedful.auditing.results import Audit
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.cli import show
    from heedful.cli.audit_input import documents_to_audit
    from heedful.config import at_least
    from heedful.errors import UsageError
    from heedful.runs import RunFolder
    from heedful.training.trained import Trained

    if output is not None:
        RunFolder.new(output)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("the same folder is given twice. Give each folder once.")
    names = _names(folders)
    subjects = {}
    for name, folder in zip(names, folders, strict=True):  # refuse before anything is audited
        if not (folder / runs.AUDIT).is_file():
            if data is None:
                raise UsageError(
                    f"{folder} contains no audit. Give documents with --data to audit it now."
                )
            subjects[name] = ClassifierSubject(Trained.load(folder, device))
    loaded = {n: Audit.load(f) for n, f in zip(names, folders, strict=True) if n not in subjects}
    made = {}
    if subjects:
        at_least(1, documents=documents)
        usual = next(iter(subjects.values())).trained.columns
        found = documents_to_audit(str(data), text, label, data_dir, usual)
        made = _audit_all(
            subjects, str(data), found, documents, include_trained, tolerate, seed, quiet
        )
    audits = {name: (loaded | made)[name] for name in names}
    comparison = compare(audits, seed)
    if output is not None:
        for number, (name, audit) in enumerate(audits.items(), start=1):
            audit.save(output / f"{number}-{runs.folder_name(name)}")
    if json:
        show.as_json(comparison.to_dict())
    else:
        for line in show.compared(comparison):
            show.result(line)
    if output is not None:

        def write(path: Path) -> None:
            from heedful.report import write_report

            write_report(path, audits, comparison.differences)

        show.report(output / runs.REPORT, write, is_silent=json)


def _audit_all(
    subjects: "Mapping[str, ClassifierSubject]",
    data: str,
    found: "tuple[Documents, int | None]",
    count: int | None,
    include_trained: bool,
    tolerate: float | None,
    seed: int,
    quiet: bool,
) -> "dict[str, Audit]":
    """Each run audited now, all on the same documents: those that are new to every one of them."""
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.run_audit import AuditPlan, new_documents, prepare_audit
    from heedful.cli import show

    documents, rationale_words = found
    chosen = new_documents(list(subjects.values()), documents, include_trained)
    if not quiet and chosen.note:
        show.note(f"note: {chosen.note}; --include-trained audits them too")
    settings = AuditSettings(seed=seed, tolerate=tolerate, rationale_words=rationale_words)
    plan = AuditPlan(settings, sample=count, include_trained=include_trained)
    audits = {}
    for name, subject in subjects.items():
        prepared = prepare_audit(
            subject, chosen.documents, plan, about={"name": name, "data": data}
        )
        with show.DocumentBar(prepared.total, is_shown=not quiet) as bar:
            audits[name] = prepared.run(bar)
    return audits


def _names(folders: list[Path]) -> list[str]:
    """The folders' own names; whole paths where two are alike."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
