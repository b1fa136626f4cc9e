"""`heedful train`: documents in, a run folder out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heedful.runs import RunFolder
    from heedful.training.settings import Settings
    from heedful.training.task import Task
    from heedful.training.trained import Trained


def _option(help: str, *names: str, panel: str | None = None) -> typer.models.OptionInfo:
    return typer.Option(*names, help=help, rich_help_panel=panel)


_DATA, _MODEL, _TRAINING, _WORDS = "Data", "Model", "Training", "Words"


def train(
    data: Annotated[
        str, typer.Argument(help="CSV, TSV, JSONL or Parquet file, a folder, or a corpus name.")
    ],
    output: Annotated[
        Path | None,
        _option("Run folder to create. Default: runs/NAME-HASH-seedN.", "-o", "--output"),
    ] = None,
    resume: Annotated[bool, _option("Resume an interrupted run.", "--resume")] = False,
    text: Annotated[str | None, _option("Column that holds the text.", panel=_DATA)] = None,
    label: Annotated[str | None, _option("Column that holds the label.", panel=_DATA)] = None,
    data_dir: Annotated[
        Path | None, _option("Folder of named corpora. Default: $HEEDFUL_DATA.", panel=_DATA)
    ] = None,
    dev_share: Annotated[
        float, _option("Share held out to choose the best epoch.", panel=_DATA)
    ] = 0.1,
    test_share: Annotated[float, _option("Share held out to test on.", panel=_DATA)] = 0.1,
    profile: Annotated[
        str | None, _option("Profile to start from, such as sun-lu.", panel=_MODEL)
    ] = None,
    like: Annotated[Path | None, _option("Run whose settings to start from.", panel=_MODEL)] = None,
    config: Annotated[
        Path | None, _option("TOML file with tables text, model, training.", panel=_MODEL)
    ] = None,
    encoder: Annotated[
        str | None, _option("Encoder (`heedful list encoders`), as in lstm:layers=2.", panel=_MODEL)
    ] = None,
    pretrained: Annotated[
        str | None,
        _option("Encoder to fine-tune: minilm, a folder or a hub name.", panel=_MODEL),
    ] = None,
    alignment: Annotated[
        str | None, _option("Alignment, as in dot:scale=10.", panel=_MODEL)
    ] = None,
    projection: Annotated[
        str | None, _option("Projection, as in sparsegen:sparsity=0.5.", panel=_MODEL)
    ] = None,
    pooling: Annotated[
        str | None, _option("attention, or a baseline without it: mean, max, last.", panel=_MODEL)
    ] = None,
    vectors: Annotated[
        str | None, _option("File of word vectors (GloVe, .vec).", panel=_MODEL)
    ] = None,
    embedding_size: Annotated[
        int | None, _option("Size of word embeddings without --vectors.", panel=_MODEL)
    ] = None,
    dropout: Annotated[
        float | None, _option("Dropout on embeddings and on the context.", panel=_MODEL)
    ] = None,
    recipe: Annotated[
        str | None, _option("Recipe (`heedful list recipes`).", panel=_TRAINING)
    ] = None,
    optimizer: Annotated[
        str | None, _option("Optimizer, as in adam:learning_rate=0.01.", panel=_TRAINING)
    ] = None,
    epochs: Annotated[int | None, _option("Maximum number of epochs.", panel=_TRAINING)] = None,
    learning_rate: Annotated[float | None, _option("Learning rate.", panel=_TRAINING)] = None,
    batch_size: Annotated[
        int | None, _option("Number of documents per step.", panel=_TRAINING)
    ] = None,
    class_weights: Annotated[
        str | None, _option("none, or balanced: rare labels count more.", panel=_TRAINING)
    ] = None,
    seed: Annotated[int | None, _option("Seed of all random choices.", panel=_TRAINING)] = None,
    device: Annotated[str, _option("Device: auto, cpu, cuda or cuda:1.", panel=_TRAINING)] = "auto",
    split: Annotated[
        str | None, _option("words, or spaces for text already tokenized.", panel=_WORDS)
    ] = None,
    min_documents: Annotated[
        int | None, _option("Number of documents a word must occur in to be known.", panel=_WORDS)
    ] = None,
    max_words: Annotated[
        int | None, _option("Maximum number of words; longer documents are cut.", panel=_WORDS)
    ] = None,
    set_: Annotated[
        list[str] | None, _option("Any other setting: --set patience=5.", "--set")
    ] = None,
    quiet: Annotated[bool, _option("Print only the result.", "--quiet", "-q")] = False,
    json: Annotated[bool, _option("Print the result as JSON.", "--json")] = False,
) -> None:
    """Train a classifier on your documents and save it as a run folder."""
    from heedful.cli.parsing import encoder_from, settings_from
    from heedful.errors import UsageError
    from heedful.runs import CONFIG, RunFolder
    from heedful.training.settings import profiles
    from heedful.training.task import Task, find_corpus
    from heedful.training.trained import read_settings

    if vectors is not None and embedding_size is not None:
        raise UsageError("give --embedding-size or --vectors, not both: the vectors set the size.")
    corpus = find_corpus(
        data, text=text, label=label, data_dir=data_dir, dev_share=dev_share, test_share=test_share
    )
    if like is not None and profile is not None:
        raise UsageError("give --like or --profile, not both: each sets the starting point.")
    if like is not None and not (like / CONFIG).is_file():
        raise UsageError(f"no run at {like}. --like expects the folder of a run.")
    begun = RunFolder(output) if resume and output is not None else None
    is_new = profile is not None or config is not None or like is not None
    if begun is not None and begun.is_begun and not is_new:
        base = read_settings(begun)
    elif like is not None:
        base = read_settings(RunFolder(like))
    else:
        base = profiles[profile or "default"]().with_(split=corpus.split)
    settings = settings_from(
        base,
        config,
        epochs,
        learning_rate,
        set_ or [],
        encoder=encoder_from(encoder, pretrained),
        alignment=alignment,
        projection=projection,
        pooling=pooling,
        vectors=vectors,
        embedding_size=embedding_size,
        dropout=dropout,
        recipe=recipe,
        optimizer=optimizer,
        batch_size=batch_size,
        class_weights=class_weights,
        seed=seed,
        split=split,
        min_documents=min_documents,
        max_words=max_words,
    )
    columns = {"text": text, "label": label, "dev_share": dev_share, "test_share": test_share}
    task = Task.from_corpus(corpus, {"source": data, **columns})
    place = output or _default_place(corpus.name, settings)
    trained = _train(task, settings, place, resume, device, quiet, corpus.notes)
    _report(trained, place, quiet, json)
    if not quiet and not json:
        _advise(trained, place, data, {"text": text, "label": label, "data_dir": data_dir})


def _train(
    task: "Task",
    settings: "Settings",
    place: Path,
    resume: bool,
    device: str,
    quiet: bool,
    notes: tuple[str, ...],
) -> "Trained":
    from heedful import storage
    from heedful.cli import show
    from heedful.model.encoders import Pretrained
    from heedful.model.hub import quieten
    from heedful.runs import RunFolder
    from heedful.training.train import check_same_training
    from heedful.training.trained import Trained

    if isinstance(settings.model.encoder, Pretrained):
        quieten()
    folder = RunFolder(place)
    if resume and folder.is_finished:
        trained = Trained.load(place)
        check_same_training(folder, settings, task)
        with storage.held(place):
            folder.drop_checkpoints()
        show.note(f"{place} is finished already; nothing to do.")
        return trained
    with storage.held(place):
        if not (resume and folder.is_begun):
            folder = RunFolder.new(place)
        if resume and not folder.is_begun and not quiet:
            show.note(f"note: {place} holds no unfinished run, so a new one is started")
        return _train_in(folder, task, settings, device, quiet, notes)


def _train_in(
    folder: "RunFolder",
    task: "Task",
    settings: "Settings",
    device: str,
    quiet: bool,
    notes: tuple[str, ...],
) -> "Trained":
    """Train in a folder, and show how it goes."""
    from heedful.training.progress import EpochLines
    from heedful.training.train import train

    if quiet:
        return train(task, settings, folder=folder, device=device)
    announce(task, notes)
    with EpochLines("") as watcher:
        return train(task, settings, folder=folder, device=device, watcher=watcher)


def announce(task: "Task", notes: tuple[str, ...]) -> None:
    """Say what is learnt from, and what there is to know of it."""
    from heedful.cli import show

    counts = task.describe()["documents"]
    show.note(
        f"{task.data['name']}: {counts['train']:,} documents to train on, {counts['dev']:,} to "
        f"choose the best epoch, {counts['test']:,} to test on; "
        f"labels: {', '.join(map(str, task.classes[:10]))}{' …' if len(task.classes) > 10 else ''}"
    )
    for sentence in notes:
        show.note(f"note: {sentence}")


def _report(trained: "Trained", place: Path, quiet: bool, json: bool) -> None:
    from heedful.cli import show
    from heedful.errors import counted, percent

    if json:
        show.as_json({"run": str(place), **trained.metrics})
        return
    if not quiet:
        if cut := trained.provenance.get("documents_cut"):
            limit = trained.longest_text
            verb = "was" if cut == 1 else "were"
            show.note(f"note: {counted(cut, 'training document')} longer than {limit} {verb} cut")
        if found := trained.provenance.get("vectors"):
            share = percent(found["share_of_training_tokens_covered"])
            show.note(f"note: vectors from {found['source']} cover {share} of the training tokens")
    show.result(show.score_line(trained))
    show.result(f"saved in {place}")


def _advise(trained: "Trained", place: Path, data: str, columns: dict[str, object]) -> None:
    """What to do next, and what to try if the model has learnt nothing."""
    from heedful.auditing.next_step import auditing_command
    from heedful.cli import show
    from heedful.model.classifier import AttentionClassifier

    scores = trained.metrics.get("test", trained.metrics.get("dev"))
    if scores and scores["accuracy_interval"][0] <= scores["majority_accuracy"]:
        show.note(
            "note: the accuracy is not clearly better than always predicting the most common "
            "label, so an "
            "audit cannot support this model's attention. Try more epochs (--epochs), word vectors "
            "(--vectors), a pretrained encoder (--pretrained) or more documents."
        )
    if isinstance(trained.model, AttentionClassifier):
        show.note(f"next: {auditing_command(str(place), data, columns)}")


def _default_place(name: str, settings: "Settings") -> Path:
    import hashlib
    import json

    from heedful.runs import folder_name

    plain = json.dumps(settings.plain(), sort_keys=True).encode()
    digest = hashlib.sha256(plain).hexdigest()[:8]
    return (
        Path("runs")
        / f"{folder_name(name.partition('.')[0])}-{digest}-seed{settings.training.seed}"
    )
