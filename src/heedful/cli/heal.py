"""`heedful heal`: a finished Hugging Face classifier in, a run with attention of its own out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heedful.cli.options import AsJson, DataDir, Device, LabelColumn, Quiet, TextColumn

if TYPE_CHECKING:
    from heedful.runs import RunFolder
    from heedful.training.heal import Healing
    from heedful.training.trained import Trained


def heal(
    model: Annotated[
        str, typer.Argument(help="hf:FOLDER_OR_NAME of a Hugging Face sequence classifier.")
    ],
    data: Annotated[
        str, typer.Argument(help="Texts, labelled or not: a file, a folder or a corpus name.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Run folder to create.")],
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Also fine-tune the copy of the encoder that attention reads."),
    ] = False,
    text: TextColumn = None,
    label: LabelColumn = None,
    data_dir: DataDir = None,
    dev_share: Annotated[
        float, typer.Option(help="Share held out to choose the best epoch.")
    ] = 0.1,
    test_share: Annotated[float, typer.Option(help="Share held out to test on.")] = 0.1,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Number of documents per step.")] = None,
    max_words: Annotated[
        int | None, typer.Option(help="Maximum number of words; longer documents are cut.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random choices.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting: --set patience=5.")
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Give a finished classifier attention that can be audited and shown; it still decides itself.

    The model's own decisions serve as labels, so the texts need none. If they have labels, these
    are used to measure accuracy at the end. Where attention disagrees with the model, no heat map
    is shown.
    """
    from heedful import storage
    from heedful.cli import show
    from heedful.cli.parsing import settings_from
    from heedful.errors import UsageError
    from heedful.model.hub import HF, HF_PROMPT, quieten
    from heedful.runs import RunFolder
    from heedful.training.heal import Healing, Patient, heal_settings
    from heedful.training.task import find_corpus
    from heedful.training.trained import Trained, choose_device

    if model.startswith(HF_PROMPT):
        raise UsageError(f"prompted decoders cannot be healed ({model}); classifiers (hf:) can.")
    if not model.startswith(HF):
        raise UsageError(f"expected {HF}FOLDER_OR_NAME of a Hugging Face model, not {model!r}.")
    read_with = {"text": text, "label": label, "data_dir": data_dir}
    name, target, folder = model.removeprefix(HF), choose_device(device), RunFolder(output)
    quieten()
    if resume and folder.is_finished:
        with storage.held(output):
            folder.drop_checkpoints()
        show.note(f"{output} is finished already; nothing to do.")
        _report(Trained.load(output), output, data, read_with, json)
        return
    if not (resume and folder.is_begun):
        folder = RunFolder.new(output)
        if resume and not quiet:
            show.note(f"note: {output} holds no unfinished run, so a new one is started")
    settings = settings_from(
        heal_settings(name, tune), None, epochs, learning_rate, set_ or [],
        batch_size=batch_size, max_words=max_words, seed=seed,
    )  # fmt: skip
    shares = {"dev_share": dev_share, "test_share": test_share}
    corpus = find_corpus(
        data,
        text=text,
        label=label,
        data_dir=data_dir,
        dev_share=dev_share,
        test_share=test_share,
        needs_labels=False,
    )
    patient = Patient.load(name, target)
    texts = len(corpus.train) + len(corpus.dev) + len(corpus.test)
    with show.DocumentBar(texts, is_shown=not quiet) as bar:
        bar.begin_phase("reading the model's decisions")
        about = {"source": data, "text": text, "label": label, **shares}
        settings = settings.with_(split=corpus.split)
        healing = Healing.prepare(patient, corpus, settings, about, bar.advance)
    with storage.held(output):
        trained = _run(healing, folder, device, quiet, corpus.notes)
    _report(trained, output, data, read_with, json)


def _run(
    healing: "Healing", folder: "RunFolder", device: str, quiet: bool, notes: tuple[str, ...]
) -> "Trained":
    """Train in a folder, and show how it goes."""
    from heedful.cli.train import announce
    from heedful.training.heal import KEPT
    from heedful.training.progress import EpochLines

    if quiet:
        return healing.run(folder, device)
    announce(healing.task, (*notes, *healing.notes))
    with EpochLines("", score=KEPT) as watcher:
        return healing.run(folder, device, watcher)


def _report(
    trained: "Trained", place: Path, data: str, read_with: dict[str, Any], json: bool
) -> None:
    """Share of decisions kept, both accuracies, and the command to run next."""
    from heedful.auditing.next_step import auditing_command
    from heedful.cli import show
    from heedful.errors import percent

    command = auditing_command(str(place), data, read_with)
    if json:
        show.as_json({"run": str(place), **trained.metrics, "audit": command})
        return
    part = "test" if "test" in trained.metrics else "dev"
    if part not in trained.metrics:
        show.result("no texts were held out, so the share of decisions kept is unknown")
    else:
        scores = trained.metrics[part]
        low, high = (percent(bound) for bound in scores["decisions_kept_interval"])
        chosen = "" if part == "test" else " (also used to choose the epoch, so this is optimistic)"
        show.result(
            f"decisions kept: {percent(scores['decisions_kept'])} of {scores['documents']:,} texts "
            f"that were held out{chosen}; 95% interval {low} to {high}"
        )
        if "accuracy" in scores:
            show.result(
                f"accuracy: {percent(scores['accuracy'])} by the model, "
                f"{percent(scores['attention_accuracy'])} by attention, on "
                f"{scores['labelled_documents']:,} labelled texts"
            )
    show.result(f"saved in {place}")
    show.result(f"audit it: {command}")
