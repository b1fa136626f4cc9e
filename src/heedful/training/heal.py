"""A finished Hugging Face classifier and texts -> a run whose decisions are the model's own.

    texts ── model ──> its decisions ──> labels of a training by the recipe `faithful`
                                         body of the model, frozen ──> attention, output: learnt

The model stays as it is and decides; what is learnt is an attention head on its body that decides
as it does. Labels that texts may have are never learnt from: they only score both at the end.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heedful import runs
from heedful.errors import DataError, RunError, counted
from heedful.model.encoders import Pretrained
from heedful.model.pretrained import PretrainedSource
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.runs import RunFolder
from heedful.text.documents import Corpus, Documents
from heedful.text.labels import match_labels_or_none
from heedful.training.evaluate import score
from heedful.training.fit import Watcher
from heedful.training.settings import Settings
from heedful.training.task import Labelled, Task
from heedful.training.train import train
from heedful.training.trained import Trained

PARTS = ("train", "dev", "test")
EPOCHS = 6
KEPT = "decisions kept on dev"  # what the accuracy of an epoch is here, to be shown
Tell = Callable[[int], None]


def heal_settings(name: str, tune: bool = False, epochs: int = EPOCHS) -> Settings:
    """The recipe `faithful` on the body of a model, which learns nothing unless it is tuned.

    The body has written its decision into the states of all words, so votes are made of its
    layers, and Away keeps it from reaching the output past the weights. All epochs are trained: the
    one that keeps most decisions may come before attention has learnt.
    """
    recipe = f"faithful:first_epochs=0:epochs={epochs}"
    if tune:
        recipe = f"{recipe}:away_weight=1"
    encoder = Pretrained(source=name, frozen=not tune)
    return Settings().with_(encoder=encoder, recipe=recipe, patience=epochs)


@dataclass(frozen=True)
class Patient:
    """A model that is to be healed: as it decides, and as a source of states."""

    classifier: SequenceClassifier
    source: PretrainedSource

    @classmethod
    def load(cls, name: str, device: torch.device) -> "Patient":
        """The classifier in a local folder, or of that name on the hub."""
        return cls(SequenceClassifier.load(name).to(device), PretrainedSource.load(name))

    @classmethod
    def of(cls, classifier: SequenceClassifier, device: torch.device) -> "Patient":
        """One that is in memory."""
        with tempfile.TemporaryDirectory() as folder:
            classifier.save(Path(folder))
            source = replace(PretrainedSource.load(folder), name=classifier.name)
        return cls(classifier.to(device), source)

    @property
    def identity(self) -> dict[str, str]:
        """Which model it is, for the record."""
        return {"name": self.classifier.name, "weights": self.classifier.digest}


@dataclass(frozen=True)
class Healing:
    """What is to be learnt from which decisions: all of it checked, nothing trained."""

    patient: Patient
    task: Task
    settings: Settings
    gold: dict[str, Labelled]  # by part, the documents that have a label
    notes: tuple[str, ...]  # what a person should know of the texts, in sentences

    @classmethod
    def prepare(
        cls,
        patient: Patient,
        corpus: Corpus,
        settings: Settings,
        data: dict[str, Any],
        tell: Tell = lambda count: None,
    ) -> "Healing":
        """Let the model decide on all texts; `tell` is called with the number read."""
        texts = Documents([*corpus.train, *corpus.dev, *corpus.test])
        _check_texts(corpus)
        classes, matched, note = match_labels_or_none(patient.classifier.classes, texts)
        original = replace(patient.classifier, classes=classes)
        ends = np.cumsum([len(getattr(corpus, part)) for part in PARTS])
        decided = original.probabilities(texts.texts, tell).argmax(axis=1)
        learnt, gold = {}, {}
        for part, start, end in zip(PARTS, (0, *ends[:-1]), ends, strict=True):
            learnt[part] = Labelled(texts[int(start) : int(end)].texts, decided[start:end])
            gold[part] = _labelled(matched[int(start) : int(end)], classes)
        _check_decisions(original, learnt["train"])
        patient = replace(patient, classifier=original)
        about = {"name": corpus.name, **data, runs.ORIGINAL: patient.identity}
        task = Task(classes, learnt["train"], learnt["dev"], learnt["test"], about)
        unmet = _never_decided(original, learnt["train"])
        return cls(patient, task, settings, gold, tuple(filter(None, (note, unmet))))

    def run(
        self,
        folder: RunFolder | None = None,
        device: str = "cpu",
        watcher: Watcher | None = None,
    ) -> Trained:
        """Train the attention head; with a folder, save as it goes and resume what is there."""
        if folder is not None and folder.is_begun:
            self.check_same_model(folder)
        return train(
            self.task,
            self.settings,
            folder=folder,
            device=device,
            watcher=watcher,
            pretrained=self.patient.source,
            complete=self.completed,
        )

    def check_same_model(self, folder: RunFolder) -> None:
        """Refuse to resume what was begun with another model."""
        begun = folder.read_config().get("data", {}).get(runs.ORIGINAL, {})
        if begun != self.patient.identity:
            raise RunError(
                f"{folder.path} was started with another model ({begun.get('name', 'none')}, or "
                "other weights of it). Resume with the same model, or choose another folder."
            )

    def completed(self, trained: Trained) -> Trained:
        """The run with the model that decides, and with scores that say which decisions are kept.

        What was trained was scored by the model's decisions, so its accuracy is the share of them
        that it keeps.
        """
        healed = replace(trained, original=self.patient.classifier)
        metrics = {
            part: {
                "documents": scores["documents"],
                "decisions_kept": scores["accuracy"],
                "decisions_kept_interval": scores["accuracy_interval"],
                **self._accuracies(healed, part),
            }
            for part, scores in trained.metrics.items()
        }
        return replace(healed, metrics=metrics)

    def _accuracies(self, healed: Trained, part: str) -> dict[str, Any]:
        """How often model and attention head are right, on the documents that have labels."""
        gold = self.gold[part]
        if not len(gold):
            return {}
        decisions = healed.decisions(gold.texts)
        decided = score(decisions.probabilities, gold.labels)
        by_attention = score(decisions.by_attention, gold.labels)
        return {
            "labelled_documents": len(gold),
            "accuracy": decided.accuracy,
            "accuracy_interval": decided.accuracy_interval,
            "attention_accuracy": by_attention.accuracy,
            "attention_accuracy_interval": by_attention.accuracy_interval,
        }


def _check_texts(corpus: Corpus) -> None:
    if not len(corpus.train):
        raise DataError(f"{corpus.name}: no texts to learn from.")
    if all(len(text.split()) < 2 for text in corpus.train.texts):
        raise DataError(
            f"{corpus.name}: every text has only one word, so there is nothing to attend to. "
            "Give texts of several words, like those that the model classifies."
        )


def _check_decisions(model: SequenceClassifier, learnt: Labelled) -> None:
    if len(chosen := np.unique(learnt.labels)) < 2:
        raise DataError(
            f"{model.name} predicts the same class for each of the {counted(len(learnt), 'text')} "
            f"({model.classes[int(chosen[0])]}). Attention learns from the difference between "
            "decisions: give texts of at least two classes."
        )


def _never_decided(model: SequenceClassifier, learnt: Labelled) -> str:
    """A sentence about classes that the model gives no text, of which nothing can be learnt."""
    met = set(learnt.labels.tolist())
    unmet = [name for number, name in enumerate(model.classes) if number not in met]
    if not unmet:
        return ""
    return (
        f"{model.name} never predicts {', '.join(unmet)} on these texts, so attention cannot learn "
        "these decisions; texts with them will be shown without a heat map"
    )


def _labelled(documents: Documents, classes: Sequence[str]) -> Labelled:
    """The documents that have a label, by the number of its class."""
    known = [document for document in documents if document.label is not None]
    numbers = [classes.index(str(document.label)) for document in known]
    return Labelled([document.text for document in known], np.array(numbers, dtype=np.int64))
