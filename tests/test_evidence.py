"""The page about what faithful attention costs and brings."""

import gzip
import json

import numpy as np
import pytest

from tools.evidence import packed, page, set_aside, set_aside_ranges, unpacked


def cell(recipe: str, seed: int, is_right: list[bool], verdict: str) -> dict:
    tests = {"true pictures": [0.9, 0.8, 0.95]}
    return {
        "data": "reviews", "variant": f"bilstm {recipe}", "seed": seed, "documents": len(is_right),
        "right": packed(np.array(is_right)), "verdict": verdict,
        "audited": 10, "tests": tests,
    }  # fmt: skip


def ids_in(file) -> list[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize("writer", [set_aside, set_aside_ranges])
def test_each_training_document_is_set_aside_once_in_a_range_with_its_neighbours(
    tmp_path, monkeypatch, writer
):
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    ids = {"train": [f"train/pos/{n}_8" for n in (7, 0, 3, 5, 2)], "dev": ["train/neg/6_1"]}
    for part, of_part in ids.items():
        file = tmp_path / "data" / "films" / f"{part}.jsonl.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(file, "wt", encoding="utf-8") as lines:
            lines.writelines(json.dumps({"id": one}) + "\n" for one in of_part)
    writer("films", tmp_path / "runs")
    parts = [
        {part: ids_in(folder / f"{part}.jsonl.gz") for part in ("train", "dev", "test")}
        for folder in sorted((tmp_path / "runs").iterdir())
    ]
    assert len(parts) == 4
    assert sorted(one for each in parts for one in each["test"]) == sorted(ids["train"])
    for each in parts:
        assert sorted(each["train"] + each["test"]) == sorted(ids["train"])
    if writer is set_aside_ranges:  # numbers 0 and 1, 2 and 3, 4 and 5, 6 and 7
        assert [sorted(each["test"]) for each in parts] == [
            ["train/pos/0_8"], ["train/pos/2_8", "train/pos/3_8"],
            ["train/pos/5_8"], ["train/pos/7_8"],
        ]  # fmt: skip
        assert [each["dev"] for each in parts] == [["train/neg/6_1"]] * 3 + [[]]


@pytest.mark.parametrize("documents", [1, 7, 8, 9, 100])
def test_which_documents_were_right_survives_being_packed(documents):
    is_right = np.random.default_rng(documents).random(documents) < 0.5
    np.testing.assert_array_equal(unpacked(packed(is_right), documents), is_right)


def test_a_line_holds_the_paired_difference_and_the_verdicts():
    half, all_ = [True, False] * 50, [True] * 100
    rows = [
        cell("standard", 1, half, "may-not"),
        cell("faithful", 1, all_, "may"),
        cell("faithful", 2, half, "not-safe"),  # there is no standard one of this seed
    ]
    faithful = page(rows).strip().splitlines()[-1].split(" | ")
    assert faithful[:3] == ["| reviews", "faithful", "75.0% (2)"]
    assert faithful[3].startswith("+50.0 [+")
    assert faithful[4] == "1 × may, 1 × not safe"
    assert faithful[5] == "0.90 0.90"


def test_where_people_point_is_compared_over_the_same_seeds():
    rows = [
        cell(recipe, seed, [True] * 10, "may") | {"people": {"F1 of 1 word": [value, 0.125]}}
        for recipe, seed, value in [
            ("standard", 1, 0.25), ("standard", 2, 0.5),
            ("faithful", 1, 0.5), ("faithful", 2, 0.75), ("faithful", 3, 1.0),
        ]  # there is no standard one of the last
    ]  # fmt: skip
    line = next(line for line in page(rows).splitlines() if "F1 of 1 word" in line)
    same = "+0.250 [+0.250,\N{NO-BREAK SPACE}+0.250]"
    assert line == (f"| reviews | BiLSTM | F1 of 1 word | 0.125 | 0.375 (2) | 0.750 (3) | {same} |")


def test_one_seed_has_no_interval_and_no_marks_make_no_table():
    people = {"people": {"AUPRC": [0.5, 0.25]}}
    rows = [cell(name, 1, [True], "may") | people for name in ("standard", "faithful")]
    assert next(line for line in page(rows).splitlines() if "AUPRC" in line).endswith("| +0.000 |")
    assert "Where people point" not in page([cell("faithful", 1, [True], "may")])


def test_standard_and_faithful_stand_side_by_side():
    rows = [
        cell("standard", 1, [True] * 10, "may-not"),
        cell("faithful", 1, [True] * 10, "may"),
        cell("faithful", 2, [True] * 10, "not-safe"),
    ]
    glance = next(line for line in page(rows).splitlines() if line.startswith("| reviews"))
    same = "+0.0 [+0.0,\N{NO-BREAK SPACE}+0.0]"
    assert glance == f"| reviews | BiLSTM | 100.0% (1) | 0 of 1 | 100.0% (2) | {same} | 1 of 2 |"
