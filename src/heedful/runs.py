"""Run folders: the only module that knows the names of their files.

    config.json                     everything needed to train it again; carries a schema number
    model.safetensors               the weights
    tokenizer.json                  how texts are cut, and the vocabulary
    pretrained.json                 how a pretrained encoder is built and cuts words into pieces
    history.jsonl                   one line per epoch
    metrics.json                    scores on dev and test
    training_documents.safetensors  fingerprints of what it was trained on
    provenance.json                 versions, data, seed, device, checksums; written last
    checkpoint-*.safetensors        only while a training is under way
    base/                           a run of its own, where the recipe needed one and trained it

An audit is a folder too: request.json (what is asked of which model), audit.json (verdict, answers,
settings) and per_example.parquet (one row per document); parts/ only while it is under way. That of
a Hugging Face model holds an audit for each reading, and readings.json. So is an analysis:
analysis.json, and rows.parquet where it has many rows. A sweep is a folder of runs, each with a
cell.json (its place in the grid), results.parquet (a row each), and analyses.parquet (a row per row
of every analysis).

Every file is written beside its place and moved there in one step, so a killed process or a full
disk leaves the old file or the new one, never half of one. A folder has one writer at a time, who
holds its `.lock`; what a killed writer leaves (that file, files that were not yet moved) is no
content, and the next writer removes it. Nothing is ever unpickled.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import EnvironmentFailure, RunError

if TYPE_CHECKING:
    from torch import Tensor

SCHEMA = 1

CONFIG = "config.json"
MODEL = "model.safetensors"
TOKENIZER = "tokenizer.json"
PRETRAINED = "pretrained.json"
HISTORY = "history.jsonl"
METRICS = "metrics.json"
TRAINING_DOCUMENTS = "training_documents.safetensors"
PROVENANCE = "provenance.json"
AUDIT = "audit.json"
BASE = "base"
PARTS = "parts"
TWINS = "twins"
TWINS_OF = "twins_of.json"
REPORT = "report.html"
REQUEST = "request.json"
PER_EXAMPLE = "per_example.parquet"
READINGS = "readings.json"
ANALYSIS = "analysis.json"
ROWS = "rows.parquet"
PROBE = "probe.json"
PROBE_ROWS = "probe.parquet"
CELL = "cell.json"
ANALYSES = "analyses.parquet"
REPRODUCTION = "reproduction.json"
RESULTS = "results.parquet"
LOCK = ".lock"
RESULTS_LOCK = ".results.lock"
SWEEP_LOCK = ".sweep.lock"
CHECKSUMMED = (CONFIG, MODEL, TOKENIZER, HISTORY, METRICS, TRAINING_DOCUMENTS)
OPTIONAL = (PRETRAINED,)  # checked where a run has them


class RunFolder:
    """One run's files, written atomically and checked when read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def new(cls, path: str | Path) -> "RunFolder":
        """A folder to be made by `begin`; one that holds anything already is refused."""
        folder = cls(path)
        check_no_file(folder.path)
        if folder.path.is_dir() and any(not _is_ours(one) for one in folder.path.iterdir()):
            advice = (
                "Choose another folder."
                if folder.is_finished or not folder.is_begun
                else "It holds an unfinished run: continue it with --resume, or choose another."
            )
            raise RunError(f"the output folder {path} exists already. {advice}")
        return folder

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """A folder with a finished run in it, its files checked against their checksums."""
        folder = cls(path)
        if folder.path.is_file():
            raise RunError(f"{path} is a file. Expected a run folder made by `heedful train`.")
        if not folder.path.is_dir():
            raise RunError(f"no run folder at {path}. `heedful train DATA -o {path}` makes one.")
        if not folder.is_begun:
            raise RunError(f"{path} is not a run folder: it holds no {CONFIG}.")
        folder.read_config()
        if not folder.is_finished:
            raise RunError(
                f"the run in {path} is unfinished. Continue it: heedful train … -o {path} --resume"
            )
        folder._check_files()
        return folder

    @property
    def is_begun(self) -> bool:
        """Whether a training has started here."""
        return (self.path / CONFIG).is_file()

    @property
    def is_finished(self) -> bool:
        """Whether a training has ended here."""
        return (self.path / PROVENANCE).is_file()

    def read_config(self) -> dict[str, Any]:
        """The configuration, refused when a newer version of heedful wrote it."""
        config = self.read_json(CONFIG)
        schema = config.get("schema")
        if "model_type" in config and schema is None:
            raise RunError(
                f"{self.path} holds a Hugging Face model, not a run of heedful. Audit it with "
                f"`heedful audit hf:{self.path} DATA`, or in Python with heedful.audit(model, "
                "documents, tokenizer=tokenizer)."
            )
        if not isinstance(schema, int):
            raise RunError(f"{self.path / CONFIG} carries no schema number; it is not ours.")
        if schema > SCHEMA:
            raise RunError(
                f"{self.path / CONFIG} has schema {schema}, written by heedful "
                f"{config.get('heedful', '?')}; this version reads up to {SCHEMA}. Upgrade heedful."
            )
        return config

    def begin(self, config: Mapping[str, Any]) -> None:
        """Make the folder and write the configuration with its schema number."""
        with environment_failures(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self.write_json(CONFIG, {"schema": SCHEMA, **config})

    def finish(self, provenance: Mapping[str, Any]) -> None:
        """Write provenance and checksums, which makes the run complete; drop its checkpoints."""
        written = [*CHECKSUMMED, *(name for name in OPTIONAL if (self.path / name).is_file())]
        checksums = {name: _sha256(self.path / name) for name in written}
        self.write_json(PROVENANCE, {**provenance, "sha256": checksums})
        for left in self.path.glob("checkpoint-*.safetensors"):
            left.unlink()

    def read_json(self, name: str) -> dict[str, Any]:
        """A JSON object."""
        try:
            value = json.loads(self.read_bytes(name))
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.path / name} is not JSON: {error}.") from None
        if not isinstance(value, dict):
            raise RunError(f"{self.path / name} should hold a JSON object.")
        return value

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON object."""
        self.write_bytes(name, _json_bytes(value, indent=2))

    def write_lines(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write JSON lines."""
        self.write_bytes(name, b"".join(map(_json_bytes, rows)))

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """JSON lines."""
        try:
            return [json.loads(line) for line in self.read_bytes(name).splitlines()]
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.path / name} is not JSON lines: {error}.") from None

    def read_bytes(self, name: str) -> bytes:
        """A whole file."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise RunError(f"the run folder {self.path} is broken: {name} is missing.") from None

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a whole file."""
        write_atomically(self.path / name, data)

    def read_tensors(self, name: str) -> tuple[dict[str, "Tensor"], dict[str, Any]]:
        """Tensors and the facts stored with them."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path / name, framework="pt") as stored:
                facts = json.loads((stored.metadata() or {}).get("facts", "{}"))
                return {key: stored.get_tensor(key) for key in stored.keys()}, facts  # noqa: SIM118
        except FileNotFoundError:
            raise RunError(f"the run folder {self.path} is broken: {name} is missing.") from None
        except (SafetensorError, ValueError, RecursionError) as error:
            raise RunError(
                f"{self.path / name} is damaged ({error}). Train the run again."
            ) from None

    def write_tensors(
        self, name: str, tensors: Mapping[str, "Tensor"], facts: Mapping[str, Any] | None = None
    ) -> None:
        """Write tensors with facts beside them, in one file."""
        from safetensors.torch import save

        contiguous = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        write_atomically(
            self.path / name, save(contiguous, {"facts": json.dumps(dict(facts or {}))})
        )

    def read_checkpoint(self, name: str) -> tuple[dict[str, "Tensor"], dict[str, Any]] | None:
        """A training's saved state, if there is one."""
        file = f"checkpoint-{name}.safetensors"
        return self.read_tensors(file) if (self.path / file).is_file() else None

    def write_checkpoint(
        self, name: str, tensors: Mapping[str, "Tensor"], facts: Mapping[str, Any]
    ) -> None:
        """Save a training's state."""
        self.write_tensors(f"checkpoint-{name}.safetensors", tensors, facts)

    def _check_files(self) -> None:
        known = self.read_json(PROVENANCE).get("sha256")
        if not isinstance(known, dict):
            raise RunError(f"{self.path / PROVENANCE} holds no checksums; it was changed.")
        for name in (*CHECKSUMMED, *(name for name in OPTIONAL if name in known)):
            if not (self.path / name).is_file():
                raise RunError(f"the run folder {self.path} is broken: {name} is missing.")
            if _sha256(self.path / name) != known.get(name):
                raise RunError(
                    f"{self.path / name} is not the file that training wrote (its SHA-256 "
                    "differs from provenance.json): it was cut short or changed. "
                    "Copy the run again or train it again."
                )


