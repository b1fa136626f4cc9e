"""Jobs that audit exact models: each in a folder of its own.

A job also writes down what is true of its model (`truth.json`): doses, which are shares, counted on
the very documents that were audited.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from heedful import storage
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.auditing.subjects.base import Subject
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.subjects.huggingface.loading import load_transformer
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.calibration.built import BuiltAdapter
from heedful.calibration.exact import Exact, read_exact
from heedful.calibration.pictures import evidence_of, pictured
from heedful.calibration.planted_transformers import Base, train_transformer
from heedful.jobs.job import Job, Tell
from heedful.readouts import readouts
from heedful.runs import RunFolder, folder_name
from heedful.sweeps.steps import AuditStep
from heedful.text.documents import Corpus
from heedful.training.task import find_corpus
from heedful.training.trained import Trained, WordWeights

TRUTH = "truth.json"


def exact_job(
    exact: Exact,
    name: str,
    data: str,
    audit: AuditStep,
    behind: str | None,
    after: tuple[str, ...],
    device: str = "cpu",
) -> Job:
    """The job that audits an exact model on a corpus; `behind` is the folder of a trained one."""
    arguments = {"exact": asdict(exact), "data": data, "audit": audit}
    return Job(name, audit_exact, arguments, after, beside={"behind": behind, "device": device})


def transformer_job(data: str, base: Base, seed: int, device: str, *, needs_all: bool) -> Job:
    """The job that trains a Transformer on a corpus."""
    name = folder_name(f"{base}-{data}-seed{seed}".replace(":", "-").replace("=", "-"))
    arguments = {"data": data, "base": base, "seed": seed, "needs_all": needs_all}
    return Job(name, train_behind, arguments, beside={"device": device})


def train_behind(
    folder: Path, tell: Tell, *, data: str, base: Base, seed: int, needs_all: bool, device: str
) -> None:
    """Train it in its folder."""
    tell(0.0, f"training a Transformer ({base})")
    train_transformer(folder, find_corpus(data), base, seed, device, needs_all=needs_all)
    storage.flush_files(folder)


def audit_exact(
    folder: Path,
    tell: Tell,
    *,
    exact: Mapping[str, Any],
    data: str,
    audit: AuditStep,
    behind: str | None,
    device: str = "cpu",
) -> None:
    """Audit an exact model on the test part of a corpus, and write down what is true of it."""
    kind, corpus = read_exact(exact), find_corpus(data)
    evidence = evidence_of(corpus.test)
    subject = pictured(_behind(kind, corpus, behind, device), kind.picture, evidence)
    plan = AuditPlan(audit.settings, audit.ask or None, audit.documents, include_trained=True)
    result = prepare_audit(subject, corpus.test, plan, about={"name": kind.name}).run()
    result.save(folder)
    RunFolder(folder).write_json(TRUTH, true_doses(kind, result))


def true_doses(kind: Exact, result: Audit) -> dict[str, float]:
    """The doses of a model on the documents that it was audited on."""
    doses = dict(kind.doses)
    if not kind.picture.is_own:
        is_false = kind.picture.is_false(result.texts, result.predictions)
        doses["false-documents"] = float(is_false.mean())
        doses["written-choice"] = (
            doses["false-documents"] if kind.picture.wrong == "function-word" else 0.0
        )
        if kind.architecture in ("module", "classifier"):
            doses["bypass"] = doses["false-documents"]
    if kind.model.shown == "function-words":
        adapter = BuiltAdapter(kind.model, 2)
        is_written = adapter.is_written([text.split() for text in result.texts])
        doses["written-choice"] = float(np.mean(is_written))
    return doses


def _behind(kind: Exact, corpus: Corpus, folder: str | None, device: str) -> Subject:
    """The subject that decides; a Transformer on the device."""
    if kind.architecture in ("module", "function"):
        labels = sorted(set(map(str, corpus.train.labels)))
        adapter = BuiltAdapter(kind.model, len(labels))
        return ModuleSubject(adapter) if kind.architecture == "module" else as_function(adapter)
    assert folder is not None
    if kind.architecture == "classifier":
        return ClassifierSubject(Trained.load(folder, "cpu"))
    loaded = load_transformer(folder, device)
    return subject_of(loaded.model, readouts.make("last-cls"), loaded.classes)


def as_function(adapter: BuiltAdapter) -> PlainSubject:
    """A built model as a function from texts to probabilities, with its weights beside it."""
    module = ModuleSubject(adapter)

    def predict(texts: list[str]) -> np.ndarray:
        found = np.full((len(texts), len(adapter.classes)), 1 / len(adapter.classes))
        some = [row for row, text in enumerate(texts) if text.split()]
        if some:
            found[some] = module.read([texts[row] for row in some]).probabilities
        return found

    def attend(texts: list[str]) -> list[WordWeights]:
        reading = module.read(texts)
        rows = zip(texts, reading.offsets, reading.weights, strict=True)
        return [WordWeights(text, at, weights[: len(at)]) for text, at, weights in rows]

    return PlainSubject(predict, attend, adapter.classes, adapter.unknown_word)
