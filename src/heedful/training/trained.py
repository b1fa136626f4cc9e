"""A trained classifier with everything around it, in memory and in a run folder.

`Trained` holds what is needed to predict, and where it came from; `train.py` makes it.
"""

import platform
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from heedful import runs, storage
from heedful.config import check
from heedful.errors import ConfigError, RunError, UnknownName, counted, misfits_named
from heedful.model.alignments import alignments
from heedful.model.build import build_model
from heedful.model.classifier import AttentionClassifier, TextClassifier
from heedful.model.encoders import Pretrained, encoders
from heedful.model.pretrained import PretrainedSource
from heedful.model.projections import projections
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.runs import RunFolder
from heedful.text.batching import Batches
from heedful.text.documents import Documents, fingerprints
from heedful.text.labels import match_labels_or_none
from heedful.text.tokenize import Tokenizer
from heedful.text.vocabulary import UNKNOWN_WORD
from heedful.training.decisions import Decisions, decide
from heedful.training.evaluate import predict
from heedful.training.run_schema import EpochLine, HealedMetrics, Metrics, Provenance
from heedful.training.settings import STAGES, Settings
from heedful.training.task import Label


@dataclass(frozen=True, repr=False)
class WordWeights:
    """The attention of one text, on the user's own characters."""

    text: str
    offsets: Int[ndarray, "words 2"]
    weights: Float[ndarray, " words"]
    withheld: str = ""  # why they should not be shown, in a sentence; empty where they may

    @property
    def words(self) -> list[str]:
        """The words as they stand in the text."""
        return [self.text[start:end] for start, end in self.offsets.tolist()]

    def _repr_html_(self) -> str:
        """The text in colour, in a notebook."""
        from heedful.notebook import weights_view

        return weights_view(self)

    def __repr__(self) -> str:
        if self.withheld:
            return f"<WordWeights of {len(self.weights):,} words, withheld>"
        order = self.weights.argsort()[::-1][:3].tolist()
        words = self.words
        top = " · ".join(f"{words[place]} {self.weights[place]:.2f}" for place in order)
        return f"<WordWeights of {len(words):,} words: {top}>"


@dataclass(frozen=True)
class Exposure:
    """Which of some documents a model met before it was finished."""

    was_trained_on: Bool[ndarray, " documents"]
    chose_epoch: Bool[ndarray, " documents"]  # dev documents; none of them trained on

    @classmethod
    def none(cls, documents: int) -> "Exposure":
        """All documents are new, or nothing is known of the training."""
        return cls(np.zeros(documents, dtype=bool), np.zeros(documents, dtype=bool))

    @property
    def is_new(self) -> Bool[ndarray, " documents"]:
        """The documents that the model had not met."""
        return ~(self.was_trained_on | self.chose_epoch)


ADVICE = "Copy the run again or train it again."
DEV = "dev_fingerprints"  # runs of version 0.1 have none


