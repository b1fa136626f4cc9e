import errno
import json
import os
import stat
import threading
from pathlib import Path

import pytest
import torch

from heedful import runs, storage
from heedful.errors import EnvironmentFailure, RunError
from heedful.runs import RunFolder
from heedful.storage import held, locked, write_atomically


def finished(path: Path) -> RunFolder:
    folder = RunFolder.new(path)
    folder.begin({"heedful": "0.1.0"})
    folder.write_tensors(runs.MODEL, {"w": torch.arange(4.0)})
    folder.write_bytes(runs.TOKENIZER, b"{}")
    folder.write_lines(runs.HISTORY, [{"epoch": 0}, {"epoch": 1}])
    folder.write_json(runs.METRICS, {"test": {"accuracy": 0.5}})
    folder.write_tensors(runs.TRAINING_DOCUMENTS, {"fingerprints": torch.arange(3)})
    folder.write_checkpoint("epoch", {"w": torch.zeros(1)}, {"epoch": 1})
    folder.finish({"seed": 1})
    return folder


def test_a_finished_run_opens_and_has_no_checkpoints_left(tmp_path: Path):
    finished(tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    tensors, _ = folder.read_tensors(runs.MODEL)
    assert tensors["w"].tolist() == [0, 1, 2, 3]
    assert sorted(p.name for p in folder.path.iterdir()) == sorted(
        [*runs.CHECKSUMMED, runs.PROVENANCE]
    )


@pytest.mark.parametrize("name", runs.CHECKSUMMED)
@pytest.mark.parametrize("harm", ["cut", "changed", "removed"])
def test_a_harmed_file_is_noticed_and_named(tmp_path: Path, name, harm):
    file = finished(tmp_path / "run").path / name
    data = file.read_bytes()
    if harm == "removed":
        file.unlink()
    else:
        harmed = data[: len(data) // 2] if harm == "cut" else data[:-1] + bytes([data[-1] ^ 1])
        file.write_bytes(harmed)
    with pytest.raises(RunError) as error:
        RunFolder.open(tmp_path / "run")
    assert name in str(error.value)


def test_a_configuration_from_the_future_is_refused(tmp_path: Path):
    folder = finished(tmp_path / "run")
    config = json.loads((folder.path / runs.CONFIG).read_text())
    folder.write_json(runs.CONFIG, {**config, "schema": runs.SCHEMA + 1, "heedful": "9.0"})
    with pytest.raises(RunError, match=r"written by heedful 9\.0; this version reads up to"):
        RunFolder.open(folder.path)


def test_folders_in_the_way_are_refused_with_advice(tmp_path: Path):
    finished(tmp_path / "run")
    with pytest.raises(RunError, match=r"already exists\. Choose another folder"):
        RunFolder.new(tmp_path / "run")
    RunFolder.new(tmp_path / "begun").begin({})
    with pytest.raises(RunError, match="resume it with --resume"):
        RunFolder.new(tmp_path / "begun")
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="is a file"):
        RunFolder.new(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    RunFolder.new(tmp_path / "empty").begin({})


def test_what_is_no_finished_run_is_refused(tmp_path: Path):
    with pytest.raises(RunError, match="no run folder at"):
        RunFolder.open(tmp_path / "none")
    with pytest.raises(RunError, match="is not a run folder"):
        RunFolder.open(tmp_path)
    RunFolder.new(tmp_path / "begun").begin({})
    with pytest.raises(RunError, match="is unfinished"):
        RunFolder.open(tmp_path / "begun")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path: Path, monkeypatch, number):
    target = tmp_path / "file"
    write_atomically(target, b"old")

    def full(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentFailure, match="the disk is full"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_may_not_be_written_is_a_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentFailure, match="could not be written"):
        write_atomically(tmp_path / "file" / "below", b"x")


def test_facts_travel_with_tensors(tmp_path: Path):
    folder = RunFolder.new(tmp_path / "run")
    folder.begin({})
    assert folder.read_checkpoint("epoch") is None
    folder.write_checkpoint("epoch", {"w": torch.ones(2)}, {"best": [0.5, -1.0], "n": 3})
    tensors, facts = folder.read_checkpoint("epoch")
    assert facts == {"best": [0.5, -1.0], "n": 3}
    assert tensors["w"].tolist() == [1.0, 1.0]


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path: Path):
    target, link, dangling = tmp_path / "there" / "page", tmp_path / "link", tmp_path / "dangling"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link.symlink_to(target)
    dangling.symlink_to("there/new")
    for path in (link, dangling):
        write_atomically(path, b"new")
        assert path.is_symlink()
        assert path.read_bytes() == b"new"
    assert sorted(path.name for path in target.parent.iterdir()) == ["new", "page"]


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for path in (pipe, link):
        write_atomically(path, b"page")
        assert os.read(reader, 100) == b"page"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert link.is_symlink()


