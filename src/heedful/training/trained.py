"""Documents and settings to a trained classifier, in memory and in a run folder.

`train` is the one way a classifier comes about; the command line and the scikit-learn estimator
both call it. `Trained` is the result: everything needed to predict, and where it came from.
"""

import hashlib
import math
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful import runs
from heedful.errors import ConfigError, DataError, RunError, UnknownName, counted
from heedful.model.build import build_model
from heedful.model.classifier import AttentionClassifier, TextClassifier
from heedful.runs import RunFolder
from heedful.text.batching import Batches
from heedful.text.documents import Corpus, fingerprints
from heedful.text.readers import check_labels
from heedful.text.tokenize import Tokenizer
from heedful.text.vectors import WordVectors, read_vectors
from heedful.text.vocabulary import SPECIAL_WORDS
from heedful.training.evaluate import evaluate, predict
from heedful.training.fit import Watcher, fit
from heedful.training.settings import STAGES, Settings

Label = str | int | float | bool


@dataclass(frozen=True)
class Labelled:
    """Texts with the number of each one's class."""

    texts: Sequence[str]
    labels: Int[ndarray, " documents"]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Task:
    """What is to be learnt: the classes, and documents to train, choose an epoch and test on."""

    classes: tuple[Label, ...]
    train: Labelled
    dev: Labelled
    test: Labelled
    data: dict[str, Any]  # where the documents came from, for the record

    @classmethod
    def from_corpus(cls, corpus: Corpus, data: dict[str, Any]) -> "Task":
        """The labels of a corpus as numbered classes."""
        check_labels(corpus)
        classes = sorted({str(label) for label in corpus.train.labels}, key=_by_number_then_name)
        number_of = {label: number for number, label in enumerate(classes)}
        train, dev, test = (
            Labelled(part.texts, np.array([number_of[str(x)] for x in part.labels], dtype=np.int64))
            for part in (corpus.train, corpus.dev, corpus.test)
        )
        return cls(tuple(classes), train, dev, test, {"name": corpus.name, **data})

    def describe(self) -> dict[str, Any]:
        """The facts that tell whether two trainings saw the same data."""
        digest = hashlib.sha256()
        for part in (self.train, self.dev, self.test):
            digest.update(fingerprints(part.texts).tobytes() + part.labels.tobytes())
        return {
            **self.data,
            "documents": {"train": len(self.train), "dev": len(self.dev), "test": len(self.test)},
            "fingerprint": digest.hexdigest()[:16],
        }


@dataclass(frozen=True)
class WordWeights:
    """The attention of one text, on the user's own characters."""

    text: str
    offsets: Int[ndarray, "words 2"]
    weights: Float[ndarray, " words"]

    @property
    def words(self) -> list[str]:
        """The words as they stand in the text."""
        return [self.text[start:end] for start, end in self.offsets.tolist()]


