"""What is served: runs, Hugging Face models and audits, looked after while they are served.

Paths come from the command that starts the server, never from a request: requests name what is
listed here. A folder that changed is read again; one that is gone or broken is reported to everyone
who asks for it.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from heedful import runs
from heedful.auditing.results import Audit
from heedful.auditing.subjects.huggingface.windows import LongTexts
from heedful.errors import RunError, UnknownName, UsageError, counted, nearest
from heedful.model.hub import HF, HF_PROMPT
from heedful.runs import RunFolder
from heedful.training.trained import Trained
from heedful.web.models import RunModel, ServedModel

if TYPE_CHECKING:
    from heedful.auditing.subjects.huggingface.prompted import Prompt
    from heedful.web.transformers import Readings

Kept = TypeVar("Kept")
Got = TypeVar("Got", covariant=True)
DEEPEST = 2  # folders below a given one that are looked into
RUN_FILES = (*runs.CHECKSUMMED, runs.PROVENANCE)
AUDIT_FILES = (runs.AUDIT, runs.PER_EXAMPLE)


class Gone(RunError):
    """What was served a moment ago is not there, or not whole, any more."""


@runtime_checkable
class Source(Protocol[Got]):
    """Where something that is served comes from."""

    @property
    def name(self) -> str:
        """As requests name it."""

    @property
    def path(self) -> Path:
        """Its folder."""

    @property
    def problem(self) -> UsageError | OSError | None:
        """What was wrong when it was opened."""

    def get(self) -> Got:
        """What it is now."""


class Watched(Generic[Kept]):
    """Something read from a folder, and read again when its files change.

    What is incomplete raises an error when it is requested; `problem` is what was wrong when it
    was opened.
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
                    f"{self.name} is missing: {self.path} contained {missing} when the server "
                    "started but no longer does. Restore it, or restart the server without it."
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


class WatchedReading:
    """One of the readings of a watched model."""

    problem = None  # a model that cannot be read is refused when it is opened

    def __init__(self, name: str, of: "Watched[Readings]", reading: str) -> None:
        self.name = name
        self.path = of.path
        self._of = of
        self._reading = reading

    def get(self) -> ServedModel:
        """The reading of the model as it is now."""
        models = self._of.get().models
        if self._reading not in models:
            raise Gone(
                f"{self.name} is missing: the model in {self.path} has changed and this reading no "
                "longer applies to it. Restart the server."
            )
        return models[self._reading]


