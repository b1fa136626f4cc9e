import json
import re
from pathlib import Path

import pandas
import pytest

pytestmark = pytest.mark.workers

GRID = """
data = {data!r}
seeds = [1, 2]
[model]
encoder = "embedding"
embedding_size = 4
[training]
recipe = "standard:epochs=1"
[axes]
{axes}
"""


@pytest.fixture
def grid(data):
    def write(axes: str = 'projection = ["softmax"]') -> Path:
        Path("grid.toml").write_text(GRID.format(data=data.name, axes=axes))
        return Path("grid.toml")

    return write


def test_a_sweep_says_what_it_does_and_a_second_one_that_nothing_is_left(heedful, grid):
    answer = heedful("sweep", grid(), "-o", "out", "--cores", "2")
    assert answer.code == 0, answer.err
    told = answer.err.splitlines()
    assert len(told) == 2
    pattern = r"data.jsonl, projection softmax, seed [12] done \([\d.]+ s\); 2 of 2 done"
    assert re.fullmatch(pattern, told[1])
    header, line, blank, last = answer.out.splitlines()
    assert re.split(r"  +", header) == ["data", "projection", "cells", "test accuracy"]
    assert re.fullmatch(r"data.jsonl  softmax +2 +[\d.]+% \([\d.]+% to [\d.]+%\)", line)
    assert blank == ""
    assert last == "2 cells: 2 done; results in out/results.parquet"
    assert len(pandas.read_parquet("out/results.parquet")) == 2

    again = heedful("sweep", grid(), "-o", "out")
    assert (again.code, again.err) == (0, "")
    assert again.out == "nothing to do: 2 cells already done; results in out/results.parquet\n"


def test_a_failed_cell_is_in_the_answer_and_in_the_exit_code(heedful, grid):
    axes = 'vectors = ["none", "gone.txt"]'
    answer = heedful("sweep", grid(axes), "-o", "out", "--json", "--quiet")
    assert (answer.code, answer.err) == (1, "")
    result = json.loads(answer.out)
    assert (result["done"], result["failed"], result["not_run"]) == (2, 2, 0)
    assert [cell["state"] for cell in result["cells"]] == ["done", "done", "failed", "failed"]
    assert "gone.txt" in result["cells"][2]["error"]
    again = heedful("sweep", grid(axes), "-o", "out", "--quiet")
    assert again.code == 1
    assert again.out == (
        "4 cells: 2 done, 2 failed; run again to retry the failed cells; "
        "results in out/results.parquet\n"
    )


@pytest.mark.parametrize(
    ("axes", "sentence"),
    [
        ("dropuot = [0.1]", "axes: no setting named 'dropuot'. Did you mean 'dropout'?"),
        ("dropout = []", "axes: dropout has no values."),
        ('dropout = ["much"]', "axes: dropout should be a finite number, not 'much'."),
        ("dropout = [0.1, 0.2, 0.3]", "the grid has 6 cells (1 data x 1 variants x 3 dropout x 2"),
        ("dropout = [", "grid.toml is not a TOML file"),
    ],
)
def test_a_bad_grid_is_refused_and_nothing_is_made(heedful, grid, axes, sentence):
    answer = heedful("sweep", grid(axes), "-o", "out", "--max-cells", "5")
    assert answer.code == 2
    assert sentence in answer.err
    assert not Path("out").exists()


def test_a_corpus_or_a_grid_that_is_not_there_is_refused(heedful, grid, data):
    place = grid()
    data.unlink()
    answer = heedful("sweep", place, "-o", "out")
    assert answer.code == 2
    assert "data = 'data.jsonl': no such file or folder: data.jsonl." in answer.err
    assert "no grid at gone.toml" in heedful("sweep", "gone.toml", "-o", "out").err
    assert not Path("out").exists()
