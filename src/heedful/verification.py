"""Runs and audits -> what was changed since they were written."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful import runs, seals
from heedful.errors import RunError
from heedful.runs import RunFolder
from heedful.storage import is_leftover

KINDS = {runs.PROVENANCE: "run", runs.AUDIT: "audit", runs.READINGS: "audits of readings"}


@dataclass(frozen=True)
class Verified:
    """What became of a run or an audit."""

    path: Path
    kind: str
    files: int  # that are sealed, the one with the seal included
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unsealed: tuple[str, ...] = ()  # files that no seal says anything about
    problem: str = ""  # why nothing can be said

    @property
    def is_unchanged(self) -> bool:
        """Whether every file is as it was written."""
        return not (self.changed or self.missing or self.problem)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "path": str(self.path), "is_unchanged": self.is_unchanged}


def verify(path: str | Path) -> list[Verified]:
    """Every run and audit in a folder, and in those below it."""
    folder = Path(path)
    if not folder.is_dir():
        raise RunError(
            f"no folder at {path}. Expected a run, an audit, or a folder that contains them."
        )
    found = [
        verify_one(place, name)
        for place in (folder, *sorted(one for one in folder.rglob("*") if one.is_dir()))
        for name in KINDS
        if (place / name).is_file()
    ]
    if not found:
        raise RunError(
            f"{path} contains no finished run and no audit. Create one with `heedful train` or "
            "`heedful audit`."
        )
    return found


def verify_one(folder: Path, name: str) -> Verified:
    """One run or audit, by its file with the seal."""
    kind = KINDS[name]
    try:
        record = RunFolder(folder).read_json(name)
    except RunError as error:
        return Verified(folder, kind, 0, problem=str(error))
    if not isinstance(record.get(seals.FILES), dict):
        return Verified(
            folder, kind, 0, problem=f"{kind} without a seal: an earlier version wrote it, or the "
            "seal was removed. Changes cannot be detected.",
        )  # fmt: skip
    found = list(seals.changes(folder, record))
    is_own_changed = seals.OWN in record and not seals.is_whole(record)
    return Verified(
        folder,
        kind,
        len(record[seals.FILES]) + 1,
        ((name,) if is_own_changed else ()) + tuple(c.name for c in found if c.what == "changed"),
        tuple(c.name for c in found if c.what == "missing"),
        tuple(_unsealed(folder, {name, *record[seals.FILES], *KINDS})),
    )


def _unsealed(folder: Path, known: set[str]) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name not in known and not is_leftover(path):
            yield path.name