@dataclass(frozen=True)
class Trained:
    """A classifier with everything around it that turns texts into probabilities."""

    settings: Settings
    classes: tuple[Label, ...]
    tokenizer: Tokenizer
    model: TextClassifier
    history: list[dict[str, Any]]
    metrics: dict[str, Any]
    provenance: dict[str, Any]
    training_documents: Int[ndarray, " documents"]  # sorted fingerprints

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return next(self.model.parameters()).device

    def batches(self, texts: Sequence[str]) -> Batches:
        """Texts as the model wants them."""
        return Batches(self.tokenizer.encode(texts), device=self.device)

    def probabilities(self, texts: Sequence[str]) -> Float[ndarray, "documents classes"]:
        """One row per text, one column per class."""
        if not len(texts):
            return np.empty((0, len(self.classes)), dtype=np.float32)
        return predict(self.model, self.batches(texts))

    def attention(self, texts: Sequence[str]) -> list[WordWeights]:
        """Where the words of each text stand, and the weight each one gets."""
        if not isinstance(self.model, AttentionClassifier):
            raise ConfigError(
                f"this classifier has no attention: it was built with pooling = "
                f"{self.settings.model.pooling!r}."
            )
        weights: dict[int, Float[ndarray, " words"]] = {}
        with torch.inference_mode():
            for batch in self.batches(texts).by_length():
                for index, row, real in zip(
                    batch.indices.tolist(), self.model(batch).weights, batch.is_token, strict=True
                ):
                    weights[index] = row[real].cpu().numpy()
        return [
            WordWeights(text, self.tokenizer.offsets(text), weights[index])
            for index, text in enumerate(texts)
        ]

    def was_trained_on(self, texts: Sequence[str]) -> Bool[ndarray, " documents"]:
        """Which texts were among the training documents, case and white space aside."""
        return np.isin(fingerprints(texts), self.training_documents)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> "Trained":
        """The classifier of a finished run."""
        target = choose_device(device)
        folder = RunFolder.open(path)
        try:
            return cls._from(folder, target)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RuntimeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RunError(
                f"the files of the run {path} do not fit together ({reason}). "
                "Copy the run again or train it again."
            ) from None

    @classmethod
    def _from(cls, folder: RunFolder, device: torch.device) -> "Trained":
        settings = read_settings(folder)
        classes = tuple(folder.read_config()["classes"])
        tensors, _ = folder.read_tensors(runs.MODEL)
        vocabulary, size = tensors["embedding.weight"].shape
        of_that_size = settings.with_(embedding_size=int(size)).model
        model = build_model(of_that_size, vocabulary, len(classes), seed=0)
        model.load_state_dict(tensors)
        documents, _ = folder.read_tensors(runs.TRAINING_DOCUMENTS)
        return cls(
            settings=settings,
            classes=classes,
            tokenizer=Tokenizer.from_json(
                folder.read_bytes(runs.TOKENIZER).decode(), settings.text
            ),
            model=model.to(device).eval(),
            history=folder.read_lines(runs.HISTORY),
            metrics=folder.read_json(runs.METRICS),
            provenance=folder.read_json(runs.PROVENANCE),
            training_documents=documents["fingerprints"].numpy(),
        )

    def save(self, path: str | Path) -> None:
        """Write a run folder; `load` reads it back."""
        folder = RunFolder.new(path)
        folder.begin(_config(self.settings, self.classes, self.provenance.get("data", {})))
        self.write(folder)

    def write(self, folder: RunFolder) -> None:
        """Write everything but the configuration, which stands there since training began."""
        folder.write_bytes(runs.TOKENIZER, self.tokenizer.to_json().encode())
        folder.write_tensors(runs.MODEL, self.model.state_dict())
        documents = torch.from_numpy(self.training_documents)
        folder.write_tensors(runs.TRAINING_DOCUMENTS, {"fingerprints": documents})
        folder.write_lines(runs.HISTORY, self.history)
        folder.write_json(runs.METRICS, self.metrics)
        folder.finish(self.provenance)


def train(
    task: Task,
    settings: Settings,
    *,
    folder: RunFolder | None = None,
    device: str = "cpu",
    watcher: Watcher | None = None,
) -> Trained:
    """Train a classifier; with a folder, save as it goes and go on from what is saved there."""
    _check(task)
    started = time.time()
    if folder is not None and folder.is_begun:
        check_same_training(folder, settings, task)
    tokenizer = Tokenizer.learn(task.train.texts, settings.text)
    words = tokenizer.words
    vectors = _read_vectors(settings, words)
    seed, target = settings.training.seed, choose_device(device)
    model = build_model(
        settings.model, len(words), len(task.classes), seed=seed, vectors=vectors
    ).to(target)
    batches = _batches(task.train, tokenizer, settings, target)
    _check_words(batches, settings)
    if folder is not None and not folder.is_begun:
        folder.begin(_config(settings, task.classes, task.describe()))
    history = fit(
        model,
        settings.training,
        batches,
        _batches(task.dev, tokenizer, settings, target) if len(task.dev) else None,
        keeper=folder,
        watcher=watcher,
    )
    trained = Trained(
        settings=settings,
        classes=task.classes,
        tokenizer=tokenizer,
        model=model,
        history=history,
        metrics=_metrics(model, task, tokenizer, settings, target),
        provenance={
            **environment(),
            "device": str(target),
            "seed": seed,
            "data": task.describe(),
            "documents_cut": batches.documents.cut,
            "vocabulary": len(words) - len(SPECIAL_WORDS),
            "vectors": _coverage(vectors, batches),
            "seconds": round(time.time() - started, 1),
        },
        training_documents=np.sort(fingerprints(task.train.texts)),
    )
    if folder is not None:
        trained.write(folder)
    return trained


