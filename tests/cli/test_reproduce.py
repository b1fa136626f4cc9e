import json
from pathlib import Path

import pytest

from heedful.papers.paper import read_paper

pytestmark = pytest.mark.workers


def a_paper(grid, expected):
    """On documents of its own: the real corpora are not always there."""
    grid = {"data": "planted:documents=200", **grid}
    runs = {"title": "A paper", "table-1": {"title": "accuracy", "grid": grid}}
    return read_paper("mine", runs, {"table-1": expected}, "# Mine\n\nSome words.")


def test_a_paper_is_done_again_from_the_command_line(heedful, monkeypatch):
    grid = {
        "seeds": [1, 2, 3],
        "training": {"recipe": "standard:epochs=2"},
        "variants": [{"name": "mlp", "encoder": "mlp"}],
        "axes": {"dropout": [0.0, 0.5]},
    }
    expected = {
        "row": "dropout", "column_of": "variant", "column": "test.accuracy", "times": 100,
        "tolerance": 100, "source": "S",
        "blocks": [{"columns": ["mlp"], "values": [[0.0, 99.0], [0.5, 98.0], [0.9, 50.0]]}],
        "claims": [{"says": "it is flat", "cells": {"dropout": [0.0, 0.5]}, "spread": 100}],
        "pictures": [{"title": "Flat?", "over": "dropout", "lines": "variant"}],
    }  # fmt: skip
    paper = a_paper(grid, expected)
    monkeypatch.setattr("heedful.papers.paper.load_paper", lambda name: paper)
    done = heedful("reproduce", "mine", "-o", "again", "--cores", "2")
    assert done.code == 0, done.err
    assert (
        "table-1: 2 of 2 published numbers replicate; 1 test of a claim: holds; 1 others"
        in done.out
    )
    page = Path("again") / "table-1" / "report.html"
    assert "it is flat" in page.read_text()
    markdown = (Path("again") / "table-1" / "page.md").read_text()
    assert "| dropout 0.5, mlp | 98 |" in markdown
    assert "![Flat?](figure-1.png)" in markdown
    assert "Runs: 6 on cpu, PyTorch" in markdown
    assert "| all runs | recipe | standard:epochs=2 |" in markdown
    assert "| all runs | dropout | 0.0, 0.5 |" in markdown
    assert "| seed |" not in markdown
    assert (Path("again") / "table-1" / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((Path("again") / "table-1" / "reproduction.json").read_text())
    assert [number["published"] for number in kept["numbers"]] == [99.0, 98.0]
    assert [point["over"] for point in kept["pictures"][0]["points"]] == [0.0, 0.5]
    again = heedful("reproduce", "mine", "-o", "again", "--cores", "2")
    assert again.code == 0
    assert "done (" not in again.err  # nothing was trained


def test_a_training_that_fails_is_named_and_the_rest_is_compared(heedful, monkeypatch):
    grid = {
        "training": {"recipe": "standard:epochs=1"},
        "axes": {"vectors": ["none", "missing.txt"]},
    }
    claim = {"says": "vectors help", "at": {"vectors": "missing.txt"}}
    paper = a_paper(grid, {"column": "test.accuracy", "claims": [claim]})
    monkeypatch.setattr("heedful.papers.paper.load_paper", lambda name: paper)
    done = heedful("reproduce", "mine", "-o", "again", "--cores", "1")
    assert done.code == 1
    assert "1 run failed" in done.out
    assert "open: it failed: no file of word vectors" in done.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sun-lo"], "no paper named 'sun-lo'. Did you mean 'sun-lu'?"),
        (["sun-lu", "--table", "9"], "sun-lu has no table-9 here."),
        (["sun-lu", "--table", "2", "--data", "mr"], "table-2 does not use 'mr'. Known: sst2_jw"),
        (["sun-lu", "--seeds", "one"], "--seeds expects whole numbers"),
    ],
)
def test_bad_requests_are_sentences(heedful, arguments, sentence):
    done = heedful("reproduce", *arguments)
    assert done.code == 2
    assert sentence in done.err
