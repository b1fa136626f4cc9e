"""What is served: runs and audits, looked after while they are served.

Paths come from the command that starts the server, never from a request: requests name what is
listed here. A folder that changed is read again; one that is gone or broken is reported to everyone
who asks for it.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from heedful import runs
from heedful.auditing.results import Audit
from heedful.errors import RunError, UnknownName, UsageError, nearest
from heedful.runs import RunFolder
from heedful.training.trained import Trained

Kept = TypeVar("Kept")
DEEPEST = 2  # folders below a given one that are looked into
RUN_FILES = (*runs.CHECKSUMMED, runs.PROVENANCE)
AUDIT_FILES = (runs.AUDIT, runs.PER_EXAMPLE)


class Gone(RunError):
    """What was served a moment ago is not there, or not whole, any more."""


class Watched(Generic[Kept]):
    """Something read from a folder, and read again when its files change.

    What is not whole says so when it is asked for; `problem` is what was wrong when it was opened.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        files: Sequence[str],
        load: Callable[[Path], Kept],
    ) -> None:
        self.name = name
        self.path = path
        self._files = files
        self._load = load
        self._lock = threading.Lock()
        self._seen = self._look()
        self._kept: Kept | None = None
        self._was_read = False
        self.problem: UsageError | OSError | None = None
        try:
            self._kept = load(path)
            self._was_read = True
        except (UsageError, OSError) as error:
            self.problem = error

    def get(self) -> Kept:
        """What the folder holds now."""
        with self._lock:
            seen = self._look()
            if None in seen and self._was_read:
                self._kept = None
                missing = self._files[seen.index(None)]
                raise Gone(
                    f"{self.name} is gone: {self.path} held {missing} when the server was started "
                    "and does not now. Put it back, or start the server without it."
                )
            if self._kept is None or seen != self._seen:
                self._kept = None
                try:
                    self._kept = self._load(self.path)
                except (UsageError, OSError) as error:
                    when = " any more" if self._was_read else ""
                    raise Gone(f"{self.name} cannot be read{when}: {error}") from None
                self._seen, self._was_read = seen, True
            return self._kept

    def _look(self) -> list[tuple[int, int] | None]:
        return [_stamp(self.path / file) for file in self._files]


class Store:
    """Runs and audits by their names."""

    def __init__(self, runs: Sequence[Watched[Trained]], audits: Sequence[Watched[Audit]]) -> None:
        self.runs = {one.name: one for one in runs}
        self.audits = {one.name: one for one in audits}

    @classmethod
    def open(cls, paths: Sequence[str | Path], device: str = "cpu") -> "Store":
        """The runs and audits in some folders: each one is one, or holds some.

        One that was asked for by its own folder and cannot be read is an error if none can.
        """
        given = {Path(path).resolve() for path in paths}
        found = list(dict.fromkeys(folder for path in paths for folder in _folders(Path(path))))
        of_runs = [folder for folder in found if RunFolder(folder).is_begun]
        of_audits = [folder for folder in found if (folder / runs.AUDIT).is_file()]

        def load(path: Path) -> Trained:
            return Trained.load(path, device)

        store = cls(
            [Watched(name, path, RUN_FILES, load) for name, path in _named(of_runs)],
            [Watched(name, path, AUDIT_FILES, Audit.load) for name, path in _named(of_audits)],
        )
        broken = [one for one in store._all if one.problem is not None]
        asked_for = [one.problem for one in broken if one.path in given and one.problem is not None]
        if asked_for and len(broken) == len(store._all):
            raise asked_for[0]
        return store

    @property
    def problems(self) -> list[str]:
        """What could not be read when it was opened, in sentences."""
        return [
            f"{one.name} cannot be read, the others are served: {one.problem}"
            for one in self._all
            if one.problem is not None
        ]

    @property
    def _all(self) -> list["Watched[Trained] | Watched[Audit]"]:
        return [*self.runs.values(), *self.audits.values()]

    def run(self, name: str) -> Trained:
        """A served run."""
        return _of(self.runs, name, "run").get()

    def audit(self, name: str) -> Audit:
        """A served audit."""
        return _of(self.audits, name, "audit").get()

    def run_of(self, audit: Audit) -> str | None:
        """The served run that an audit is of: of that name, built like it, with its weights."""
        name = str(audit.about.get("name"))
        if name not in self.runs:
            return None
        try:
            built = self.runs[name].get().describe()
        except Gone:
            return None
        # An audit from before weights were told apart is taken at its word.
        is_same = all(audit.about.get(key, value) == value for key, value in built.items())
        return name if is_same else None

    def audits_of(self, run: str) -> list[Audit]:
        """The served audits of a run that can be read."""
        found = []
        for one in self.audits.values():
            try:
                audit = one.get()
            except Gone:
                continue
            if self.run_of(audit) == run:
                found.append(audit)
        return found


def _folders(path: Path) -> Iterator[Path]:
    """Folders with a run or an audit: the given one, or those below it."""
    path = path.resolve()
    if not path.is_dir():
        RunFolder.open(path)  # says what is wrong
    found = list(_below(path, DEEPEST))
    if not found:
        raise RunError(
            f"{path} holds no run and no audit. `heedful train DATA -o RUN` makes a run, `heedful "
            "audit RUN DATA -o DIR` an audit; give either, or a folder that holds some."
        )
    yield from found


def _below(path: Path, depth: int) -> Iterator[Path]:
    is_run, is_audit = RunFolder(path).is_begun, (path / runs.AUDIT).is_file()
    if is_run or is_audit:
        yield path
    if is_run or depth == 0:  # a run's own folders are parts of it
        return
    for folder in sorted(path.iterdir()) if os.access(path, os.R_OK | os.X_OK) else ():
        if folder.is_dir() and folder.name not in (runs.TWINS, runs.PARTS):
            yield from _below(folder, depth - 1)


def _named(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Each folder by its own name; those of one name by a longer one."""
    taken: set[str] = set()
    for folder in folders:
        name, above = folder.name, folder.parent
        while name in taken and above.name:
            name, above = f"{above.name}-{name}", above.parent
        taken.add(name)
        yield name, folder


def _of(things: dict[str, "Watched[Kept]"], name: str, noun: str) -> "Watched[Kept]":
    try:
        return things[name]
    except KeyError:
        served = ", ".join(things) or "none"
        raise UnknownName(
            f"no {noun} named {name!r:.80} is served.{nearest(name, things)} Served: {served}."
        ) from None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
