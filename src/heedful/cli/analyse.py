"""`heedful analyse`: one of the papers' other instruments, end to end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import DataDir, Device, LabelColumn, Quiet, TextColumn

if TYPE_CHECKING:
    from heedful.analysis.instruments.base import (
        Analysis,
        OfAttention,
        OfCorpus,
        OfRun,
        OfTraining,
    )
    from heedful.analysis.result import Result
    from heedful.auditing.subjects.base import Subject
    from heedful.text.documents import Documents
    from heedful.training.settings import Settings
    from heedful.training.trained import Trained

_TRAINING = "Analyses that train"


@holds_output
def analyse(
    name: Annotated[
        str,
        typer.Argument(help="Analysis (`heedful list analyses`), as in information:clusters=500."),
    ],
    of: Annotated[
        list[str] | None,
        typer.Argument(help="Its input: DATA, RUN, or RUN and DATA.", metavar="RUN DATA"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for report.html, analysis.json and Parquet."),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of all random choices. Default: 0, or the profile's."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Profile to start from.", rich_help_panel=_TRAINING)
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Encoder: embedding or affine.", rich_help_panel=_TRAINING)
    ] = None,
    alignment: Annotated[
        str | None, typer.Option(help="Alignment, such as dot:scale=10.", rich_help_panel=_TRAINING)
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Maximum number of epochs.", rich_help_panel=_TRAINING)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Any other setting: --set patience=5.", rich_help_panel=_TRAINING
        ),
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run another analysis from the papers: gradient flow, word scores, mutual information, …

    To see them all, run `heedful list analyses`. With -o, the figures are saved as one page, the
    numbers as JSON and long tables as Parquet.
    """
    from dataclasses import replace

    from heedful.analysis.instruments import analyses
    from heedful.analysis.instruments.base import (
        OfAttention,
        OfCorpus,
        OfHistory,
        OfRun,
        OfTraining,
    )
    from heedful.config import within
    from heedful.runs import RunFolder

    analysis = analyses.make(name)
    given = _arguments(analysis, of or [])
    within(0, 2**32 - 1, seed=seed)
    if output is not None:
        RunFolder.new(output)  # refuses one that holds anything, before work begins
    flags = {"encoder": encoder, "alignment": alignment, "profile": profile, "epochs": epochs}
    columns = {"text": text, "label": label, "data_dir": data_dir}
    if isinstance(analysis, OfTraining):
        if not analysis.takes_settings:
            _refuse(analysis, {**flags, "set": set_, "seed": seed})
        data = given[0] if given else None
        found = _of_training(analysis, data, columns, flags, seed, set_ or [], device, quiet)
    else:
        _refuse(analysis, {**flags, "set": set_})
        if isinstance(analysis, OfCorpus):
            _refuse(analysis, {"seed": seed})
            found = _of_corpus(analysis, given[0], columns, quiet)
        elif isinstance(analysis, OfAttention):
            found = _of_attention(analysis, given, columns, seed or 0, device, quiet)
        elif isinstance(analysis, OfHistory):
            found = analysis.analyse(_history(given[0]))
        else:
            assert isinstance(analysis, OfRun)
            found = _of_run(analysis, given, columns, seed or 0, device, quiet)
    about = {"looked_at": " ".join(given) or "made-up corpora"}
    found = replace(found, about={**about, **_options(analysis), **found.about})
    finish(found, output, json)


def finish(found: "Result", output: Path | None, json: bool) -> None:
    """Save what an analysis found, show it and write its report."""
    from heedful import runs
    from heedful.cli import show

    if output is not None:
        found.save(output)
    if json:
        show.as_json(found.to_dict())
    else:
        _show(found)
    if output is not None:

        def write(path: Path) -> None:
            from heedful.report.analyses import write_analysis

            write_analysis(path, found)

        show.report(output / runs.REPORT, write, is_silent=json)


def _options(analysis: "Analysis") -> dict[str, Any]:
    from heedful.analysis.instruments import analyses

    described = analyses.describe(analysis)
    return {name: value for name, value in described.items() if name != "name"}


def _arguments(analysis: "Analysis", given: list[str]) -> list[str]:
    """What was given, if it is what the analysis looks at."""
    from heedful.analysis.instruments.base import OfAttention, OfCorpus, OfRun, OfTraining
    from heedful.errors import UsageError
    from heedful.model.hub import HF

    if isinstance(analysis, OfCorpus):
        wanted = ["DATA"]
    elif isinstance(analysis, OfAttention):
        wanted = ["RUN", "DATA"]
    elif isinstance(analysis, OfTraining):
        wanted = ["DATA"] if analysis.needs_data else []
    else:
        has_data = isinstance(analysis, OfRun) and analysis.part is not None
        wanted = ["RUN", "DATA"] if has_data else ["RUN"]
    if len(given) != len(wanted):
        usage = " ".join(["heedful analyse", analysis.name, *wanted])
        raise UsageError(f"expected `{usage}`. Got these arguments: {given or 'none'}.")
    if wanted[:1] == ["RUN"] and given[0].startswith(HF) and not isinstance(analysis, OfAttention):
        raise UsageError(f"{analysis.name} needs a run folder; {given[0]} is not one.")
    return given


def _refuse(analysis: "Analysis", flags: dict[str, Any]) -> None:
    from heedful.analysis.instruments.base import OfCorpus, OfTraining
    from heedful.errors import UsageError

    instead = "analyses a finished run"
    if isinstance(analysis, OfTraining):
        instead = f"has its own options, such as {analysis.name}:epochs=6"
    elif isinstance(analysis, OfCorpus):
        instead = "analyses documents"
    for flag, value in flags.items():
        if value is not None and value != []:
            raise UsageError(f"--{flag} is for analyses that train; {analysis.name} {instead}.")


