"""The command line, called as a user calls it but in this process."""

import io
import json
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from heedful.cli import main


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def heedful(capsys, monkeypatch):
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}

    def call(*arguments: object, stdin: bytes | None = None) -> Answer:
        monkeypatch.setattr(sys, "argv", ["heedful", *map(str, arguments)])
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Answer(left.value.code or 0, captured.out, captured.err)

    yield call
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def rows(planted) -> list[dict[str, str]]:
    return [{"text": d.text, "label": d.label} for d in planted.train]


@pytest.fixture
def data(tmp_path: Path, rows) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


QUICK = [
    *("--encoder", "embedding", "--optimizer", "adam:learning_rate=0.05", "--epochs", "2"),
    *("--embedding-size", "8", "--dropout", "0", "--split", "spaces"),
]


@pytest.fixture
def run(heedful, data, tmp_path: Path) -> Path:
    answer = heedful("train", data, "-o", tmp_path / "run", *QUICK)
    assert answer.code == 0, answer.err
    return tmp_path / "run"


@pytest.fixture(scope="session")
def transformer_folder(tmp_path_factory) -> Path:
    from tests.readouts.tiny import fine_tuned  # takes seconds to import, and few tests need it

    folder = tmp_path_factory.mktemp("hf") / "planted"
    for part in fine_tuned():
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def saved(transformer_folder) -> Path:
    """A fine-tuned Transformer in the working directory, for the test to change."""
    return Path(shutil.copytree(transformer_folder, "planted"))
