"""Files and folders written safely: in one step, and by one process at a time.

A file is written beside its place and moved there, so a killed process or a full disk leaves the
old file or the new one. File and folder are flushed to disk before the write counts as done, so it
survives a power cut. A folder has one writer, who holds its `.lock`; what a killed writer leaves is
no content, and the next writer removes it.
"""

import errno
import fcntl
import glob
import json
import os
import re
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from heedful.errors import EnvironmentFailure, RunError

LOCK = ".lock"
PART = re.compile(r"\..+\.(\d+)\.part")  # something on its way, and the process that writes it
ABANDONED_SECONDS = 3600  # on a shared disk, the process may be alive on another machine


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
            make_folder(path.parent)
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
        os.write(descriptor, json_bytes(who))


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


def make_folder(folder: Path) -> None:
    """Make a folder, and those around it that are missing; they survive a power cut."""
    with environment_failures(folder):
        made = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    for one in made:
        flush_folder(one.parent)


def flush_folder(folder: Path) -> None:
    """Flush a folder to disk: which files it has, and under which names."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # some folders may be written, not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:  # some file systems cannot flush folders; on others it was lost
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            with environment_failures(folder):
                raise
    finally:
        os.close(descriptor)


def flush_files(folder: Path) -> None:
    """Flush to disk the files of a folder that something else wrote, and the folder."""
    for path in folder.iterdir():
        with environment_failures(path), path.open("rb") as file:
            os.fsync(file.fileno())
    flush_folder(folder)


def _beside(path: Path) -> Path:
    """Where something is on its way to its place, or out of it."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def is_leftover(path: Path) -> bool:
    """Whether a file is no content: a lock, or something a killed process left on its way."""
    return path.name == LOCK or PART.fullmatch(path.name) is not None


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left in a folder that is ours, and in the folders below it.

    Those below may have writers of their own at this moment: there, only what was abandoned goes.
    """
    for path in folder.iterdir():
        if path.name != LOCK and is_leftover(path):
            remove(path)
    for path in folder.rglob(".*.part"):
        if _is_abandoned(path):
            remove(path)


def remove_parts_of(path: Path) -> None:
    """Remove what killed writers left of a file that nobody else writes at this moment."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        if PART.fullmatch(part.name):
            remove(part)


def _is_abandoned(path: Path) -> bool:
    """Whether it is long since a process of this machine that is gone was writing something."""
    if (match := PART.fullmatch(path.name)) is None:
        return False
    with suppress(OSError):  # gone by now, or not ours to look at
        is_old = time.time() - path.stat().st_mtime > ABANDONED_SECONDS
        return is_old and not _is_alive(int(match[1]))
    return False


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's
    return True


def remove(path: Path) -> None:
    """Remove a file, or a folder and all in it: in one step it is gone from its place."""
    with suppress(OSError):  # what cannot be removed is in nobody's way
        if path.is_dir() and not path.is_symlink():
            path = path if is_leftover(path) else path.rename(_beside(path))
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside `path`, flush to disk, then move into place in one step, and flush that too.

    A link stays a link: what it leads to is written. A device or a pipe is written into.
    """
    with environment_failures(path):
        if _is_special(path):
            with path.open("wb") as file:
                file.write(data)
            return
        target = Path(os.path.realpath(path))
        beside = _beside(target)
        for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
            if _is_abandoned(left):
                remove(left)
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        flush_folder(target.parent)


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


def json_bytes(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    """JSON as a line; half a surrogate pair becomes its escape, which JSON allows."""
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace")
