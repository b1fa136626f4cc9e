import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.workers


@pytest.fixture
def documents(planted) -> Path:
    path = Path("reviews.csv")
    rows = [f'"{d.text}",{d.label}' for part in (planted.train, planted.test) for d in part]
    path.write_text("text,label\n" + "\n".join(rows))
    return path


@pytest.fixture
def trained(heedful, documents) -> Path:
    options = ("--encoder", "mlp:hidden_size=4", "--embedding-size", "4", "--epochs", "1")
    answer = heedful("train", documents, "-o", "made", *options, "-q")
    assert answer.code == 0, answer.err
    return Path("made")


def test_a_deep_audit_trains_twins_and_asks_them(heedful, trained, documents):
    answer = heedful("audit", trained, documents, "--deep", "--ask", "stable", "-o", "out")
    assert answer.code == 0, answer.err
    assert "training 3 models" in answer.err
    assert "seed-2 done" in answer.err
    assert "JSD between seeds" in answer.out
    made = {path.name for path in Path("out/twins").iterdir() if path.is_dir()}
    assert made == {"seed-2", "seed-3", "seed-4"}
    page = Path("out/report.html").read_text()
    assert "How far another seed" in page
    assert json.loads(Path("out/audit.json").read_text())["answers"][0]["question"] == "stable"


def test_a_deep_audit_that_was_killed_while_it_trained_goes_on(heedful, trained, documents):
    ask = ("audit", trained, documents, "--deep", "--ask", "stable", "-o", "out")
    Path("out/twins").mkdir(parents=True)  # what a kill in the first training leaves
    again = heedful(*ask)
    assert again.code == 2
    assert "--resume" in again.err
    resumed = heedful(*ask, "--resume", "-q")
    assert resumed.code == 0, resumed.err


def test_what_deep_lacks_is_said_before_anything_is_trained(heedful, trained, documents):
    ask = ("audit", trained, documents, "--deep", "--ask", "stable")
    no_folder = heedful(*ask)
    assert no_folder.code == 2
    assert "give a folder with -o" in no_folder.err
    Path("other.csv").write_text("text,label\na b,x\nc d,y\n" * 30)
    others = heedful(*ask, "-o", "out", "--train", "other.csv")
    assert others.code == 2
    assert "fingerprint" in others.err
    documents.rename("moved.csv")
    gone = heedful("audit", trained, "moved.csv", "--deep", "--ask", "stable", "-o", "out")
    assert gone.code == 2
    assert "Give them with --train" in gone.err
    assert not Path("out").exists()
    alone = heedful("audit", trained, "moved.csv", "--cores", "2")
    assert alone.code == 2
    assert "need --deep" in alone.err
