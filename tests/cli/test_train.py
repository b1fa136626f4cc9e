import itertools
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from heedful import runs
from heedful.runs import RunFolder
from heedful.training import fit
from tests.cli.conftest import QUICK


def test_a_training_tells_what_it_does_and_what_came_out(heedful, data, tmp_path: Path):
    answer = heedful("train", data, "-o", "my run", *QUICK)
    assert answer.code == 0
    assert answer.err.startswith(
        "data.jsonl: 480 documents to train on, 60 to choose the best epoch, 60 to test on; "
        "labels: negative, positive\nepoch 1: loss 0."
    )
    score, saved = answer.out.splitlines()
    pattern = r"test accuracy [\d.]+% on 60 documents; 95% interval [\d.]+% to [\d.]+%; always predicting the most common label: 50.0%"  # noqa: E501
    assert re.fullmatch(pattern, score)
    assert saved == "saved in my run"


def test_a_run_folder_holds_everything_and_nothing_else(run: Path):
    names = {path.name for path in run.iterdir()}
    assert names == {*runs.CHECKSUMMED, runs.PROVENANCE}
    config = json.loads((run / runs.CONFIG).read_text())
    assert config["schema"] == runs.SCHEMA
    assert config["classes"] == ["negative", "positive"]
    assert config["model"]["encoder"] == {"name": "embedding"}
    assert config["data"]["documents"] == {"train": 480, "dev": 60, "test": 60}
    provenance = json.loads((run / runs.PROVENANCE).read_text())
    assert provenance["seed"] == 1
    assert provenance["versions"]["torch"]
    lines = (run / runs.HISTORY).read_text().splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0])["dev_accuracy"] > 0


def test_json_and_quiet_are_for_machines(heedful, data):
    answer = heedful("train", data, "-o", "run", "--json", "--quiet", *QUICK)
    assert answer.err == ""
    result = json.loads(answer.out)
    assert result["run"] == "run"
    assert 0 <= result["test"]["accuracy"] <= 1


def test_without_a_folder_the_run_is_named_by_its_settings(heedful, data):
    heedful("train", data, *QUICK)
    heedful("train", data, *QUICK, "--seed", "2")
    names = sorted(path.name for path in Path("runs").iterdir())
    assert len(names) == 2
    assert all(re.fullmatch(r"data-[0-9a-f]{8}-seed[12]", name) for name in names)


def test_a_settings_file_a_profile_and_flags_add_up(heedful, data):
    Path("s.toml").write_text(
        '[model]\nencoder = "affine:hidden_size=7"\nembedding_size = 5\n[training]\npatience = 9\n'
    )
    answer = heedful(
        "train", data, "-o", "run", "--profile", "sun-lu", "--config", "s.toml", "--epochs", "1",
        "--embedding-size", "6", "--set", "gradient_clip=none", "--set", "keys=separate",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    config = RunFolder("run").read_config()
    assert config["model"]["encoder"] == {"name": "affine", "hidden_size": 7}
    assert config["model"]["alignment"] == {"name": "dot", "scale": 10.0, "start": None}
    assert config["model"]["embedding_size"] == 6
    assert config["model"]["keys"] == "separate"
    assert config["training"]["patience"] == 9
    assert config["training"]["recipe"] == {"name": "standard", "epochs": 1}


def test_a_run_is_trained_like_another_with_what_is_given_changed(heedful, run, data):
    answer = heedful("train", data, "--like", run, "--recipe", "faithful:epochs=1", "-o", "again")
    assert answer.code == 0, answer.err
    before, after = RunFolder(run).read_config(), RunFolder("again").read_config()
    assert after["model"] == before["model"]
    assert after["text"] == before["text"]
    assert after["training"]["optimizer"] == before["training"]["optimizer"]
    assert after["training"]["recipe"]["name"] == "faithful"


def test_a_built_in_corpus_trains_by_name(heedful):
    answer = heedful("train", "planted:documents=200", "-o", "run", *QUICK)
    assert answer.code == 0
    assert RunFolder("run").read_config()["text"]["split"] == "spaces"


def test_documents_that_are_too_long_are_cut_and_counted(heedful, rows):
    rows = [{**row, "text": row["text"] + " word" * 50} for row in rows[:100]]
    Path("long.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answer = heedful("train", "long.jsonl", "-o", "run", *QUICK, "--max-words", "20")
    assert "note: 80 training documents longer than 20 words were cut" in answer.err


def test_vectors_say_how_much_they_cover(heedful, data):
    Path("v.txt").write_text("positiveaaa 1 2 3\nnegativeaaa 4 5 6\n")
    answer = heedful("train", data, "-o", "run", "--epochs", "1", "--vectors", "v.txt")
    assert re.search(r"note: vectors from v.txt cover [\d.]+% of the training tokens", answer.err)


class TestResume:
    def test_a_stopped_training_goes_on_to_the_same_weights(self, heedful, data, monkeypatch):
        heedful("train", data, "-o", "whole", *QUICK, "--epochs", "3")
        monkeypatch.setattr(fit, "SECONDS_BETWEEN_CHECKPOINTS", -1.0)
        write, count = RunFolder.write_checkpoint, 0

        def write_then_die(self, *arguments):
            nonlocal count
            write(self, *arguments)
            count += 1
            if count == 1:
                os.kill(os.getpid(), signal.SIGTERM)

        monkeypatch.setattr(RunFolder, "write_checkpoint", write_then_die)
        stopped = heedful("train", data, "-o", "run", *QUICK, "--epochs", "3")
        assert stopped.code == 3
        assert "heedful: stopped by SIGTERM. What was saved before is intact" in stopped.err
        assert heedful("predict", "run", "x").code == 2
        resumed = heedful("train", data, "-o", "run", "--resume")
        assert resumed.code == 0, resumed.err
        assert "epoch 1" not in resumed.err
        for name in (runs.MODEL, runs.TOKENIZER):
            assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()

    def test_a_finished_run_is_left_alone(self, heedful, data, run):
        before = (run / runs.MODEL).stat().st_mtime_ns
        answer = heedful("train", data, "-o", run, "--resume")
        assert answer.code == 0
        assert "is finished already; nothing to do" in answer.err
        assert (run / runs.MODEL).stat().st_mtime_ns == before

    def test_a_checkpoint_that_was_left_in_a_finished_run_is_removed(self, heedful, data, run):
        (run / "checkpoint-best.safetensors").write_bytes(b"left by a killed process")
        assert heedful("train", data, "-o", run, "--resume").code == 0
        assert not list(run.glob("checkpoint-*"))

    def test_a_clock_that_is_set_back_gives_no_negative_seconds(self, heedful, data, monkeypatch):
        clock = itertools.count(time.time(), -3600)
        monkeypatch.setattr(time, "time", lambda: next(clock))
        assert heedful("train", data, "-o", "run", *QUICK).code == 0
        assert json.loads(Path("run", runs.PROVENANCE).read_text())["seconds"] >= 0

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (["--embedding-size", "9"], "was started with embedding_size = 8, not 9"),
            (["--dev-share", "0.3"], "was started on other documents"),
            (["--profile", "sun-lu"], "was started with"),
        ],
    )
    @pytest.mark.parametrize("is_finished", [True, False])
    def test_other_settings_or_data_are_refused(
        self, heedful, data, run, change, sentence, is_finished
    ):
        if not is_finished:
            (run / runs.PROVENANCE).unlink()
        answer = heedful("train", data, "-o", run, "--resume", *change)
        assert answer.code == 2
        assert sentence in answer.err


