"""Odd and damaged scores: read where they can be, else refused in a sentence."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest

from heedful.errors import DataError, UsageError
from heedful.importance.attributions import ScoredText, read_attributions, write_attributions
from heedful.importance.attributions.formats import eraser, formats

CAPTUM = {"texts": ["a b"], "tokens": [["a", "b"]], "attributions": [[1.0, 2.0]]}
ROW = {"text": "a b", "words": ["a", "b"], "scores": [1.0, 2.0]}


def scored(text: str, scores: list[float] | None = None) -> ScoredText:
    words = text.split()
    return ScoredText.of_tokens(text, words, scores or np.arange(len(words)), method="mine")


def test_cells_of_a_table_may_be_arrays_and_missing_ones_are_none():
    frame = pandas.DataFrame(
        {
            "text": ["a b", "c"],
            "words": [np.array(["a", "b"]), None],
            "tokens": [None, np.array(["c"])],
            "scores": [np.array([1.0, 2.0]), np.array([3.0])],
            "method": [None, float("nan")],
            "target": [float("nan"), 1],
        }
    )
    (found,) = read_attributions(frame)
    assert found.name == "attributions"
    assert [one.target for one in found.by_text.values()] == [None, "1"]
    assert [one.scores.tolist() for one in found.by_text.values()] == [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            ROW | {"words": []},
            "expected a score for each of 0 tokens, got an array of 2",
        ),
        (
            {"text": "a b", "offsets": [0, 1, 2], "scores": [1.0]},
            "offsets should be pairs of whole numbers, .*got an array of 3",
        ),
        (
            {"text": "a b", "offsets": [[0, 1.5]], "scores": [1.0]},
            "offsets should be pairs of whole numbers",
        ),
        (CAPTUM | {"targets": []}, "1 text, and 0 targets. Expected one for every text"),
        (CAPTUM | {"method": []}, "1 text, and 0 methods. Expected one for every text"),
        (CAPTUM | {"texts": 3}, "format captum, but cannot be read"),
        (
            {"values": [[1.0], [2.0]], "data": [["a"], ["b"]], "targets": ["x"]},
            "2 texts, and 1 target. Expected one for every text",
        ),
        ({"values": 1.0, "data": ["a"]}, "format shap, but cannot be read"),
        ({"annotation_id": "a", "rationales": [1]}, "format eraser, but cannot be read"),
        ({"annotation_id": "a", "rationales": [{"docid": "d"}]}, "no soft_rationale_predictions"),
        ({"sequence_attributions": [{"source": [], "source_attributions": 1.0}]}, "rows of scores"),
    ],
)
def test_odd_rows_are_refused_in_a_sentence(row, message):
    with pytest.raises(DataError, match=message):
        read_attributions([row])


@pytest.mark.parametrize("content", [b"PK\x03\x04 and then nothing", b"nothing of the kind", b""])
def test_a_damaged_file_of_arrays_is_refused_in_a_sentence(content):
    Path("scores.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"scores\.npz is not an .npz file of plain numpy arrays"):
        read_attributions("scores.npz")


def test_a_single_array_is_no_file_of_arrays():
    np.save("scores.npy", np.zeros(3))
    Path("scores.npy").rename("scores.npz")
    with pytest.raises(DataError, match=r"scores\.npz is not an .npz file of plain numpy arrays"):
        read_attributions("scores.npz")


@pytest.mark.parametrize("name", formats)
def test_an_empty_text_is_written_and_read_back(name):
    path = f"scores{formats.make(name).endings[0]}"
    write_attributions([scored(""), scored("a b")], path, name)
    (found,) = read_attributions(path)
    assert found.scored("").scores.shape == (0,)
    assert found.scored("a b").scores.tolist() == [0.0, 1.0]


def test_an_export_for_eraser_keeps_the_documents_that_are_there():
    before = json.dumps({"docid": "mine-0", "document": "of somebody else"})
    Path("docs.jsonl").write_text(before)  # without a line end
    write_attributions([scored("a b"), scored("c")], "mine.jsonl", "eraser")
    write_attributions([scored("d", [7.0])], "yours.jsonl", "eraser")
    assert Path("docs.jsonl").read_text().startswith(f"{before}\n")
    (mine,), (yours,) = read_attributions("mine.jsonl"), read_attributions("yours.jsonl")
    assert set(mine.by_text) == {"a b", "c"}
    assert yours.scored("d").scores.tolist() == [7.0]
    lines = Path("docs.jsonl").read_text().splitlines()
    write_attributions([scored("a b"), scored("c")], "mine.jsonl", "eraser")  # the same again
    assert Path("docs.jsonl").read_text().splitlines() == lines
    with pytest.raises(UsageError, match=r"docs\.jsonl holds ERASER's texts"):
        write_attributions([scored("a b")], "docs.jsonl", "eraser")


def test_texts_of_eraser_may_be_both_in_a_file_and_in_a_folder():
    Path("docs").mkdir()
    Path("docs/d").write_text("d e")
    rationale = {"docid": "d", "soft_rationale_predictions": [1.0, 2.0]}
    Path("theirs.jsonl").write_text(json.dumps({"annotation_id": "d", "rationales": [rationale]}))
    write_attributions([scored("a b")], "mine.jsonl", "eraser")
    assert set(read_attributions("theirs.jsonl")[0].by_text) == {"d e"}


def test_the_texts_of_eraser_are_read_once(monkeypatch):
    write_attributions([scored(f"a{n}") for n in range(20)], "mine.jsonl", "eraser")
    reads, read_rows = [], eraser.read_rows
    monkeypatch.setattr(eraser, "read_rows", lambda path: reads.append(path) or read_rows(path))
    assert len(read_attributions("mine.jsonl")[0].by_text) == 20
    assert len(reads) <= 1
