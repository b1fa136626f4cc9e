import errno
import json
import os
from pathlib import Path

import pytest
import torch

from heedful import runs
from heedful.errors import EnvironmentFailure, RunError
from heedful.runs import RunFolder, write_atomically


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
    with pytest.raises(RunError, match=r"exists already\. Choose another folder"):
        RunFolder.new(tmp_path / "run")
    RunFolder.new(tmp_path / "begun").begin({})
    with pytest.raises(RunError, match="continue it with --resume"):
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