class Store:
    """Models and audits by their names. What is called a run may be a reading of another model."""

    def __init__(
        self,
        runs: Sequence[Source[ServedModel]],
        audits: Sequence[Watched[Audit]],
        notes: Sequence[str] = (),
    ) -> None:
        self.runs = {one.name: one for one in runs}
        self.audits = {one.name: one for one in audits}
        self.notes = tuple(notes)

    @classmethod
    def open(
        cls,
        paths: Sequence[str | Path],
        device: str = "cpu",
        readouts: Sequence[str] = (),
        long_texts: LongTexts = "cut",
        prompt: "Prompt | None" = None,
    ) -> "Store":
        """The runs and audits in some folders: each one is one, or holds some. A path that starts
        with hf: is a Hugging Face model, read in some ways; with hf-prompt:, a decoder that is
        asked by the `prompt`.

        A folder that was named itself and cannot be read is an error if no other can.
        """
        others = list(dict.fromkeys(str(p) for p in paths if str(p).startswith((HF, HF_PROMPT))))
        folders = [Path(path) for path in paths if not str(path).startswith((HF, HF_PROMPT))]
        if readouts and not others:
            raise UsageError(f"--readout needs {HF}FOLDER_OR_NAME.")
        prompted = next((name for name in others if name.startswith(HF_PROMPT)), None)
        if prompt is not None and prompted is None:
            raise UsageError(f"--template and --label-words need {HF_PROMPT}FOLDER_OR_NAME.")
        if prompt is None and prompted is not None:
            raise UsageError(f"{prompted} needs a prompt: give --template and --label-words.")
        given = {path.resolve() for path in folders}
        found = list(dict.fromkeys(folder for path in folders for folder in _folders(path)))
        of_runs = [folder for folder in found if RunFolder(folder).is_begun]
        of_audits = [folder for folder in found if (folder / runs.AUDIT).is_file()]

        def load(path: Path) -> ServedModel:
            return RunModel(Trained.load(path, device))

        models: list[Source[ServedModel]] = [
            Watched(name, path, RUN_FILES, load) for name, path in _named(of_runs)
        ]
        notes: list[str] = []
        for source in others:
            taken = [one.name for one in models]
            name = source.removeprefix(HF_PROMPT).removeprefix(HF)
            asked = prompt if source.startswith(HF_PROMPT) else None
            readings, said = _readings(name, device, readouts, long_texts, asked, taken)
            models += readings
            notes += said
        store = cls(
            models,
            [Watched(name, path, AUDIT_FILES, Audit.load) for name, path in _named(of_audits)],
            notes,
        )
        broken = [one for one in store._all if one.problem is not None]
        asked_for = [one.problem for one in broken if one.path in given and one.problem is not None]
        if asked_for and len(broken) == len(store._all):
            raise asked_for[0]
        return store

    @property
    def sentence(self) -> str:
        """How much is served."""
        readings = sum(isinstance(one, WatchedReading) for one in self.runs.values())
        parts = [
            counted(len(self.runs) - readings, "run") if len(self.runs) > readings else "",
            f"{counted(readings, 'reading')} of Hugging Face models" if readings else "",
        ]
        models = ", ".join(filter(None, parts)) or "0 runs"
        return f"{models} and {counted(len(self.audits), 'audit')}"

    @property
    def problems(self) -> list[str]:
        """What could not be read when it was opened, in sentences."""
        broken = [one for one in self._all if one.problem is not None]
        return [
            *(f"{one.name} cannot be read, the others are served: {one.problem}" for one in broken),
            *self.notes,
        ]

    @property
    def _all(self) -> list["Source[ServedModel] | Source[Audit]"]:
        return [*self.runs.values(), *self.audits.values()]

    def run(self, name: str) -> ServedModel:
        """A served run."""
        return _of(self.runs, name, "run").get()

    def audit(self, name: str) -> Audit:
        """A served audit."""
        return _of(self.audits, name, "audit").get()

    def run_of(self, audit: Audit) -> str | None:
        """The served model that an audit is of."""
        for name, one in self.runs.items():
            try:
                if one.get().is_audited_in(audit.about, name):
                    return name
            except Gone:
                continue
        return None

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


def _readings(
    source: str,
    device: str,
    readouts: Sequence[str],
    long_texts: LongTexts,
    prompt: "Prompt | None",
    taken: Sequence[str],
) -> tuple[list[WatchedReading], tuple[str, ...]]:
    """The readings of a Hugging Face model, and notes on those that it does not allow."""
    from heedful.web.transformers import Readings, watched_files

    watched = Watched(
        source,
        Path(source),
        list(watched_files(source)),
        lambda path: Readings.load(source, device, readouts, long_texts, prompt),
    )
    if watched.problem is not None:
        raise watched.problem
    readings = watched.get()
    model, count = readings.name, 1
    while any(name.startswith(f"{model} · ") for name in taken):
        count += 1
        model = f"{readings.name}-{count}"
    found = [WatchedReading(f"{model} · {name}", watched, name) for name in readings.models]
    return found, readings.notes


def _folders(path: Path) -> Iterator[Path]:
    """Folders with a run or an audit: the given one, or those below it."""
    path = path.resolve()
    if not path.is_dir():
        RunFolder.open(path)  # says what is wrong
    found = list(_below(path, DEEPEST))
    if not found:
        raise RunError(
            f"{path} does not contain a run or an audit. `heedful train DATA -o RUN` makes a run, "
            "`heedful audit RUN DATA -o DIR` an audit; name either, or a folder that contains some."
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


def _of(things: Mapping[str, Source[Kept]], name: str, noun: str) -> Source[Kept]:
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