def test_a_split_can_be_set_like_any_other_setting(heedful, data):
    answer = heedful("train", data, "-o", "run", "--epochs", "1", "--set", "split=spaces")
    assert answer.code == 0, answer.err
    assert RunFolder("run").read_config()["text"]["split"] == "spaces"


@pytest.mark.parametrize("toml", ["model = 5", "[model]\nencoder = {name = 5}", "a = 1"])
def test_a_settings_file_of_the_wrong_shape_is_refused(heedful, data, toml):
    Path("s.toml").write_text(toml)
    answer = heedful("train", data, "-o", "run", "--config", "s.toml")
    assert answer.code == 2, answer.err


def test_a_checkpoint_that_does_not_fit_is_refused(heedful, data, run):
    (run / runs.PROVENANCE).unlink()
    (run / "checkpoint-epoch.safetensors").write_bytes((run / runs.MODEL).read_bytes())
    answer = heedful("train", data, "-o", run, "--resume")
    assert answer.code == 2
    assert "a checkpoint does not fit this training" in answer.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.csv"], "no such file or folder: none.csv."),
        (["reviews-shot"], "no corpus named 'reviews-shot'. Did you mean 'reviews-short'?"),
        (["DATA", "--text", "body"], "has no column 'body'"),
        (["DATA", "--encoder", "bilsmt"], "no encoder named 'bilsmt'. Did you mean 'bilstm'?"),
        (["DATA", "--encoder", "lstm:size=3"], "encoder 'lstm': no option named 'size'"),
        (["DATA", "--projection", "sparsegen:sparsity=1"], "sparsity should be less than 1"),
        (["DATA", "--pooling", "sum"], "pooling should be 'attention' or 'mean'"),
        (["DATA", "--epochs", "0"], "epochs should be at least 1, not 0"),
        (["DATA", "--dropout", "2"], "dropout should be from 0 to below 1, not 2"),
        (["DATA", "--seed", "-1"], "seed should be from 0 to below"),
        (["DATA", "--device", "tpu"], "no device named 'tpu'"),
        (["DATA", "--profile", "sunlu"], "no profile named 'sunlu'. Did you mean 'sun-lu'?"),
        (["DATA", "--config", "no.toml"], "no settings file at no.toml"),
        (["DATA", "--like", "nowhere"], "no run at nowhere"),
        (["DATA", "--like", "nowhere", "--profile", "sun-lu"], "give --like or --profile, not"),
        (
            ["DATA", "--seed", "1", "--set", "seed=2"],
            "seed is given twice: as an option and with --set",
        ),
        (["DATA", "--config", "."], "no settings file at ."),
        (["DATA", "--device", "mps"], "no device named 'mps'"),
        (["DATA", "--set", "embedding_bound=inf"], "should be a finite number, not 'inf'"),
        (["DATA", "--max-words", str(10**20)], "max_words should be a whole number"),
        (
            ["DATA", "--embedding-size", str(10**9)],
            "embedding_size should be from 1 to below 65537",
        ),
        (["DATA", "--optimizer", "adagrad:learning_rate_decay=-1"], "should be at least 0, not -1"),
        (["DATA", "-o", "DATA/x"], "is a file. Expected a folder"),
        (["x" * 5000], "a path is too long"),
        (["planted", "--text", "body"], "planted is not a file"),
        (["planted:seed=-1"], "seed should be at least 0"),
        (["DATA", "--set", "patience"], "--set expects name=value, not 'patience'"),
        (["DATA", "--set", "patiense=3"], "no setting named 'patiense'. Did you mean 'patience'?"),
        (["DATA", "--set", "patience=x"], "patience should be a whole number or none, not 'x'"),
        (
            ["DATA", "--dev-share", "1.5"],
            "the shares for dev (1.5) and test (0.1) should each be at least 0",
        ),
        (["DATA", "--min-documents", "100000"], "no word occurs in at least 100000"),
        (["DATA", "--vectors", "no.txt"], "no file of word vectors at no.txt"),
        (["DATA", "-o", "."], "the output folder . already exists"),
        (["DATA", "--vectors", "v", "--embedding-size", "9"], "the vectors set the size"),
        (["DATA", "--frobnicate"], "No such option: --frobnicate"),
    ],
)
def test_bad_requests_leave_with_code_two_and_a_sentence(heedful, data, arguments, sentence):
    answer = heedful("train", *[a.replace("DATA", str(data)) for a in arguments])
    assert answer.code == 2
    assert sentence in " ".join(answer.err.replace("│", " ").split())
    assert "Traceback" not in answer.err


