"""Audits, and words judged, as the work of jobs: for tables that take many models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.judge import TrainedJudge
from heedful.auditing.metrics.top import choose_top
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subject import Judge, Reading
from heedful.auditing.subjects import ClassifierSubject
from heedful.auditing.twins import Twins
from heedful.jobs.job import Job, Tell
from heedful.jobs.training import train_run
from heedful.model.classifier import Attends
from heedful.model.outputs import BottleneckOutput
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.trained import Trained


def training(
    name: str, corpus: str, settings: Settings, device: str, after: Sequence[str] = ()
) -> Job:
    """A run of a corpus as a job."""
    task = Task.from_corpus(heedful.load(corpus), {"source": corpus})
    arguments = {"task": task, "settings": settings, "device": device}
    return Job(name, train_run, arguments, tuple(after))


def audit_run(
    folder: Path,
    tell: Tell,
    *,
    run: str,
    corpus: str,
    asked: Sequence[str] | None = None,
    judge: str | None = None,
    twins: Mapping[str, str] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> None:
    """Audit a run on the test part of a corpus and save the audit in the job's folder."""
    trained = Trained.load(run)
    result = audit(
        ClassifierSubject(trained),
        heedful.load(corpus).test,
        AuditSettings(**(changes or {})),
        asked,
        judge=TrainedJudge(Trained.load(judge), trained.classes) if judge else None,
        twins=Twins({n: ClassifierSubject(Trained.load(p)) for n, p in (twins or {}).items()}),
        about={"name": Path(run).name, "data": corpus, "judge": judge or "self"},
    )
    result.save(folder / "audit")


MEASURED = "measured.npz"
RANDOM_DRAWS = 5


def at_k(folder: Path, tell: Tell, *, run: str, corpus: str, judge: str | None, k: int) -> None:
    """Per test document, what a judge says without, and from only, the top k or k random words."""
    trained = Trained.load(run)
    subject = ClassifierSubject(trained)
    by: Judge = TrainedJudge(Trained.load(judge), trained.classes) if judge else subject
    documents = heedful.load(corpus).test
    number_of = {str(label): number for number, label in enumerate(trained.classes)}
    labels = np.array([number_of[str(label)] for label in documents.labels])
    rng = np.random.default_rng(0)
    columns: dict[str, list[np.ndarray]] = {}
    for start in range(0, len(documents), 64):
        gold = labels[start : start + 64]
        reading = subject.read(documents.texts[start : start + 64])
        whole = by.judged(reading)
        found = {"right": (reading.prediction == gold).astype(float)}
        rankings = {"top": [reading.weights]}
        rankings["random"] = [rng.random(reading.weights.shape) for _ in range(RANDOM_DRAWS)]
        for kind, some in rankings.items():
            drawn = [_said(by, reading, whole, ranking, gold, k) for ranking in some]
            found |= {f"{kind}_{n}": np.mean([one[n] for one in drawn], axis=0) for n in drawn[0]}
        if isinstance(trained.model.output, BottleneckOutput):
            assert isinstance(subject.model, Attends)
            learner = subject.model.seen_with(output=trained.model.output.learner).eval()
            with torch.no_grad():
                said = learner(reading.inner[0]).logits.argmax(dim=-1).numpy()
            found["learner"] = (said == gold).astype(float)
        for name, column in found.items():
            columns.setdefault(name, []).append(column)
        tell(start / len(documents), "")
    np.savez(folder / MEASURED, **{n: np.concatenate(parts) for n, parts in columns.items()})


def _said(
    judge: Judge, reading: Reading, whole: np.ndarray, ranking: np.ndarray, gold: np.ndarray, k: int
) -> dict[str, np.ndarray]:
    """Drops without the top k words of a ranking, and agreement from only them."""
    places = np.arange(len(gold))
    top = choose_top(ranking, reading.is_token, np.full(len(gold), k))
    left = judge.predict_kept(reading, places, reading.is_token & ~top)
    kept = judge.predict_kept(reading, places, top)
    own = whole.argmax(axis=1)
    return {
        "accuracy_drop": (own == gold).astype(float) - (left.argmax(axis=1) == gold),
        "probability_drop": whole[places, own] - left[places, own],
        "kept_gold": (kept.argmax(axis=1) == gold).astype(float),
        "kept_own": (kept.argmax(axis=1) == own).astype(float),
    }
