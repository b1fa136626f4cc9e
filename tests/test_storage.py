"""What a killed process leaves, and what survives a power cut."""

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful.errors import EnvironmentFailure
from heedful.storage import (
    ABANDONED_SECONDS,
    flush_files,
    held,
    make_folder,
    remove_parts_of,
    write_atomically,
)
from tools.harden.power_cut import contents, flushed_to_disk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_a_written_file_survives_a_power_cut(root, tmp_path):
    with flushed_to_disk(root) as disk:
        make_folder(root / "a" / "b")
        write_atomically(root / "a" / "b" / "file", b"first")
        write_atomically(root / "a" / "b" / "file", b"second")
        assert contents(disk.restore(tmp_path / "left")) == {"a/b/file": b"second"}


def test_a_held_folder_that_was_written_into_survives_a_power_cut(root, tmp_path):
    with flushed_to_disk(root) as disk:
        with held(root / "runs" / "run"):
            write_atomically(root / "runs" / "run" / "file", b"content")
        left = contents(disk.restore(tmp_path / "left"))
    assert left.pop("runs/run/file") == b"content"
    assert set(left) <= {"runs/run/.lock"}  # which ends with its process


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def part(folder: Path, process: int, seconds_ago: float, name: str = "report.html") -> Path:
    left = folder / f".{name}.{process}.part"
    left.write_bytes(b"half")
    then = time.time() - seconds_ago
    os.utime(left, (then, then))
    return left


LONG_AGO = 2 * ABANDONED_SECONDS


def test_what_a_killed_process_left_beside_a_file_goes_when_the_file_is_written(root):
    abandoned = part(root, dead_process(), LONG_AGO)
    of_another_file = part(root, dead_process(), LONG_AGO, "other.html")
    of_a_process_elsewhere = part(root, dead_process(), 0)
    of_a_living_one = part(root, os.getppid(), LONG_AGO)
    write_atomically(root / "report.html", b"whole")
    assert not abandoned.exists()
    assert of_another_file.exists()
    assert of_a_process_elsewhere.exists()
    assert of_a_living_one.exists()


def test_what_a_killed_process_left_in_the_folders_below_goes_too(root):
    (root / "parts" / "deep").mkdir(parents=True)
    abandoned = part(root / "parts" / "deep", dead_process(), LONG_AGO)
    of_another_writer = part(root / "parts", dead_process(), 0)
    with held(root):
        assert not abandoned.exists()
        assert of_another_writer.exists()


@pytest.mark.parametrize(("number", "is_lost"), [(errno.EIO, True), (errno.EINVAL, False)])
def test_a_folder_that_the_disk_could_not_flush_is_no_success(root, monkeypatch, number, is_lost):
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if is_lost:
        with pytest.raises(EnvironmentFailure, match="Input/output error"):
            write_atomically(root / "file", b"content")
    else:  # a file system that flushes no folders
        write_atomically(root / "file", b"content")
    assert (root / "file").read_bytes() == b"content"


def test_files_of_others_that_a_full_disk_does_not_keep_are_told_in_a_sentence(root, monkeypatch):
    (root / "weights").write_bytes(b"1")

    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(EnvironmentFailure, match=r"the disk is full: .*weights could not be"):
        flush_files(root)


def test_parts_of_a_file_that_nobody_else_writes_are_removed_and_no_others(tmp_path):
    parts = (".rows.parquet.123.part", ".rows.parquet.99999999.part", ".other.parquet.123.part")
    for name in ("rows.parquet", *parts):
        (tmp_path / name).write_text("x")
    remove_parts_of(tmp_path / "rows.parquet")
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", ".other.parquet.123.part"}
