"""Deep audits, other judges and analyses as part of a sweep."""

from pathlib import Path

import pandas
import pytest

import heedful
from heedful.analysis.instruments import analyses
from heedful.errors import ConfigError
from heedful.sweeps.grid import Grid
from heedful.training.task import find_corpus
from heedful.training.trained import Trained
from tests.sweeps.grids import QUICK, Hearing

pytestmark = pytest.mark.workers

VARIANTS = [
    {"name": "attends", "pooling": "attention"},
    {"name": "pools", "pooling": "mean"},
]
DEEP = {
    "ask": ["needed", "leak-free"],
    "documents": 20,
    "deep": True,
    "settings": {"chosen_words": 2, "adversary_epochs": 1, "adversary_weights": [0.01]},
}


def test_analyses_of_a_cell_are_those_of_the_command_and_are_not_made_again():
    grid = {**QUICK, "seeds": [1, 2], "analyse": ["word-scores", "information:clusters=5"]}
    first = heedful.sweep(grid, "out", cores=1)
    frame = pandas.read_parquet("out/analyses.parquet")
    assert set(frame["table"]) >= {"word-scores.kinds", "information.information"}
    run = Path("out", first.rows[0]["run"])
    documents = find_corpus(QUICK["data"]).train
    by_hand = analyses.make("word-scores").analyse(Trained.load(run), documents, 0)
    rows = frame[(frame["run"] == run.name) & (frame["table"] == "word-scores.kinds")]
    expected = [row["local_polarity"] for row in by_hand.tables["kinds"]]
    # Computed in another process, whose products of matrices may be split up otherwise.
    assert rows["local_polarity"].tolist() == pytest.approx(expected, rel=1e-5)
    assert rows["seed"].tolist() == [1] * len(expected)
    watcher = Hearing()
    again = heedful.sweep(grid, "out", cores=1, watcher=watcher)
    assert again.was_done_before
    assert again.tables == first.tables
    assert watcher.begun == []


def test_a_deep_audit_trains_twins_as_jobs_of_the_sweep():
    watcher = Hearing()
    swept = heedful.sweep({**QUICK, "audit": DEEP}, "out", cores=1, watcher=watcher)
    (row,) = swept.rows
    assert row["state"] == "done"
    twins = [name for name in watcher.begun if "-twin-" in name]
    assert len(twins) > 5
    assert watcher.begun[-1].endswith("-audit")
    assert row["audit.needed"] != "not asked"
    assert isinstance(row["audit.leak-free.FS-A.mean"], float)
    assert {one["table"] for one in swept.tables} >= {"audit.facts"}


def test_a_sweep_that_was_moved_is_done_all_the_same():
    variants = [*VARIANTS, {"name": "a third", "dropout": 0.1}]
    deep = {**DEEP, "ask": ["leak-free", "exclusive"]}
    grid = {**QUICK, "variants": variants, "audit": deep, "analyse": ["deletion:judge=@pools:k=1"]}
    heedful.sweep(grid, "here", cores=2)
    Path("here").rename("there")
    watcher = Hearing()
    again = heedful.sweep(grid, "there", cores=1, watcher=watcher)
    assert again.states == {"done": 3}
    assert watcher.begun == []
    assert "deletion.curve" in {row["table"] for row in again.tables}


def test_a_judge_without_a_cell_like_it_is_refused():
    variants = [{"name": "a b", "seed": 1}, {"name": "c", "seed": 2}]
    with pytest.raises(ConfigError, match="'a b', which has no cell with the same"):
        heedful.sweep({**QUICK, "variants": variants, "audit": {"judge": "a b"}}, "out")
    with pytest.raises(ConfigError, match="'a b', which has no cell with the same"):
        heedful.sweep({**QUICK, "variants": variants, "analyse": ["deletion:judge=@a b"]}, "out")


def test_another_variant_judges_and_is_trained_first():
    audit = {"ask": ["telling"], "documents": 20, "judge": "pools"}
    grid = {**QUICK, "variants": VARIANTS, "audit": audit}
    swept = heedful.sweep(grid, "judged", cores=1)
    own = heedful.sweep({**grid, "audit": {**audit, "judge": "attends"}}, "judged", cores=1)
    judged, pooled = swept.rows
    assert "verdict" not in pooled
    column = "audit.telling.comprehensiveness.value"
    assert judged[column] != own.rows[0][column]
    (place,) = (p for p in Path("judged", judged["run"]).glob("audit-*") if _judge(p) == "pools")
    assert heedful.Audit.load(place).answer("telling").tests


def _judge(place: Path) -> str:
    return str(heedful.Audit.load(place).about["judge"])


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"analyse": ["word-score"]}, "analyse: no analysis named 'word-score'"),
        ({"analyse": ["gradient-flow"]}, "trains its own models"),
        ({"analyse": 3}, "analyse should be a list"),
        ({"analyse": ["word-scores:x=1"]}, "no option named 'x'"),
        ({"audit": {"judge": "pool"}, "variants": VARIANTS}, "Did you mean 'pools'"),
        ({"analyse": ["deletion:judge=@pool"], "variants": VARIANTS}, "Did you mean 'pools'"),
        ({"audit": {"judge": "base"}}, "judge: no variant named 'base'"),
        ({"audit": {"settings": {"permutation": 5}}}, "settings: no option named 'permutation'"),
        ({"audit": {"settings": 5}}, "settings should be a table"),
        ({"audit": {"deep": "yes"}}, "deep should be"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_runs(asked, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Grid.from_plain({**QUICK, **asked})
