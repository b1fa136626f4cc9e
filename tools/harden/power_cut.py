"""A power cut, simulated: what of some folders is on disk if only what was flushed is there."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


class Disk:
    """Remembers what `os.fsync` was called on: the bytes of files, and the names in folders.

    It is stricter than any real disk, which may well keep more.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._bytes: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._is_folder: dict[int, bool] = {}
        for folder, _, files in os.walk(root):
            for name in files:
                self._keep(Path(folder) / name)
            self._keep(Path(folder))

    def flush(self, descriptor: int) -> None:
        """What is flushed is on disk."""
        self._keep(Path(f"/proc/self/fd/{descriptor}").readlink(), descriptor)

    def _keep(self, path: Path, descriptor: int | None = None) -> None:
        found = os.fstat(descriptor) if descriptor is not None else path.lstat()
        if stat.S_ISDIR(found.st_mode):
            # Locks are no content, and the inode of one that is gone may be another file's by now.
            entries = [one for one in os.scandir(path) if not one.name.endswith(".lock")]
            self._names[found.st_ino] = {one.name: one.inode() for one in entries}
            self._is_folder |= {one.inode(): one.is_dir(follow_symlinks=False) for one in entries}
        elif stat.S_ISREG(found.st_mode):
            self._bytes[found.st_ino] = path.read_bytes()

    def restore(self, place: Path) -> Path:
        """Write what is left after a power cut at this moment into another folder."""
        self._restore(self.root.stat().st_ino, place)
        return place

    def _restore(self, folder: int, place: Path) -> None:
        place.mkdir(parents=True)
        for name, inode in self._names.get(folder, {}).items():
            if self._is_folder[inode]:
                self._restore(inode, place / name)
            else:
                (place / name).write_bytes(self._bytes.get(inode, b""))


@contextmanager
def flushed_to_disk(root: Path) -> Iterator[Disk]:
    """A disk that keeps what is flushed below a folder from now on."""
    disk, real = Disk(root), os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        disk.flush(descriptor)

    with mock.patch.object(os, "fsync", fsync):
        yield disk


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
