"""Runs and audits -> what was changed since they were written, and who vouches for them."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from heedful import runs, seals, signatures
from heedful.errors import RunError
from heedful.runs import RunFolder
from heedful.storage import is_leftover

KINDS = {runs.PROVENANCE: "run", runs.AUDIT: "audit", runs.READINGS: "audits of readings"}
SIGNATURES = {name + signatures.ENDING for name in KINDS}


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
    record: str = ""  # the file with the seal, which is the one that is signed
    signed_by: str = ""  # where signers were given: who signed it
    unsigned: str = ""  # where signers were given: why nobody did

    @property
    def is_unchanged(self) -> bool:
        """Whether every file is as it was written."""
        return not (self.changed or self.missing or self.problem)

    @property
    def is_trusted(self) -> bool:
        """Whether it is unchanged and, where signers were given, signed by one of them."""
        return self.is_unchanged and not self.unsigned

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "path": str(self.path), "is_unchanged": self.is_unchanged}


def verify(path: str | Path, signers: Path | None = None) -> list[Verified]:
    """Every run and audit in a folder, and in those below it.

    With a file of allowed signers, also who signed each.
    """
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
    return found if signers is None else [_with_signer(one, signers) for one in found]


def sign(path: str | Path, key: Path) -> list[Verified]:
    """Sign every run and audit in a folder with an SSH key; refused if anything was changed."""
    found = verify(path)
    for one in found:
        if not one.is_unchanged:
            raise RunError(
                f"{one.path} is not as it was written, so it is not signed. `heedful verify` says "
                "what was changed."
            )
    for one in found:
        signatures.sign(one.path / one.record, key)
    return found


def _with_signer(found: Verified, signers: Path) -> Verified:
    try:
        return replace(found, signed_by=signatures.signer(found.path / found.record, signers))
    except RunError as error:
        return replace(found, unsigned=str(error))


def verify_one(folder: Path, name: str) -> Verified:
    """One run or audit, by its file with the seal."""
    kind = KINDS[name]
    try:
        record = RunFolder(folder).read_json(name)
    except RunError as error:
        return Verified(folder, kind, 0, problem=str(error), record=name)
    is_own_sealed = seals.is_sealed(record)
    if not isinstance(record.get(seals.FILES), dict) or (kind != "run" and not is_own_sealed):
        return Verified(
            folder, kind, 0, problem=f"{kind} without a seal: an earlier version wrote it, or the "
            "seal was removed. Changes cannot be detected.", record=name,
        )  # fmt: skip
    found = list(seals.changes(folder, record))
    is_own_changed = is_own_sealed and not seals.is_whole(record)
    known = {*record[seals.FILES], *KINDS, *SIGNATURES} - (set() if is_own_sealed else {name})
    return Verified(
        folder,
        kind,
        len(record[seals.FILES]) + is_own_sealed,
        ((name,) if is_own_changed else ()) + tuple(c.name for c in found if c.what == "changed"),
        tuple(c.name for c in found if c.what == "missing"),
        tuple(_unsealed(folder, known)),  # in version 0.1 a run did not seal its provenance
        record=name,
    )


def _unsealed(folder: Path, known: set[str]) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name not in known and not is_leftover(path):
            yield path.name
