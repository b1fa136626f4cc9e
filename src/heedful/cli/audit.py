"""`heedful audit`: may this model's attention be shown as an explanation?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli.holding import holds_output
from heedful.cli.options import (
    AnyModel,
    DataDir,
    Device,
    Exactness,
    IncludeTrained,
    LabelColumn,
    LabelWords,
    LongTextsOf,
    Quiet,
    Sample,
    Seed,
    Template,
    TextColumn,
    Tolerate,
)

if TYPE_CHECKING:
    from heedful.auditing.results import Audit


NEEDS_DEEP = "--train, --cores and --memory need --deep"


@holds_output
def audit(
    run: AnyModel,
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
            help="Model whose predictions are measured when words are erased: self, another run, "
            "or, for a healed run, original: the model that decides."
        ),
    ] = "self",
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Also run the tests that retrain models (about 20; needs -o), and search for the "
            "best ranking of words. With hf: run the search, and fine-tune a copy on masked texts "
            "as judge.",
        ),
    ] = False,
    train_data: Annotated[
        str | None,
        typer.Option(
            "--train",
            help="With --deep: the run's training data. Default: as recorded in the run. With hf: "
            "texts to fine-tune the judge on. Default: those that are not sampled.",
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
    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of processes that measure documents, one thread each (needs -o)."
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(help="Where workers run. local: processes here (default). ray: a cluster."),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="With --on ray: that cluster, or auto. Default: one is started here."),
    ] = None,
    readout: Annotated[
        list[str] | None,
        typer.Option(help="With hf: how to read attention (heedful list readouts); repeatable."),
    ] = None,
    heads: Annotated[
        bool, typer.Option("--heads", help="With hf: also rank every head of every layer.")
    ] = False,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="Also rank and judge this importance measure, one that is not ranked anyway, such "
            "as kernel-shap (heedful list importances); may be repeated."
        ),
    ] = None,
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
            "With --attributions, the verdict on them counts."
        ),
    ] = None,
    tolerate: Tolerate = None,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted audit.")] = False,
    device: Device = "auto",
    precision: Exactness = "auto",
    long_texts: LongTextsOf = None,
    template: Template = None,
    label_words: LabelWords = None,
    quiet: Quiet = False,
    json: Annotated[bool, typer.Option("--json", help="Print the audit as JSON.")] = False,
) -> None:
    """Test whether attention explains this model's decisions, and print a verdict.

    A corpus is audited on its test part. A file is audited without the documents that were used to
    train the model or to choose its best epoch. Eight of the ten questions need only the trained
    model. The questions needed and stable, and parts of exclusive and leak-free, need retrained
    models: --deep trains about twenty in parallel. --resume resumes an interrupted audit.
    """
    from dataclasses import replace

    from heedful.auditing.given_scores import JUDGED_BY, GivenScores
    from heedful.auditing.next_step import COMMANDS, healing_commands, training_commands
    from heedful.auditing.questions import AuditSettings
    from heedful.auditing.results import Audit
    from heedful.auditing.run_audit import AuditPlan, prepare_audit
    from heedful.auditing.shares import Source, clear_shares
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.auditing.subjects.other_model import judge_named
    from heedful.cli import show
    from heedful.cli.audit_hf import audit_transformer, refuse_options
    from heedful.cli.audit_input import documents_to_audit, enter
    from heedful.cli.deep import Deep
    from heedful.cli.models import transformer_source
    from heedful.cli.workers import Shared, judge_place
    from heedful.config import at_least, check, seconds_in
    from heedful.errors import UsageError
    from heedful.importance.base import ready
    from heedful.model.hub import HF
    from heedful.model.precision import Precision
    from heedful.training.recipe import recipes
    from heedful.training.trained import Trained

    if fail_on not in (None, "may-not", "not-safe"):
        raise UsageError(f"--fail-on must be may-not or not-safe, not {fail_on!r}.")
    at_least(1, documents=documents)
    at_least(0, seed=seed)
    exactness: Precision = check(precision, Precision, "--precision")
    seconds = None if budget is None else seconds_in(budget)
    given = GivenScores.read(list(map(str, attributions or [])) or None)
    given.check_asked(ask)
    measures = tuple(ready(measure or []))  # a wrong name is said before anything is loaded
    if measures and ask is not None and JUDGED_BY not in ask:
        raise UsageError(f"--measure is judged by the question {JUDGED_BY}: add --ask {JUDGED_BY}.")
    source = transformer_source(run, template, label_words, long_texts)
    shared = Shared.checked(
        on, workers, address, output, budget,
        Source(
            str(Path(run).absolute()), judge_place(judge), judge,
            tuple(str(path.absolute()) for path in attributions or ()), device, exactness,
            measures,
        ),
    )  # fmt: skip
    if source is not None:
        refuse_options(
            {
                "--include-trained": include_trained, "--judge": judge != "self",
                "--cores": cores, "--memory": memory, "--workers": workers, "--on": on,
            }
        )  # fmt: skip
        audit_transformer(
            source, data, output, readout, heads, ask, seed, tolerate, device,
            exactness, quiet, json,
            documents_to_audit(data, text, label, data_dir), documents, seconds, fail_on, resume,
            deep, _texts_in(train_data, deep, text, label, data_dir),
            () if source.prompt is not None else
            healing_commands(source.name, data, {"text": text, "label": label}), given, measures,
        )  # fmt: skip
        return
    if readout is not None or heads:
        raise UsageError(f"--readout and --heads need {HF}FOLDER_OR_NAME.")
    trained = Trained.load(run, device)
    of_judge = judge_named(judge, trained, device)
    found, rationale_words = documents_to_audit(data, text, label, data_dir, trained.columns)
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
        ClassifierSubject(trained, precision=exactness).with_measures(measures),
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
    if shared is not None and output is not None:
        shared.measure(prepared, output, quiet)
    with show.DocumentBar(prepared.total, is_shown=not quiet, seconds=seconds) as bar:
        result = prepared.run(bar, is_written=output is not None)
    for sentence in result.about.get("notes", ()) if not quiet else ():
        show.note(f"note: {sentence}")
    if output is not None:
        result.save(output)
        prepared.clear()
        clear_shares(output)
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
