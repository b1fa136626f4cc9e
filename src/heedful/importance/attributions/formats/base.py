"""What a format of attributions is: a row of a file, or the fields of an object -> scored texts."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from heedful.errors import DataError, counted
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


def named_class(value: Any) -> str | None:
    """The class that is explained, where it goes by its name; a table may have made 1 of it 1.0."""
    if value is None:
        return None
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def numbered_class(value: Any) -> str | int | None:
    """The same where a number is the place of a class, as it is for Captum and ferret."""
    return int(value) if isinstance(value, int | np.integer) else named_class(value)


def one_each(values: Sequence[Any], texts: int, what: str, where: str) -> Sequence[Any]:
    """Values that there should be one of for every text."""
    if len(values) != texts:
        raise DataError(
            f"{where}: {counted(texts, 'text')}, and {counted(len(values), what)}. Expected one "
            "for every text."
        )
    return values


def words_of(one: ScoredText) -> list[str]:
    """The words or tokens that are scored."""
    return [one.text[start:end] for start, end in one.offsets.tolist()]


def json_line(row: Row) -> str:
    """A JSON object in one line."""
    return json.dumps(row, ensure_ascii=False)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A file of lines."""
    whole = "".join(f"{line}\n" for line in lines)
    write_atomically(path, whole.encode("utf-8", "backslashreplace"))


def write_json(path: Path, whole: object) -> None:
    """One JSON file."""
    written = json.dumps(whole, ensure_ascii=False, indent=1)
    write_atomically(path, written.encode("utf-8", "backslashreplace"))
