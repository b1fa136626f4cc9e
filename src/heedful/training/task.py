"""What is to be learnt: numbered classes, and documents to train, choose an epoch and test on."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful.errors import DataError
from heedful.text.datasets import corpora, load, names_in
from heedful.text.documents import Corpus, fingerprints
from heedful.text.readers import check_labels, read_corpus

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


def find_corpus(
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    data_dir: Path | None = None,
    dev_share: float = 0.1,
    test_share: float = 0.1,
    seed: int = 0,
    needs_labels: bool = True,
) -> Corpus:
    """A file, a folder or a corpus name as a corpus; what exists on disk goes first."""
    if Path(data).exists():
        return read_corpus(
            data, text, label, dev_share, test_share, seed=seed, needs_labels=needs_labels
        )
    if text is not None or label is not None:
        raise DataError(f"text and label are columns of a file, and {data} is not a file.")
    is_name = data.partition(":")[0] in corpora or data in names_in(data_dir)
    if not is_name and (Path(data).suffix or "/" in data):
        raise DataError(f"no such file or folder: {data}.")
    return load(data, data_dir)


def _by_number_then_name(label: str) -> tuple[float, str]:
    try:
        return (float(label), label)
    except ValueError:
        return (math.inf, label)
