"""What a format of attributions is: a row of a file, or the fields of an object -> scored texts."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from heedful.errors import DataError
from heedful.importance.attributions.base import ScoredText
from heedful.registry import Registry
from heedful.storage import write_atomically

Row = Mapping[str, Any]


class AttributionFormat(ABC):
    """One form in which people have scores."""

    endings: ClassVar[tuple[str, ...]]  # of its files

    @abstractmethod
    def fits(self, row: Row) -> bool:
        """Whether a row has the fields of this format."""

    @abstractmethod
    def read(self, row: Row, where: str, folder: Path) -> Iterator[ScoredText]:
        """The texts and scores of a row; `folder` is that of its file."""

    @abstractmethod
    def write(self, texts: Sequence[ScoredText], path: Path) -> None:
        """Write a file."""


formats: Registry[AttributionFormat] = Registry("attribution format")


def given(row: Row, *names: str) -> bool:
    """Whether a row has all of these fields, with something in them."""
    return all(row.get(name) is not None for name in names)


def listed(value: Any, where: str) -> list[Any]:
    """A list, an array, or a list written as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise DataError(f"{where}: expected a list, got {value!r:.60}.")
    return list(value)


def words_of(one: ScoredText) -> list[str]:
    """The words or tokens that are scored."""
    return [one.text[start:end] for start, end in one.offsets.tolist()]


def write_lines(path: Path, rows: Sequence[Row]) -> None:
    """A JSON object in each line."""
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    write_atomically(path, lines.encode("utf-8", "backslashreplace"))


def write_json(path: Path, whole: object) -> None:
    """One JSON file."""
    written = json.dumps(whole, ensure_ascii=False, indent=1)
    write_atomically(path, written.encode("utf-8", "backslashreplace"))
