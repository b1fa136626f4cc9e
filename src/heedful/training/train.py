"""A task and settings to a trained classifier: the one way a classifier comes about.

The command line and the scikit-learn estimator both call `train`. With a run folder it saves as it
goes, and resumes from what is saved there.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from heedful import runs, storage
from heedful.errors import ConfigError, DataError, RunError
from heedful.model.build import build_model
from heedful.model.classifier import TextClassifier
from heedful.model.encoders import Pretrained
from heedful.model.pretrained import PretrainedEncoder, PretrainedSource
from heedful.runs import RunFolder
from heedful.text.batching import Batch, Batches
from heedful.text.documents import fingerprints
from heedful.text.token_classes import label_counts
from heedful.text.tokenize import Tokenizer
from heedful.text.vectors import WordVectors, read_vectors
from heedful.text.vocabulary import SPECIAL_WORDS
from heedful.training.evaluate import evaluate, evaluating
from heedful.training.fit import Watcher, fit
from heedful.training.recipe import Material, OnBase, Recipe
from heedful.training.settings import Settings
from heedful.training.task import Labelled, Task
from heedful.training.trained import (
    Trained,
    choose_device,
    configuration,
    environment,
    read_settings,
)

STATES_AT_MOST = 2**30  # bytes; those of 10,000 short texts of a base-sized model take 0.6 GB


def train(
    task: Task,
    settings: Settings,
    *,
    folder: RunFolder | None = None,
    device: str = "cpu",
    watcher: Watcher | None = None,
    pretrained: PretrainedSource | None = None,
    complete: Callable[[Trained], Trained] = lambda trained: trained,
) -> Trained:
    """Train a classifier; with a folder, save as it goes and resume from what is saved there.

    `pretrained` is the source of a pretrained encoder that is loaded already. `complete` adds what
    belongs to the run beside the training, before it is written.
    """
    _check(task)
    threads = nullcontext() if settings.model.encoder.shares_threads else one_thread_each()
    with threads, storage.held(folder.path if folder else None):
        return _train(task, settings, folder, device, watcher, pretrained, complete)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """One thread, unless the user has said how many: `OMP_NUM_THREADS`.

    A step on a few short texts is too small to share out: with two threads it is at best a little
    faster, beside another job much slower, and its sums depend on the number of cores.
    """
    before = torch.get_num_threads()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(
    task: Task,
    settings: Settings,
    folder: RunFolder | None,
    device: str,
    watcher: Watcher | None,
    pretrained: PretrainedSource | None = None,
    complete: Callable[[Trained], Trained] = lambda trained: trained,
) -> Trained:
    started = time.monotonic()
    if folder is not None and folder.is_begun:
        check_same_training(folder, settings, task)
    recipe = settings.training.recipe
    pretrained, base = pretrained or load_pretrained(settings), _named_base(recipe, task, device)
    # A base may read pieces of words even if the model itself does not.
    source = pretrained or (base.pretrained if base else None)
    tokenizer = Tokenizer.learn(
        task.train.texts, settings.text, source.pieces() if source else None
    )
    words = tokenizer.words
    if base is not None:
        _check_same_words(recipe, base, words)
    vectors = _read_vectors(settings, words)
    seed, target = settings.training.seed, choose_device(device)
    model = build_model(
        settings.model,
        len(words),
        len(task.classes),
        seed=seed,
        vectors=vectors,
        pretrained=pretrained,
    ).to(target)
    batches = _batches(task.train, tokenizer, settings, target)
    _check_words(batches, settings)
    material = Material(batches, words, base.model if base else None, len(task.classes))
    recipe.check(model, material)
    if folder is not None and not folder.is_begun:
        folder.begin(configuration(settings, task.classes, task.describe()))
    if isinstance(recipe, OnBase) and material.base is None:
        material = replace(material, base=_train_base(task, settings, folder, device, watcher))
    dev = _batches(task.dev, tokenizer, settings, target) if len(task.dev) else None
    remember_states(model, [batches, *([dev] if dev else [])], watcher)
    history = fit(
        model,
        settings.training,
        material,
        dev,
        keeper=folder,
        watcher=watcher,
    )
    trained = Trained(
        settings=settings,
        classes=task.classes,
        tokenizer=tokenizer,
        model=model,
        history=history,
        metrics=_metrics(model, material, task, tokenizer, settings),
        provenance={
            **environment(),
            "device": str(target),
            "seed": seed,
            "data": task.describe(),
            "documents_cut": batches.documents.cut,
            "vocabulary": len(words) - len(SPECIAL_WORDS),
            "vectors": _coverage(vectors, batches),
            "seconds": round(time.monotonic() - started, 1),
        },
        training_documents=np.sort(fingerprints(task.train.texts)),
        dev_documents=np.sort(fingerprints(task.dev.texts)),
        label_counts=label_counts(
            batches.documents, task.train.labels, len(task.classes), len(words)
        ),
        pretrained=pretrained.without_weights if pretrained else None,
    )
    trained = complete(trained)
    if folder is not None:
        trained.write(folder)
    return trained


def remember_states(
    model: TextClassifier, parts: Sequence[Batches], watcher: Watcher | None = None
) -> None:
    """Read documents once with a pretrained encoder that is frozen: every epoch finds the same.

    All of them, in their own order and before the first epoch, so that a training that is resumed
    learns from exactly the same numbers. States of long or many texts would not fit: those are
    read whenever they are needed.
    """
    encoder = model.encoder
    is_fixed = isinstance(encoder, PretrainedEncoder) and encoder.is_frozen
    if not is_fixed or model.embedding.weight.requires_grad:
        return
    assert isinstance(encoder, PretrainedEncoder)
    size = 4 * encoder.states_size
    if size * sum(len(part.documents.token_ids) for part in parts) > STATES_AT_MOST:
        return
    watcher = watcher or Watcher()
    watcher.begin_reading(sum(map(len, parts)))

    def read(batch: Batch) -> Float[Tensor, "batch tokens states"]:
        watcher.advance(len(batch.indices))
        return encoder.pooled(model.embed(batch), batch.is_token, batch.longest_row)

    with evaluating(model), torch.no_grad():
        for part in parts:
            part.remember(encoder, read)
    watcher.end_reading()


def _named_base(recipe: Recipe, task: Task, device: str) -> Trained | None:
    """The run that the recipe names; a sentence if it knows other labels."""
    if not isinstance(recipe, OnBase) or recipe.base is None:
        return None
    trained = Trained.load(recipe.base, device)
    if list(map(str, trained.classes)) != list(map(str, task.classes)):
        raise ConfigError(
            f"the base run {recipe.base} has the labels {', '.join(map(str, trained.classes))}, "
            f"the documents have {', '.join(map(str, task.classes))}. They must be the same."
        )
    return trained


def _check_same_words(recipe: Recipe, base: Trained, words: Sequence[str]) -> None:
    assert isinstance(recipe, OnBase)
    if list(base.tokenizer.words) != list(words):
        raise ConfigError(
            f"the base run {recipe.base} has another vocabulary. It was trained on other documents "
            "or with other text settings. Train both on the same data with the same settings."
        )


def _train_base(
    task: Task,
    settings: Settings,
    folder: RunFolder | None,
    device: str,
    watcher: Watcher | None,
) -> TextClassifier:
    """The finished model that a recipe works on, trained first because no run was named."""
    recipe = settings.training.recipe
    assert isinstance(recipe, OnBase)
    inside = RunFolder(folder.path / runs.BASE) if folder is not None else None
    if inside is not None and inside.is_finished:
        inside.drop_checkpoints()
        return Trained.load(inside.path, device).model
    changed = settings.with_(**recipe.base_settings)
    if watcher is not None:
        watcher.turn_to("base run")
    with storage.held(inside.path if inside else None):
        trained = _train(task, changed, inside, device, watcher)
    if watcher is not None:
        watcher.turn_to("")
    return trained.model


def check_same_training(folder: RunFolder, settings: Settings, task: Task) -> None:
    """Refuse to resume a run that was begun with other settings or on other documents."""
    now = task.describe()["fingerprint"]
    before = folder.read_config().get("data", {}).get("fingerprint")
    if before != now:
        raise RunError(
            f"{folder.path} was started on other documents (or another share of them): their "
            f"fingerprint was {before}, now it is {now}. "
            "Resume with the same data, or choose another folder."
        )
    begun, wanted = read_settings(folder).flat(), settings.flat()
    for name, value in wanted.items():
        if begun[name] != value:
            raise RunError(
                f"{folder.path} was started with {name} = {begun[name]}, not {value}. "
                "Resume with the same settings, or choose another folder."
            )


def load_pretrained(settings: Settings) -> PretrainedSource | None:
    """The source of a pretrained encoder; nothing for any other."""
    encoder = settings.model.encoder
    return encoder.load() if isinstance(encoder, Pretrained) else None


def _check(task: Task) -> None:
    if len(task.classes) < 2:
        raise DataError(
            f"every training document has the same label ({', '.join(map(str, task.classes))}). "
            "A classifier needs at least two different labels."
        )
    if not len(task.train):
        raise DataError("there are no documents to train on.")


def _check_words(batches: Batches, settings: Settings) -> None:
    if not len(batches.documents.token_ids):
        raise DataError("the training documents contain no words.")
    if (batches.documents.token_ids < len(SPECIAL_WORDS)).all():
        raise DataError(
            f"no word occurs in at least {settings.text.min_documents} training documents, so the "
            "vocabulary is empty. Lower min_documents (--min-documents) or give more documents."
        )


def _batches(
    part: Labelled, tokenizer: Tokenizer, settings: Settings, device: torch.device
) -> Batches:
    counts = Counter(part.labels.tolist())
    weight = np.ones(len(part))
    if settings.training.class_weights == "balanced":
        weight = np.array([len(part) / (len(counts) * counts[k]) for k in part.labels.tolist()])
    return Batches(
        tokenizer.encode(part.texts),
        part.labels,
        weight,
        batch_size=settings.training.batch_size,
        device=device,
    )


def _read_vectors(settings: Settings, words: Sequence[str]) -> WordVectors | None:
    if settings.model.vectors is None:
        return None
    return read_vectors(settings.model.vectors, {word: row for row, word in enumerate(words)})


def _coverage(vectors: WordVectors | None, batches: Batches) -> dict[str, Any] | None:
    if vectors is None:
        return None
    covered = vectors.found[batches.documents.token_ids].mean()
    known = vectors.found[len(SPECIAL_WORDS) :].mean()
    return {
        "source": vectors.source,
        "size": int(vectors.matrix.shape[1]),
        "share_of_words_found": round(float(known), 4),
        "share_of_training_tokens_covered": round(float(covered), 4),
    }


def _metrics(
    model: TextClassifier,
    material: Material,
    task: Task,
    tokenizer: Tokenizer,
    settings: Settings,
) -> dict[str, Any]:
    majority = int(np.bincount(task.train.labels).argmax())
    recipe = settings.training.recipe
    metrics: dict[str, Any] = {}
    for name, part in (("dev", task.dev), ("test", task.test)):
        if len(part):
            batches = _batches(part, tokenizer, settings, material.documents.device)
            share = float((part.labels == majority).mean())
            scores = asdict(evaluate(recipe.seen(model, material), batches))
            beside = {n: asdict(evaluate(m, batches)) for n, m in recipe.seen_beside(model).items()}
            metrics[name] = {**scores, "majority_accuracy": share, **beside}
            metrics[name] |= recipe.measured(model, material, batches)
    return metrics
