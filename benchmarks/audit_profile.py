"""Where the time of an audit goes: CPU seconds of each question, of concluding and of the report.

    OMP_NUM_THREADS=1 python benchmarks/audit_profile.py RUN DATA [--documents 300]

The model measures in one thread, so that seconds add up. What is measured once for several
questions (leave-one-out above all) counts for the first that asks.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch

from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.cli.audit_input import documents_to_audit
from heedful.importance.deletion import logits_without_each
from heedful.training.trained import Trained

Seconds = Counter[str]


@contextmanager
def timed(seconds: Seconds, name: str) -> Iterator[None]:
    """Add the CPU seconds of what is done inside."""
    started = time.process_time()
    try:
        yield
    finally:
        seconds[name] += time.process_time() - started


def watched(function: Callable[..., Any], seconds: Seconds, name: str) -> Callable[..., Any]:
    """The function, its time counted."""

    def call(*arguments: Any, **options: Any) -> Any:
        with timed(seconds, name):
            return function(*arguments, **options)

    return call


def profile(run: str, data: str, documents: int | None) -> tuple[Seconds, int]:
    """CPU seconds by part, and the number of documents."""
    seconds: Seconds = Counter()
    for question in questions.values():
        kind = type(question) if not isinstance(question, type) else question
        for step in ("measure", "conclude"):
            setattr(kind, step, watched(getattr(kind, step), seconds, f"{kind.name}, {step}"))
    with timed(seconds, "reading the model and the documents"):
        trained = Trained.load(Path(run), "cpu")
        found, words = documents_to_audit(data, None, None, None)
        subject = ClassifierSubject(trained)
        plan = AuditPlan(AuditSettings(rationale_words=words), None, documents)
        prepared = prepare_audit(subject, trained.with_own_labels(found), plan)
    with timed(seconds, "all of measuring and concluding"):
        result = prepared.run()
    with timed(seconds, "the report"), TemporaryDirectory() as folder:
        result.to_html(Path(folder) / "report.html")
    with timed(seconds, "leave-one-out alone"), torch.no_grad():
        for start in range(0, len(result.texts), 64):
            batch = trained.batches(result.texts[start : start + 64]).whole()
            logits_without_each(subject.model, batch)
    return seconds, len(result.texts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("data")
    parser.add_argument("--documents", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine.describe())
    seconds, documents = profile(options.run, options.data, options.documents)
    alone = seconds["leave-one-out alone"]
    print(f"{documents:,} documents, CPU seconds\n")
    print("| part | seconds | × leave-one-out |\n|---|---|---|")
    for name, spent in seconds.most_common():
        print(f"| {name} | {spent:.2f} | {spent / alone:.1f} |")


if __name__ == "__main__":
    main()
