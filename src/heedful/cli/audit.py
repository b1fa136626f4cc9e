"""`heedful audit`: may this model's attention be shown as an explanation?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import (
    DataDir,
    Device,
    Exactness,
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


NEEDS_DEEP = "--train, --cores and --memory go with --deep"


@holds_output
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
    include_trained: IncludeTrained = False,
    judge: Annotated[
        str,
        typer.Option(
            help="Whose predictions erasure looks at: self, another run, or, of a healed run, "
            "original: the model that decides."
        ),
    ] = "self",
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Also ask the questions that need retrained models (needs -o), and search for "
            "the best ranking of words. With hf: the search, and a copy fine-tuned on masked "
            "texts as judge.",
        ),
    ] = False,
    train_data: Annotated[
        str | None,
        typer.Option(
            "--train",
            help="With --deep: what the run was trained on. Default: found. With hf: texts for the "
            "copy that judges. Default: those that are not sampled.",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(help="With --deep: number of models trained at once. Default: all cores."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(help="With --deep: memory limit of all trainings together, in GiB."),
    ] = None,
    readout: Annotated[
        list[str] | None,
        typer.Option(help="With hf: how to read attention (heedful list readouts); repeatable."),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="With hf: also rank every head of every layer.")
    ] = False,
    attributions: Annotated[
        list[Path] | None,
        typer.Option(
            help="Also judge the scores of words or tokens in this file (docs/attributions.md); "
            "may be repeated."
        ),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            help="Exit with code 1 if the verdict is may-not; with not-safe: also if not-safe. "
            "With --attributions it is the verdict on these."
        ),
    ] = None,
    tolerate: Tolerate = None,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted audit.")] = False,
    device: Device = "auto",
    precision: Exactness = "auto",
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="The audit as JSON.")] = False,
) -> None:
    """Ask whether attention explains this model's decisions, and say so in a sentence.

    A corpus is audited on its test part. Of a file, documents that trained the model or chose its
    best epoch are left out and counted. Eight of the ten questions need only the trained model;
    needed and stable, and parts of exclusive and leak-free, need retrained models: --deep trains
    about twenty, in parallel, and --resume resumes it.
    """
    from dataclasses import replace

    from heedful.auditing.given_scores import GivenScores
    from heedful.auditing.next_step import COMMANDS, healing_commands, training_commands
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.results import Audit
    from heedful.auditing.run_audit import AuditPlan, prepare_audit
    from heedful.auditing.subjects.base import Judge
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.auditing.subjects.other_model import OriginalJudge, TrainedJudge
    from heedful.cli import show
    from heedful.cli.audit_hf import audit_transformer, refuse_options
    from heedful.cli.audit_input import documents_to_audit, enter
    from heedful.cli.deep import Deep
    from heedful.config import at_least, check, seconds_in
    from heedful.errors import UsageError
    from heedful.model.hub import HF
    from heedful.model.precision import Precision
    from heedful.runs import ORIGINAL
    from heedful.training.recipe import recipes
    from heedful.training.trained import Trained

    if fail_on not in (None, "may-not", "not-safe"):
        raise UsageError(f"--fail-on takes may-not or not-safe, not {fail_on!r}.")
    at_least(1, documents=documents)
    at_least(0, seed=seed)
    exactness: Precision = check(precision, Precision, "--precision")
    seconds = None if budget is None else seconds_in(budget)
    given = GivenScores.read(list(map(str, attributions or [])) or None)
    given.check_asked(ask)
    if run.startswith(HF):
        refuse_options(
            {
                "--include-trained": include_trained, "--judge": judge != "self",
                "--cores": cores, "--memory": memory,
            }
        )  # fmt: skip
        audit_transformer(
            run.removeprefix(HF), data, output, readout, heads, ask, seed, tolerate, device,
            exactness, quiet, json,
            documents_to_audit(data, text, label, data_dir), documents, seconds, fail_on, resume,
            deep, _texts_in(train_data, deep, text, label, data_dir),
            healing_commands(run.removeprefix(HF), data, {"text": text, "label": label}), given,
        )  # fmt: skip
        return
    if readout is not None or heads:
        raise UsageError(f"--readout and --heads go with {HF}FOLDER_OR_NAME.")
    trained = Trained.load(run, device)
    of_judge: Judge | None = None
    if judge == ORIGINAL and trained.original is not None:
        of_judge = OriginalJudge(trained.original)
    elif judge != "self":
        of_judge = TrainedJudge(Trained.load(judge, device), trained.classes)
    found, rationale_words = documents_to_audit(data, text, label, data_dir)
    found = trained.with_own_labels(found)
    settings = AuditSettings(seed=seed, tolerate=tolerate, rationale_words=rationale_words)
    plan = AuditPlan(
        settings.deepened() if deep else settings,
        ask, documents, seconds, include_trained,
    )  # fmt: skip
    retraining = None
    if deep:
        retraining = Deep.checked(
            Path(run), trained, train_data, data_dir, output, cores, memory, device
        )
    elif train_data is not None or cores is not None or memory is not None:
        raise UsageError(f"{NEEDS_DEEP}.")
    prepared = prepare_audit(
        ClassifierSubject(trained, precision=exactness),
        found,
        plan,
        about={
            "name": Path(run).resolve().name,
            "data": data,
            "judge": judge,
            COMMANDS: training_commands(
                run,
                recipes.name_of(trained.settings.training.recipe),
                trained.provenance.get("data", {}),
                data,
            ),
        },
        judge=of_judge,
        given=given,
    )
    if not quiet and prepared.chosen.note:
        show.note(f"note: {prepared.chosen.note}; --include-trained audits them too")
    if not quiet and prepared.chosen.unscored_note:
        show.note(f"note: {prepared.chosen.unscored_note}")
    place = enter(output, resume, quiet)
    if retraining is not None:
        of_judge_run = None if judge == "self" else Path(judge)
        twins = retraining.twins(plan.settings, ask, of_judge_run, quiet)
        prepared = replace(prepared, twins=twins)
    if output is not None:
        prepared = prepared.kept_in(output)
    if place is not None and place.is_done:
        place.check_known()
        show.note(f"{output} is finished already; nothing to do.")
        _report(Audit.load(place.path), output, json, fail_on)
        return
    with show.DocumentBar(prepared.total, is_shown=not quiet, seconds=seconds) as bar:
        result = prepared.run(bar, is_written=output is not None)
    for sentence in result.about.get("notes", ()) if not quiet else ():
        show.note(f"note: {sentence}")
    if output is not None:
        result.save(output)
        prepared.clear()
    _report(result, output, json, fail_on)


def _texts_in(
    train_data: str | None,
    deep: bool,
    text: str | None,
    label: str | None,
    data_dir: Path | None,
) -> list[str] | None:
    """What a copy of a Hugging Face model learns from, if it is given: a corpus' training part."""
    from heedful.errors import UsageError
    from heedful.training.task import find_corpus

    if train_data is None:
        return None
    if not deep:
        raise UsageError(f"{NEEDS_DEEP}.")
    corpus = find_corpus(train_data, text=text, label=label, data_dir=data_dir)
    return list(corpus.train.texts)


def _report(result: "Audit", output: Path | None, json: bool, fail_on: str | None) -> None:
    """Show an audit, write its report, and exit with code 1 if its verdict is too bad."""
    from heedful import runs
    from heedful.cli import show

    if json:
        show.as_json(result.to_dict())
    else:
        for line in show.audited(result):
            show.result(line)
    if output is not None:
        show.report(output / runs.REPORT, result.to_html, is_silent=json)
    verdict = result.given_verdict or result.verdict
    is_bad = verdict == "may-not" or (fail_on == "not-safe" and verdict != "may")
    if fail_on is not None and is_bad:
        raise typer.Exit(1)