def read_settings(folder: RunFolder) -> Settings:
    """The settings that a run was started with."""
    config = folder.read_config()
    try:
        return Settings.from_plain({stage: config.get(stage, {}) for stage in STAGES})
    except (ConfigError, UnknownName) as error:
        raise RunError(f"{folder.path / runs.CONFIG} cannot be used: {error}") from None


def choose_device(name: str) -> torch.device:
    """'auto', 'cpu', 'cuda' or 'cuda:1' as a device that is there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d{1,2})?", name):
        raise ConfigError(f"no device named {name!r}. Known: auto, cpu, cuda, cuda:1, ….")
    device = torch.device(name)
    there = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= there:
        raise ConfigError(
            f"device {name!r} is not there: PyTorch sees {counted(there, 'CUDA device')}. Use cpu."
        )
    return device


def environment() -> dict[str, Any]:
    """Versions and machine, for the record."""
    packages = ("heedful", "torch", "numpy", "tokenizers", "safetensors", "scikit-learn")
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:  # run from a source tree
            versions[package] = "unknown"
    return {
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": versions,
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
        "command": " ".join(sys.argv),
    }


def _config(settings: Settings, classes: Sequence[Label], data: dict[str, Any]) -> dict[str, Any]:
    heedful = environment()["versions"]["heedful"]
    return {"heedful": heedful, "classes": list(classes), "data": data, **settings.plain()}


def check_same_training(folder: RunFolder, settings: Settings, task: Task) -> None:
    """Refuse to go on with a run that was begun with other settings or on other documents."""
    now = task.describe()["fingerprint"]
    before = folder.read_config().get("data", {}).get("fingerprint")
    if before != now:
        raise RunError(
            f"{folder.path} was begun on other documents (or another share of them): their "
            f"fingerprint was {before}, now it is {now}. "
            "Resume with the same data, or choose another folder."
        )
    begun, wanted = read_settings(folder).flat(), settings.flat()
    for name, value in wanted.items():
        if begun[name] != value:
            raise RunError(
                f"{folder.path} was begun with {name} = {begun[name]}, not {value}. "
                "Resume with the same settings, or choose another folder."
            )


def _check(task: Task) -> None:
    if len(task.classes) < 2:
        raise DataError(
            f"every training document has the same label ({', '.join(map(str, task.classes))}). "
            "A classifier needs at least two different labels."
        )
    if not len(task.train):
        raise DataError("there is no document to train on.")


def _check_words(batches: Batches, settings: Settings) -> None:
    if not len(batches.documents.token_ids):
        raise DataError("the training documents hold no words.")
    if (batches.documents.token_ids < len(SPECIAL_WORDS)).all():
        raise DataError(
            f"no word occurs in at least {settings.text.min_documents} training documents, so "
            "there is no vocabulary. Lower min_documents or give more documents."
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
    task: Task,
    tokenizer: Tokenizer,
    settings: Settings,
    device: torch.device,
) -> dict[str, Any]:
    majority = int(np.bincount(task.train.labels).argmax())
    metrics: dict[str, Any] = {}
    for name, part in (("dev", task.dev), ("test", task.test)):
        if len(part):
            scores = evaluate(model, _batches(part, tokenizer, settings, device))
            share = float((part.labels == majority).mean())
            metrics[name] = {**asdict(scores), "majority_accuracy": share}
    return metrics


def _by_number_then_name(label: str) -> tuple[float, str]:
    try:
        return (float(label), label)
    except ValueError:
        return (math.inf, label)