@contextmanager
def held(folder: str | Path | None, waits: Callable[[], None] | None = None) -> Iterator[None]:
    """Keep all other writers out of a folder, which is made if it is not there.

    If another process writes there it is refused, or, with `waits`, called once before the wait,
    waited for. What a killed writer left is removed. Within itself it does nothing again, so a
    function that writes may hold the folder that its caller holds. Without a folder it does
    nothing.
    """
    place = None if folder is None else Path(folder).resolve()
    if place is None or place in _held.get():
        yield
        return
    check_no_file(place)
    made = [one for one in (place, *place.parents) if not one.exists()]
    try:
        with locked(place / LOCK, waits) as is_ours:
            if not is_ours:
                raise RunError(
                    f"{folder} is being written by another process{_holder(place / LOCK)}. Wait "
                    "until it ends, or choose another folder."
                )
            _remove_leftovers(place)
            _held.set(_held.get() | {place})
            try:
                yield
            finally:
                _held.set(_held.get() - {place})
    finally:
        with suppress(OSError):  # something was written, as it should be
            for one in made:
                one.rmdir()


_held: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())


@contextmanager
def locked(path: Path, waits: Callable[[], None] | None = None) -> Iterator[bool]:
    """Hold a lock file; whether it was to be had, which it is in the end for one that waits.

    The lock is the system's and ends with the process, so nothing a killed one leaves is in the
    way. The file is there only while it is held, and names the holder.
    """
    descriptor = _lock(path, waits)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)  # before it is let go: see `_lock`
        os.close(descriptor)