def test_a_refused_request_leaves_no_folder_behind(heedful, data):
    heedful("train", data, "-o", "run", "--min-documents", "100000")
    heedful("train", data, "-o", "run", "--device", "tpu")
    heedful("train", data, "-o", "run", "--vectors", "no.txt")
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("failure", "code", "sentence"),
    [
        (MemoryError(), 3, "out of memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: …"), 3, "out of memory"),
        (RuntimeError("boom"), 70, "This is a bug in heedful"),
        (type("PanicException", (BaseException,), {})("boom"), 70, "This is a bug in heedful"),
        (OSError(28, "No space left on device"), 3, "the disk is full"),
    ],
)
def test_failures_of_the_machine_leave_with_code_three(
    heedful, data, monkeypatch, failure, code, sentence
):
    def fail(*arguments, **options):
        raise failure

    if isinstance(failure, OSError):
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(fit.Stage, "run", fail)
    answer = heedful("train", data, "-o", "run", *QUICK)
    assert answer.code == code
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_a_recipe_that_does_not_fit_leaves_no_folder_behind(heedful, data):
    sizes = ("--encoder", "lstm:hidden_size=8")  # embeddings have 100
    answer = heedful("train", data, "-o", "tied", "--recipe", "tying", "--epochs", "1", *sizes)
    assert answer.code == 2
    assert "tying compares hidden states with word embeddings" in answer.err
    assert not Path("tied").exists()


def test_labels_that_are_probably_mistakes_are_noted(heedful, data, rows):
    odd = [*rows, {"text": "x", "label": "Very Good"}, {"text": "y", "label": "nan"}]
    odd += [{"text": f"z {n}", "label": "Positive"} for n in range(9)]
    data.write_text("\n".join(map(json.dumps, odd)))
    answer = heedful("train", data, "-o", "run", *QUICK)
    assert answer.code == 0, answer.err
    assert "note: data.jsonl: label 'nan' looks like a missing value" in answer.err
    assert "note: data.jsonl: labels 'positive' (" in answer.err
    assert "note: data.jsonl: label 'Very Good' has only 1 document of 611" in answer.err
    assert "DataWarning" not in answer.err


def test_a_training_ends_with_the_next_command_and_says_if_nothing_was_learnt(heedful, data):
    learnt = heedful("train", data, "-o", "run", *QUICK)
    assert learnt.err.splitlines()[-1] == f"next: heedful audit run {data} -o run-audit"
    assert "not clearly better" not in learnt.err
    slow = ("--optimizer", "adam:learning_rate=0.0000001", "--epochs", "1")
    nothing = heedful("train", data, "-o", "nothing", *QUICK, *slow)
    assert "the accuracy is not clearly better than always predicting" in nothing.err
    pooled = heedful("train", data, "-o", "pooled", *QUICK, "--pooling", "mean")
    assert "next:" not in pooled.err