def _of_corpus(analysis: "OfCorpus", data: str, columns: dict[str, Any], quiet: bool) -> "Result":
    from heedful.cli import show
    from heedful.training.task import find_corpus

    corpus = find_corpus(data, **columns, needs_labels=False)
    for sentence in corpus.notes if not quiet else ():
        show.note(f"note: {sentence}")
    return analysis.analyse(corpus)


def _of_training(
    analysis: "OfTraining",
    data: str | None,
    columns: dict[str, Any],
    flags: dict[str, Any],
    seed: int | None,
    assignments: list[str],
    device: str,
    quiet: bool,
) -> "Result":
    from heedful.cli import show
    from heedful.training.fit import Watcher
    from heedful.training.progress import EpochLines
    from heedful.training.task import find_corpus

    corpus = None if data is None else find_corpus(data, **columns)
    for sentence in corpus.notes if corpus and not quiet else ():
        show.note(f"note: {sentence}")
    settings = _settings(analysis, flags, seed, assignments)
    if corpus is not None:
        settings = settings.with_(split=corpus.split)
    if quiet:
        return analysis.analyse(corpus, settings, device, Watcher())
    with EpochLines("") as watcher:
        return analysis.analyse(corpus, settings, device, watcher)


def _settings(
    analysis: "OfTraining", flags: dict[str, Any], seed: int | None, assignments: list[str]
) -> "Settings":
    from heedful.cli.parsing import settings_from
    from heedful.training.settings import profiles

    base = profiles[flags["profile"] or analysis.profile]()
    return settings_from(
        base,
        None,
        flags["epochs"],
        None,
        assignments,
        encoder=flags["encoder"],
        alignment=flags["alignment"],
        seed=seed,
    )


def _of_run(
    analysis: "OfRun",
    given: list[str],
    columns: dict[str, Any],
    seed: int,
    device: str,
    quiet: bool,
) -> "Result":
    from dataclasses import replace

    from heedful.text.documents import Documents
    from heedful.training.trained import Trained

    trained = Trained.load(given[0], device)
    documents = Documents()
    if len(given) > 1:
        documents = _documents(analysis, trained, given[1], columns, quiet)
    found = analysis.analyse(trained, documents, seed)
    looked_at = {"documents_given": len(documents)} if analysis.part else {}
    return replace(found, about={**looked_at, "seed": seed, **found.about})


def _of_attention(
    analysis: "OfAttention",
    given: list[str],
    columns: dict[str, Any],
    seed: int,
    device: str,
    quiet: bool,
) -> "Result":
    """Of a run, or of a Hugging Face model."""
    from dataclasses import replace

    from heedful.auditing.run_audit import new_documents
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.cli import show
    from heedful.cli.audit_input import documents_to_audit
    from heedful.model.hub import HF
    from heedful.training.trained import Trained

    model, data = given
    documents = documents_to_audit(data, **columns)[0]
    subject: Subject
    if model.startswith(HF):
        from heedful.auditing.subjects.huggingface.loading import load_transformer
        from heedful.auditing.subjects.huggingface.subject import subject_of
        from heedful.readouts import readouts

        loaded = load_transformer(model.removeprefix(HF), device)
        subject = subject_of(loaded.model, readouts.make(analysis.readout), loaded.classes)
    else:
        trained = Trained.load(model, device)
        chosen = new_documents([trained], documents)
        if not quiet and chosen.note:
            show.note(f"note: {chosen.note}")
        documents, subject = chosen.documents, ClassifierSubject(trained)
    found = analysis.analyse(subject, documents, seed)
    return replace(found, about={"documents_given": len(documents), "seed": seed, **found.about})


def _documents(
    analysis: "OfRun", trained: "Trained", data: str, columns: dict[str, Any], quiet: bool
) -> "Documents":
    """A file's documents, the part of a corpus that is looked at, or a copy of SemEval-2013."""
    from heedful.analysis.semeval import PREFIX, read_semeval
    from heedful.auditing.run_audit import new_documents
    from heedful.cli import show
    from heedful.cli.audit_input import documents_to_audit
    from heedful.training.task import find_corpus

    if data.startswith(PREFIX):
        found, notes = read_semeval(data.removeprefix(PREFIX))
        for sentence in notes if not quiet else ():
            show.note(f"note: {sentence}")
        return found
    if analysis.part in ("train", "dev"):
        if Path(data).is_file():
            return documents_to_audit(data, **columns)[0]
        corpus = find_corpus(data, **columns)
        return corpus.train if analysis.part == "train" else corpus.dev
    found = documents_to_audit(data, **columns)[0]
    chosen = new_documents([trained], found)
    if not quiet and chosen.note:
        show.note(f"note: {chosen.note}")
    return chosen.documents


def _history(run: str) -> list[dict[str, Any]]:
    from heedful import runs
    from heedful.runs import RunFolder

    return RunFolder.open(run).read_lines(runs.HISTORY)


def _show(found: "Result") -> None:
    from heedful.analysis.tables import in_words, lines
    from heedful.cli import show

    show.result(f"{found.conclusion or found.asks}\n")
    for line in lines(in_words(found.summary)):
        show.result(line)
    if found.notes:
        show.result("")
    for note in found.notes:
        show.result(note)
