"""What a job's work and arguments are, in a few words that stay the same from call to call.

    digest(value) = SHA-256 of its kind, its own bytes and the digests of its parts

Equal settings, texts and arrays get equal digests in every process. What has no stable content (an
open file, a model) is refused with a sentence.
"""

import dataclasses
import enum
import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePath
from types import FunctionType
from typing import Any

import numpy as np

from heedful.errors import ConfigError
from heedful.jobs.job import Job


@dataclass(frozen=True)
class Fingerprint:
    """The name of the function, and a digest of every argument."""

    work: str
    arguments: dict[str, str]


def fingerprint(job: Job, known: dict[int, str]) -> Fingerprint:
    """What tells a job's work from other work; its name, order and memory do not count.

    `known` spares hashing a corpus again for every job that reads it: digests by the identity of
    arguments, to be used only while these live.
    """
    prints = {}
    for name, value in job.arguments.items():
        if id(value) not in known:
            try:
                known[id(value)] = digest(value).hex()[:16]
            except ConfigError as error:
                raise ConfigError(f"job {job.name!r}, argument {name!r}: {error}") from None
        prints[name] = known[id(value)]
    try:
        return Fingerprint(importable_name(job.work), prints)
    except ConfigError as error:
        raise ConfigError(f"job {job.name!r}: {error}") from None


def digest(value: Any) -> bytes:
    """32 bytes that depend on the content of `value` alone."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex):
        return _hashed(type(value).__name__, repr(value).encode())
    if isinstance(value, str):
        return _hashed("str", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return _hashed("bytes", value)
    if isinstance(value, PurePath):
        return _hashed("path", str(value).encode("utf-8", "surrogatepass"))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return _hashed(f"array {value.dtype.str} {value.shape}", value.tobytes())
    if isinstance(value, np.ndarray):
        return _of_parts(f"array {value.shape}", map(digest, value.ravel().tolist()))
    if isinstance(value, enum.Enum):
        return _hashed(f"member of {importable_name(type(value))}", value.name.encode())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _of_parts(importable_name(type(value)), [digest(fields)])
    if isinstance(value, Mapping):
        return _of_parts("mapping", sorted(digest(k) + digest(v) for k, v in value.items()))
    if isinstance(value, Set):
        return _of_parts("set", sorted(map(digest, value)))
    if isinstance(value, Sequence):
        return _of_parts("sequence", map(digest, value))
    return _hashed("function or class", importable_name(value).encode())


def importable_name(thing: Any) -> str:
    """'heedful.jobs.training.train_run'; what another process cannot import is refused."""
    if not isinstance(thing, FunctionType | type):
        raise ConfigError(
            f"a {type(thing).__name__} cannot be given to a job. Give plain data, paths, NumPy "
            "arrays, functions, or dataclasses of these."
        )
    found: Any = sys.modules.get(thing.__module__)
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not thing or thing.__module__ == "__main__":
        raise ConfigError(
            f"{thing.__module__}.{thing.__qualname__} cannot be imported by another process. "
            "Define it at the top level of a module, not in a function or in the script itself."
        )
    return f"{thing.__module__}.{thing.__qualname__}"


def _of_parts(kind: str, parts: Iterable[bytes]) -> bytes:
    return _hashed(kind, b"".join(parts))


def _hashed(kind: str, content: bytes) -> bytes:
    hashed = hashlib.sha256(kind.encode() + b"\0")
    hashed.update(content)
    return hashed.digest()