def _lock(path: Path, waits: Callable[[], None] | None) -> int | None:
    """The descriptor of a lock file that is ours now; None if it is another's.

    Only the holder removes the file. One who waited for it then holds a lock on a file that is gone
    from its place, so it counts only if the file in that place is the one that was locked.
    """
    while True:
        with environment_failures(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            except FileNotFoundError:
                if path.parent.is_dir():
                    raise
                continue  # who had made the folder removed it at this moment
        is_kept = False
        try:
            if not _flock(descriptor, waits):
                return None
            with suppress(FileNotFoundError):
                is_kept = os.path.samestat(path.stat(), os.fstat(descriptor))
            if is_kept:
                _sign(descriptor)
                return descriptor
        finally:
            if not is_kept:
                os.close(descriptor)


def _flock(descriptor: int, waits: Callable[[], None] | None) -> bool:
    """Lock an open file, at once or after a wait; whether it is ours."""
    with suppress(OSError):  # some file systems have no locks
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waits is None:
                return False
            waits()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    return True


def _sign(descriptor: int) -> None:
    """Say in a lock file who holds it."""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    who = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
    with suppress(OSError):  # a full disk keeps nobody from holding it
        os.ftruncate(descriptor, 0)
        os.write(descriptor, _json_bytes(who))


def _holder(path: Path) -> str:
    """' (process 17, since …)', as far as a lock file says who holds it."""
    try:
        who = json.loads(path.read_bytes())
        place = "" if who["host"] == socket.gethostname() else f" on {who['host']}"
        return f" (process {who['process']}{place}, since {who['since']})"
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def check_no_file(folder: Path) -> None:
    """Refuse a folder to write into where a file is in the way."""
    for place in (folder, *folder.parents):
        if (place.exists() or place.is_symlink()) and not place.is_dir():
            raise RunError(f"{place} is a file. Expected a folder that does not exist yet.")


def _beside(path: Path) -> Path:
    """Where something is on its way to its place, or out of it."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _is_ours(path: Path) -> bool:
    """Whether a file is no content: a lock, or something a killed process left on its way."""
    return path.name == LOCK or re.fullmatch(r"\..+\.\d+\.part", path.name) is not None


def _remove_leftovers(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != LOCK and _is_ours(path):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder and all in it: in one step it is gone from its place."""
    with suppress(OSError):  # what cannot be removed is in nobody's way
        if path.is_dir() and not path.is_symlink():
            path = path if _is_ours(path) else path.rename(_beside(path))
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside `path`, flush to disk, then move into place in one step.

    A link stays a link: what it leads to is written. A device or a pipe is written into.
    """
    with environment_failures(path):
        if _is_special(path):
            with path.open("wb") as file:
                file.write(data)
            return
        target = Path(os.path.realpath(path))
        beside = _beside(target)
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def _is_special(path: Path) -> bool:
    """Whether there is something in that place that is not a regular file."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def environment_failures(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise EnvironmentFailure(
                f"the disk is full: {path} could not be written. What was saved before is intact; "
                "free some space and continue with --resume."
            ) from None
        raise EnvironmentFailure(f"{path} could not be written: {error.strerror}.") from None


def folder_name(text: str) -> str:
    """A text as a harmless folder name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "run"


def _json_bytes(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    """JSON as a line; half a surrogate pair becomes its escape, which JSON allows."""
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
