"""One writer per output folder, and what a killed one leaves: with processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heedful import runs, storage
from heedful.runs import RunFolder
from heedful.storage import held
from heedful.training.trained import Trained
from tests.cli.conftest import QUICK

pytestmark = pytest.mark.workers

MAIN = "from heedful.cli import main; main()"
ASK = ("--ask", "decisive", "--documents", "40", "--json", "-q")

# A process that is killed when it first moves a file to its place, or first removes parts.
KILLED_WRITING = """
import os, signal, stat
def die(descriptor):
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = die
"""
KILLED_CLEARING = """
import os, shutil, signal
from pathlib import Path
def die(folder, **options):
    files = sorted(Path(folder).iterdir(), key=lambda file: file.name != "request.json")
    files[0].unlink()
    os.kill(os.getpid(), signal.SIGKILL)
shutil.rmtree = die
"""


def started(*arguments: object, before: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{MAIN}", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


WAITING = """
import os, time
from pathlib import Path
import heedful, heedful.auditing.subjects.classifier, heedful.cli.app
Path(f"ready-{os.getpid()}").touch()
while not Path("go").exists():
    time.sleep(0.005)
"""


def together(*commands: tuple[object, ...]) -> list[tuple[int, str, str]]:
    """All at once, once all is imported; what came of each, the one that did it first."""
    both = [started(*command, before=WAITING) for command in commands]
    while len(list(Path().glob("ready-*"))) < len(both):
        assert all(process.poll() is None for process in both)
        time.sleep(0.05)
    Path("go").touch()
    return sorted(map(ended, both))


def test_of_two_trainings_started_together_one_is_refused_and_nothing_is_mixed(data):
    train = ("train", data, "-o", "run", *QUICK, "-q", "--seed")
    done, refused = together((*train, 1), (*train, 2))
    assert done[0] == 0, done[2]
    assert refused[0] == 2
    assert "run is being written by another process" in refused[2] or "already exists" in refused[2]
    trained = Trained.load("run")  # whose checksums it has
    assert trained.provenance["seed"] == trained.settings.training.seed
    assert {path.name for path in Path("run").iterdir()} == {*runs.CHECKSUMMED, runs.PROVENANCE}


def test_of_two_audits_started_together_one_is_refused_and_nothing_is_mixed(run, data):
    audit = ("audit", run, data, "-o", "audit", *ASK, "--seed")
    done, refused = together((*audit, 0), (*audit, 1))
    assert done[0] == 0, done[2]
    assert refused[0] == 2
    assert "audit is being written by another" in refused[2] or "already exists" in refused[2]
    saved = json.loads(Path("audit/audit.json").read_text())
    assert {**saved, **json.loads(done[1])} == saved


def test_a_run_under_way_is_not_resumed_by_a_second_process(heedful, data):
    train = ("train", data, "-o", "run", *QUICK, "--epochs", "500", "--set", "patience=500")
    first = started(*train)
    while not RunFolder("run").is_begun:
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.05)
    second = heedful(*train, "--resume")
    assert second.code == 2
    assert second.err.splitlines()[-1].startswith(
        f"heedful: run is being written by another process (process {first.pid}, since 2"
    )
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert Path("run", storage.LOCK).is_file()  # it could not tidy up, and is in nobody's way
    third = heedful(*train, "--resume", "--epochs", "500", "--set", "patience=500")
    assert "is being written" not in third.err


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "RUN", "--data", "DATA"),
        ("demo",),
        ("analyse", "training", "RUN"),
        ("probe", "shortcuts", "DATA"),
        ("calibrate", "--quick"),
        ("audit", "RUN", "DATA"),
        ("train", "DATA"),
    ],
)
def test_every_command_that_writes_a_folder_holds_it(run, data, command, heedful):
    words = {"RUN": run, "DATA": data}
    program = (
        "import sys; from heedful.storage import held\n"
        "with held('out'): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        answer = heedful(*(words.get(word, word) for word in command), "-o", "out")
        assert answer.code == 2
        assert f"out is being written by another process (process {holder.pid}, " in answer.err
    assert not Path("out").exists()
    with held("out"):
        pass


def test_a_training_killed_in_its_first_write_is_begun_again(heedful, data):
    code, _, err = ended(started("train", data, "-o", "run", *QUICK, before=KILLED_WRITING))
    assert code == -signal.SIGKILL, err
    assert [path.suffix for path in Path("run").iterdir() if path.name != storage.LOCK] == [".part"]
    answer = heedful("train", data, "-o", "run", *QUICK, "--resume")
    assert answer.code == 0, answer.err
    assert "run holds no unfinished run, so a new one is started" in answer.err
    assert {path.name for path in Path("run").iterdir()} == {*runs.CHECKSUMMED, runs.PROVENANCE}


def test_an_audit_killed_in_its_first_write_is_begun_again(heedful, run, data):
    audit = ("audit", run, data, "-o", "audit", *ASK)
    code, _, err = ended(started(*audit, before=KILLED_WRITING))
    assert code == -signal.SIGKILL, err
    answer = heedful(*audit, "--resume")
    assert answer.code == 0, answer.err
    names = ["audit.json", "per_example.parquet", "report.html", "request.json"]
    assert sorted(path.name for path in Path("audit").iterdir()) == names


def test_an_audit_killed_while_its_parts_are_cleared_is_taken_for_no_other(heedful, run, data):
    audit = ("audit", run, data, "-o", "audit", *ASK)
    code, _, err = ended(started(*audit, before=KILLED_CLEARING))
    assert code == -signal.SIGKILL, err
    other = heedful(*audit, "--resume", "--seed", "1")
    assert other.code == 2, other.out
    assert "audit holds an audit started with seed = 0, not 1" in other.err
    answer = heedful(*audit, "--resume")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["settings"]["seed"] == 0
    names = ["audit.json", "per_example.parquet", "report.html", "request.json"]
    assert sorted(path.name for path in Path("audit").iterdir()) == names
