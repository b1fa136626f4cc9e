"""What an audit has measured so far: in memory, or in a folder, to resume from.

A part is what all questions found in one group of documents. In a folder each part is one file,
written beside its place and moved there, so a kill loses at most the group in flight. Each carries
the digest of the request that it answers.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful import runs, storage
from heedful.auditing.questions.base import Measured
from heedful.errors import RunError
from heedful.runs import RunFolder

Part = dict[str, Measured]
"""By question."""

DIGEST = "request"  # in the header of a part


class Parts(ABC):
    """Where parts are kept."""

    @abstractmethod
    def get(self, group: int) -> Part | None:
        """The part of a group, if it was measured."""

    @abstractmethod
    def put(self, group: int, part: Part) -> None:
        """Keep the part of a group."""


class PartsInMemory(Parts):
    """Gone with the process."""

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}

    def get(self, group: int) -> Part | None:
        """The part of a group, if it was measured."""
        return self._parts.get(group)

    def put(self, group: int, part: Part) -> None:
        """Keep the part of a group."""
        self._parts[group] = part


class PartsInFolder(Parts):
    """One file per group, and a note of what is asked, which stays: no other audit may resume here.

    A part that answers another request is measured again, however it came there.
    """

    def __init__(self, path: Path, request: Mapping[str, Any]) -> None:
        self._folder = RunFolder(path / runs.PARTS)
        self._audit = RunFolder(path)
        self._request = dict(request)
        self._digest = hashlib.sha256(
            json.dumps(self._request, sort_keys=True).encode()
        ).hexdigest()
        self._making = Lock()
        if not (path / runs.REQUEST).is_file():
            return  # written with the first part
        before = self._audit.read_json(runs.REQUEST)
        for name, value in request.items():
            if before.get(name) != value:
                raise RunError(
                    f"{path} holds an audit started with {name} = {before.get(name)}, not {value}. "
                    "Resume with the same request, or choose another folder."
                )

    def get(self, group: int) -> Part | None:
        """The part of a group, if it was measured."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self._folder.path / _file(group), framework="numpy") as part:
                if (part.metadata() or {}).get(DIGEST) != self._digest:
                    return None
                return _unflattened({name: part.get_tensor(name) for name in part.keys()})  # noqa: SIM118
        except (FileNotFoundError, SafetensorError, ValueError, KeyError):
            return None  # not there, or damaged: it is measured again

    def put(self, group: int, part: Part) -> None:
        """Write the part of a group."""
        from safetensors.numpy import save

        with self._making:
            storage.make_folder(self._folder.path)  # unless another process did
            if not (self._audit.path / runs.REQUEST).is_file():
                self._audit.write_json(runs.REQUEST, self._request)
        self._folder.write_bytes(_file(group), save(_flattened(part), {DIGEST: self._digest}))

    def clear(self) -> None:
        """Remove the parts: the audit is saved."""
        storage.remove(self._folder.path)


def _file(group: int) -> str:
    return f"{group:06}.safetensors"


def _flattened(part: Part) -> dict[str, ndarray]:
    flat = {}
    for question, measured in part.items():
        for kind in ("columns", "curves", "words"):
            for name, values in getattr(measured, kind).items():
                flat[f"{question}/{kind}/{name}"] = np.ascontiguousarray(values)
        flat[f"{question}/document/"] = np.ascontiguousarray(measured.document)
    return flat


def _unflattened(flat: Mapping[str, ndarray]) -> Part:
    found: dict[str, dict[str, dict[str, ndarray]]] = {}
    for key, values in flat.items():
        question, kind, name = key.split("/", 2)
        found.setdefault(question, {}).setdefault(kind, {})[name] = values
    return {
        question: Measured(
            kinds.get("columns", {}),
            kinds.get("curves", {}),
            kinds.get("words", {}),
            kinds["document"][""],
        )
        for question, kinds in found.items()
    }


def joined(
    parts: Iterable[Part], groups: list[Int[ndarray, " _"]], question: str, documents: int
) -> Measured:
    """What a question found in all groups, in the order of the documents.

    Names come in alphabetical order, since parts in memory and in a folder have orders of their
    own, and the same audit is the same file wherever they were kept.
    """
    found = [part[question] for part in parts]
    columns: dict[str, ndarray] = {}
    curves: dict[str, ndarray] = {}
    for measured, group in zip(found, groups, strict=True):
        for kind, whole in ((measured.columns, columns), (measured.curves, curves)):
            for name, values in sorted(kind.items()):
                shape = (documents, *values.shape[1:])
                whole.setdefault(name, np.full(shape, np.nan))[group] = values
    words = {
        name: np.concatenate([measured.words[name] for measured in found])
        for name in sorted(found[0].words if found else ())
    }
    places = [group[measured.document] for measured, group in zip(found, groups, strict=True)]
    return Measured(columns, curves, words, np.concatenate([np.empty(0, np.int64), *places]))