def test_a_folder_in_the_place_of_a_file_is_a_sentence(tmp_path: Path):
    with pytest.raises(EnvironmentFailure, match="could not be written: Is a directory"):
        write_atomically(tmp_path, b"x")


def in_a_thread(call) -> list[str]:
    """What another thread, which holds nothing yet, is told when it is refused."""
    told: list[str] = []

    def body() -> None:
        try:
            call()
        except RunError as error:
            told.append(str(error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return told


def hold(path: Path) -> None:
    with held(path):
        pass


def test_a_folder_has_one_writer_who_may_hold_it_again(tmp_path: Path):
    with held(tmp_path / "a" / "run"):
        hold(tmp_path / "a" / "run")
        (told,) = in_a_thread(lambda: hold(tmp_path / "a" / "run"))
        RunFolder.new(tmp_path / "a" / "run").begin({})
        hold(tmp_path / "a")
    assert told.startswith(
        f"{tmp_path / 'a' / 'run'} is being written by another process (process {os.getpid()}, "
        "since 2"
    )
    assert told.endswith("Wait until it ends, or choose another folder.")
    assert [path.name for path in (tmp_path / "a" / "run").iterdir()] == [runs.CONFIG]
    assert in_a_thread(lambda: hold(tmp_path / "a" / "run")) == []


def test_a_held_folder_that_nothing_was_written_into_is_not_left_behind(tmp_path: Path):
    (tmp_path / "there").mkdir()
    for place in (tmp_path / "there", tmp_path / "new" / "run"):
        with pytest.raises(ValueError, match="wrong"), held(place):
            raise ValueError("wrong")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert list((tmp_path / "there").iterdir()) == []


def test_what_a_killed_writer_left_is_no_content_and_is_removed_by_the_next(tmp_path: Path):
    (tmp_path / storage.LOCK).write_text("{")
    (tmp_path / ".config.json.123.part").write_text("{")
    (tmp_path / ".parts.123.part").mkdir()
    (tmp_path / ".parts.123.part" / "000000.safetensors").write_text("x")
    RunFolder.new(tmp_path)
    with held(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [storage.LOCK]
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".gitignore").write_text("")
    with pytest.raises(RunError, match="already exists"):
        RunFolder.new(tmp_path)


def test_a_file_in_the_way_of_a_folder_is_refused_before_it_is_held(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(RunError, match="is a file"), held(place):
            pass


def test_many_who_wait_for_a_lock_hold_it_one_after_the_other(tmp_path: Path):
    inside, most, done = 0, 0, []

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with locked(tmp_path / "new" / ".lock", lambda: None) as is_ours:
                assert is_ours
                inside += 1
                most = max(most, inside)
                inside -= 1
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, len(done)) == (1, 6)
    assert list((tmp_path / "new").iterdir()) == []


def test_checkpoints_that_a_killed_process_left_are_dropped_on_request(tmp_path: Path):
    folder = finished(tmp_path / "run")
    folder.write_checkpoint("epoch", {"w": torch.zeros(1)}, {"epoch": 1})
    folder.drop_checkpoints()
    assert not list(folder.path.glob("checkpoint-*"))
    RunFolder.open(folder.path)
