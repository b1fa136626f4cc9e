"""A server to measure: a run, a large audit of it, and `heedful serve` in a process of its own."""

import http.client
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import heedful
from heedful.auditing.questions import AuditSettings
from heedful.counterfactual.adversarial import Adversarial

RUN, AUDIT = "bilstm", "audit"
COMMAND = [sys.executable, "-c", "from heedful.cli import main; main()", "serve"]
QUICK = AuditSettings(search=Adversarial(steps=50), sampled_documents=50)
Form = dict[str, Any]


def make(folder: Path, rows: int, run: Path | None = None) -> list[Path]:
    """A run and an audit to serve: the given run, or a BiLSTM of the default size after an epoch.

    The audit has so many rows: those of some fifty documents, again and again.
    """
    corpus = heedful.load("reviews-short")
    if run is None:
        run = folder / RUN
        train = corpus.train.take(range(0, len(corpus.train), 3))  # they stand by label
        classifier = heedful.Classifier(recipe="standard:epochs=1")
        classifier.fit(train.texts, train.labels)
        classifier.save(run)
    classifier = heedful.Classifier.load(run)
    small = heedful.audit(
        classifier, corpus.test.take(range(0, len(corpus.test), 16)), QUICK, name=run.name
    )
    places = np.arange(rows) % small.documents
    large = replace(
        small,
        texts=tuple(small.texts[place] for place in places),
        labels=tuple(small.labels[place] for place in places),
        predictions=tuple(small.predictions[place] for place in places),
        columns={name: numbers[places] for name, numbers in small.columns.items()},
    )
    large.save(folder / AUDIT)
    return [run, folder / AUDIT]


@dataclass(frozen=True)
class Server:
    """A server that runs, and where."""

    process: int
    host: str
    port: int
    run: str
    seconds_to_start: float

    def connection(self) -> http.client.HTTPConnection:
        """A connection that is kept."""
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def status_line(self, key: str) -> int:
        """A number from what the system says of the process: VmRSS in KiB, Threads, …"""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


@contextmanager
def serving(folders: list[Path], cores: Collection[int]) -> Iterator[Server]:
    """`heedful serve` on the given cores."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--no-browser", "--device", "cpu", *map(str, folders)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        assert address.hostname is not None
        assert address.port is not None
        took = time.perf_counter() - began
        yield Server(process.pid, address.hostname, address.port, folders[0].name, took)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


class Texts:
    """New texts without end: words of real reviews, in no order."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = _words()

    def of(self, count: int) -> str:
        """A text of so many words."""
        return " ".join(self.rng.choices(self.words, k=count))

    def shares(self, count: int) -> list[float]:
        """Shares of attention as somebody could drag them."""
        return [self.rng.random() for _ in range(count)]


@cache
def _words() -> list[str]:
    said = " ".join(heedful.load("reviews-short").test.texts).split()
    return [word for word in said if word.isascii() and word.isalpha()]
