"""Seals: the checksums that say whether a folder is as it was written.

In every run and every audit one JSON file is written last, and holds beside its own content

    sha256    the SHA-256 of each of the other files, by name
    seal      the SHA-256 of its own content, these checksums included

So whatever is changed afterwards is noticed. A seal is no signature: a person who changes a file on
purpose can seal the folder again.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from heedful.storage import json_bytes

FILES = "sha256"
OWN = "seal"


@dataclass(frozen=True)
class Change:
    """A file that is not as it was written."""

    name: str
    what: Literal["changed", "missing"]


def sealed(folder: Path, record: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """A record with the checksums of files in a folder, and its own."""
    content = {name: value for name, value in record.items() if name not in (FILES, OWN)}
    checksums = {name: file_digest(folder / name) for name in names}
    return _with_own({**content, FILES: checksums})


def entered(folder: Path, record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A sealed record with the checksum of one more file, or of one that was written again."""
    content = {key: value for key, value in record.items() if key != OWN}
    return _with_own({**content, FILES: {**record[FILES], name: file_digest(folder / name)}})


def is_sealed(record: Mapping[str, Any]) -> bool:
    """Whether a record carries a seal, broken or not."""
    return isinstance(record.get(OWN), str) and isinstance(record.get(FILES), dict)


def is_whole(record: Mapping[str, Any]) -> bool:
    """Whether a sealed record is as it was written."""
    return is_sealed(record) and record[OWN] == _own_digest(record)


def changes(
    folder: Path, record: Mapping[str, Any], names: Iterable[str] | None = None
) -> Iterator[Change]:
    """Which files are not as a sealed record says; of all that it names, or of some."""
    checksums = record[FILES]
    for name in checksums if names is None else names:
        if not (folder / name).is_file():
            yield Change(name, "missing")
        elif file_digest(folder / name) != checksums.get(name):
            yield Change(name, "changed")


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_own(content: Mapping[str, Any]) -> dict[str, Any]:
    return {**content, OWN: _own_digest(content)}


def _own_digest(record: Mapping[str, Any]) -> str:
    """Of the content as it is read back, so that it does not matter how it is laid out."""
    content = {name: value for name, value in record.items() if name != OWN}
    return hashlib.sha256(json_bytes(json.loads(json_bytes(content)))).hexdigest()
