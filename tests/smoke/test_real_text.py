"""Real text, the way a user meets it: separate processes, the built-in reviews."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from heedful.cli import main; main()"]
TRAIN = ["train", "reviews-short", "--encoder", "lstm:hidden_size=16", "--epochs", "4"]


ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}  # tests run side by side


def heedful(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, env=ONE_THREAD
    )


def test_a_word_model_beats_the_majority_on_film_reviews():
    answer = heedful(
        *("train", "reviews-short", "-o", "run", "--encoder", "embedding", "--alignment"),
        *("dot:scale=10", "--epochs", "4", "--learning-rate", "0.005", "--json", "-q"),
    )
    assert answer.returncode == 0, answer.stderr
    test = json.loads(answer.stdout)["test"]
    assert test["accuracy_interval"][0] > test["majority_accuracy"] + 0.1
    predicted = heedful("predict", "run", "a wonderful , moving film", "dull and pointless")
    assert [line.split("\t")[0] for line in predicted.stdout.splitlines()] == [
        "positive",
        "negative",
    ]


@pytest.mark.slow
def test_a_training_killed_in_an_epoch_resumes_to_the_same_bytes():
    whole = heedful(*TRAIN, "-o", "whole", "-q")
    assert whole.returncode == 0, whole.stderr
    with subprocess.Popen(
        [*COMMAND, *TRAIN, "-o", "run"], stderr=subprocess.PIPE, text=True, env=ONE_THREAD
    ) as killed:
        for line in killed.stderr:
            if line.startswith("epoch 2"):
                time.sleep(0.3)  # now in the middle of the third
                killed.kill()
                break
    assert killed.returncode == -signal.SIGKILL
    assert not Path("run/provenance.json").exists()
    resumed = heedful(*TRAIN, "-o", "run", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    for name in ("model.safetensors", "tokenizer.json"):
        assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()


@pytest.mark.slow
def test_an_audit_killed_between_two_groups_resumes_to_the_same_answer():
    made = heedful(*TRAIN, "-o", "run", "-q")
    assert made.returncode == 0, made.stderr
    ask = ("audit", "run", "reviews-short", "--ask", "decisive", "--ask", "telling", "--json")
    whole = heedful(*ask)
    with subprocess.Popen([*COMMAND, *ask, "-o", "audit"], env=ONE_THREAD) as killed:
        while not list(Path("audit/parts").glob("*.safetensors")):
            time.sleep(0.05)
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    assert not Path("audit/audit.json").exists()
    kept = {path: path.stat().st_mtime_ns for path in Path("audit/parts").glob("*.safetensors")}
    resumed = heedful(*ask, "-o", "audit", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["answers"] == json.loads(whole.stdout)["answers"]
    assert kept
    assert Path("audit/report.html").is_file()