def _no_documents() -> Int[ndarray, " documents"]:
    return np.empty(0, dtype=np.int64)


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
    label_counts: Int[ndarray, "classes vocabulary"]  # of every word in them, by label
    pretrained: PretrainedSource | None = None  # what its encoder was made from, weights aside
    dev_documents: Int[ndarray, " dev"] = field(default_factory=_no_documents)  # chose the epoch
    original: SequenceClassifier | None = None  # the model that decides, where one was healed

    def untrained(self, seed: int) -> TextClassifier:
        """A model like this one that has learnt nothing."""
        size = self.model.embedding.weight.shape[1]
        settings = self.settings.with_(embedding_size=int(size), vectors=None).model
        model = build_model(
            settings,
            len(self.tokenizer.words),
            len(self.classes),
            seed=seed,
            pretrained=self.pretrained,
        )
        like = self.model.embedding.weight
        return model.to(like.device, like.dtype).eval()

    @property
    def longest_text(self) -> str:
        """Where texts are cut, in words for a person."""
        limit = f"{self.settings.text.max_words} words"
        return f"{limit} or {self.pretrained.positions} pieces" if self.pretrained else limit

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return next(self.model.parameters()).device

    def batches(self, texts: Sequence[str]) -> Batches:
        """Texts as the model wants them."""
        return Batches(self.tokenizer.encode(texts), device=self.device)

    def probabilities(self, texts: Sequence[str]) -> Float[ndarray, "documents classes"]:
        """One row per text, one column per class: of the model that decides."""
        if self.original is not None:
            return self.original.probabilities(texts)
        return self.by_attention(texts)

    def by_attention(self, texts: Sequence[str]) -> Float[ndarray, "documents classes"]:
        """The same of the classifier that was trained here, also where another model decides."""
        if not len(texts):
            return np.empty((0, len(self.classes)), dtype=np.float32)
        return predict(self.model, self.batches(texts))

    def decisions(self, texts: Sequence[str]) -> Decisions:
        """Probabilities, who decides, and of which texts no heat map is shown."""
        return self.decided(texts, self.by_attention(texts))

    def decided(
        self, texts: Sequence[str], by_attention: Float[ndarray, "documents classes"]
    ) -> Decisions:
        """The same, given the probabilities by attention."""
        if self.original is None:
            return decide(by_attention, by_attention, self.classes)
        decided = self.original.probabilities(texts)
        return decide(decided, by_attention, self.classes, self.original.name)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of text and label that the run was trained on, if they were named."""
        data = self.provenance.get("data", {})
        return {part: data[part] for part in ("text", "label") if data.get(part)}

    def with_own_labels(self, documents: Documents) -> Documents:
        """Documents by the run's labels, if it was healed: matched as the model's own are.

        Labels that do not fit are left out: the model decides, and its accuracy is not known.
        """
        if self.original is None:
            return documents
        _, matched, _ = match_labels_or_none(tuple(map(str, self.classes)), documents)
        return matched

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
        withheld = self.decisions(texts).withheld
        return [
            WordWeights(text, self.tokenizer.offsets(text), weights[index], withheld[index])
            for index, text in enumerate(texts)
        ]

    def is_strange(self, texts: Sequence[str]) -> Bool[ndarray, " documents"]:
        """Which texts have only words that training never saw, or none; pieces are always known."""
        if self.pretrained is not None:
            return np.zeros(len(texts), dtype=bool)
        documents = self.tokenizer.encode(texts)
        known_before = np.cumsum([0, *(documents.token_ids != UNKNOWN_WORD)])
        return np.diff(known_before[documents.starts]) == 0

    def exposure(self, texts: Sequence[str]) -> Exposure:
        """Which texts were trained on or chose the best epoch, case and white space aside."""
        found = fingerprints(texts)
        was_trained_on = np.isin(found, self.training_documents)
        return Exposure(was_trained_on, np.isin(found, self.dev_documents) & ~was_trained_on)

    def describe(self) -> dict[str, object]:
        """What the model is and how it scored on its own test part, for reports."""
        model = self.settings.model
        digest = self.provenance.get("sha256", {}).get(runs.MODEL)
        test = self.metrics.get("test", {})
        scored = {f"test_{n}": test[n] for n in ("accuracy", "documents") if n in test}
        return {
            "encoder": encoders.spec(model.encoder),
            "alignment": alignments.spec(model.alignment),
            "projection": projections.spec(model.projection),
            "trained_on": self.provenance.get("data", {}).get("name"),
            **({} if self.original is None else {"decided_by": self.original.name}),
            **({} if digest is None else {"weights": digest[:12]}),  # which model of that make
            **scored,
        }

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> "Trained":
        """The classifier of a finished run."""
        target = choose_device(device)
        folder = RunFolder.open(path)

        def refusal(reason: str) -> RunError:
            return RunError(f"the files of the run {path} do not fit together ({reason}). {ADVICE}")

        with misfits_named(refusal):
            return cls._from(folder, target)

    @classmethod
    def _from(cls, folder: RunFolder, device: torch.device) -> "Trained":
        settings = read_settings(folder)
        classes = _read_classes(folder)
        pretrained = None
        if isinstance(settings.model.encoder, Pretrained):
            pretrained = folder.read_record(runs.PRETRAINED, PretrainedSource, advice=ADVICE)
        tensors, _ = folder.read_tensors(runs.MODEL)
        vocabulary, size = tensors["embedding.weight"].shape
        of_that_size = settings.with_(embedding_size=int(size)).model
        model = build_model(of_that_size, vocabulary, len(classes), seed=0, pretrained=pretrained)
        model.load_state_dict(tensors)
        documents, _ = folder.read_tensors(runs.TRAINING_DOCUMENTS)
        original = _read_original(folder, classes, device)
        kind = Metrics if original is None else HealedMetrics
        return cls(
            settings=settings,
            classes=classes,
            tokenizer=Tokenizer.from_json(
                folder.read_bytes(runs.TOKENIZER).decode(),
                settings.text,
                pretrained.pieces() if pretrained else None,
            ),
            model=model.to(device).eval(),
            history=folder.read_checked_lines(runs.HISTORY, EpochLine, advice=ADVICE),
            metrics=folder.read_checked(runs.METRICS, kind, advice=ADVICE),
            provenance=folder.read_checked(runs.PROVENANCE, Provenance, advice=ADVICE),
            training_documents=documents["fingerprints"].numpy(),
            dev_documents=documents[DEV].numpy() if DEV in documents else _no_documents(),
            label_counts=documents["label_counts"].numpy(),
            pretrained=pretrained,
            original=original,
        )

    def save(self, path: str | Path) -> None:
        """Write a run folder; `load` reads it back."""
        about = self.provenance.get("data", {})
        with storage.held(path):
            folder = RunFolder.new(path)
            folder.begin(configuration(self.settings, self.classes, about))
            self.write(folder)

    def write(self, folder: RunFolder) -> None:
        """Write everything but the configuration, which stands there since training began."""
        folder.write_bytes(runs.TOKENIZER, self.tokenizer.to_json().encode())
        if self.pretrained is not None:
            folder.write_bytes(runs.PRETRAINED, self.pretrained.to_json().encode())
        if self.original is not None:
            self.original.save(folder.original)
            storage.flush_files(folder.original)
        folder.write_tensors(runs.MODEL, self.model.state_dict())
        folder.write_tensors(
            runs.TRAINING_DOCUMENTS,
            {
                "fingerprints": torch.from_numpy(self.training_documents),
                DEV: torch.from_numpy(self.dev_documents),
                "label_counts": torch.from_numpy(self.label_counts),
            },
        )
        folder.write_lines(runs.HISTORY, self.history)
        folder.write_json(runs.METRICS, self.metrics)
        folder.finish(self.provenance)


def _read_classes(folder: RunFolder) -> tuple[Label, ...]:
    classes = folder.read_config()["classes"]
    if not isinstance(classes, list) or len(classes) < 2:
        raise ValueError(f"{runs.CONFIG} names fewer than two classes")
    return tuple(check(label, Label, "a class") for label in classes)


def read_settings(folder: RunFolder) -> Settings:
    """The settings that a run was started with."""
    config = _with_former_defaults(folder.read_config())
    try:
        return Settings.from_plain({stage: config.get(stage, {}) for stage in STAGES})
    except (ConfigError, UnknownName) as error:
        raise RunError(f"{folder.path / runs.CONFIG} cannot be used: {error}") from None


def _with_former_defaults(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a run from before an option, with what was done then."""
    training = config.get("training")
    recipe = training.get("recipe") if isinstance(training, dict) else None
    if isinstance(recipe, dict) and recipe.get("name") == "vat":
        before = {"learner_holds": "weights", **recipe}  # vat had no other way
        return {**config, "training": {**config["training"], "recipe": before}}
    return config


def _read_original(
    folder: RunFolder, classes: Sequence[Label], device: torch.device
) -> SequenceClassifier | None:
    """The model that was healed, if this is such a run."""
    about = folder.read_config()["data"].get(runs.ORIGINAL)
    if about is None:
        return None
    names = tuple(map(str, classes))
    return SequenceClassifier.kept_in(folder.original, about["name"], names).to(device)


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
            f"device {name!r} is not available: PyTorch finds {counted(there, 'CUDA device')}."
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
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),  # not where it is installed
    }


def configuration(
    settings: Settings, classes: Sequence[Label], data: dict[str, Any]
) -> dict[str, Any]:
    """What config.json holds."""
    heedful = environment()["versions"]["heedful"]
    return {"heedful": heedful, "classes": list(classes), "data": data, **settings.plain()}
