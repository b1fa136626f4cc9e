import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import pytest

from heedful.errors import ConfigError, RunError
from heedful.records import none_as, read_record
from heedful.runs import RunFolder


class Row(TypedDict, total=False):
    word: str
    weight: float


@dataclass(frozen=True)
class Part:
    value: float
    interval: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Whole:
    name: str
    parts: tuple[Part, ...]
    kind: Literal["new", "old"] | None = field(default=None, metadata=none_as("not said"))
    best: Part | None = None
    rows: list[Row] = field(default_factory=list)
    facts: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def test_a_record_is_read_by_the_types_of_its_fields():
    plain = {
        "name": "a",
        "parts": [{"value": 1, "interval": [0.5, 2]}, {"value": 2.5}],
        "kind": "old",
        "best": {"value": 3.0},
        "rows": [{"word": "good", "weight": 0.5, "of_a_later_version": [1]}],
        "facts": {"anything": [1, {"goes": None}]},
        "counts": {"test": 4},
        "of_a_later_version": 5,
    }
    assert read_record(Whole, plain) == Whole(
        "a",
        (Part(1.0, (0.5, 2.0)), Part(2.5)),
        "old",
        Part(3.0),
        [{"word": "good", "weight": 0.5, "of_a_later_version": [1]}],
        {"anything": [1, {"goes": None}]},
        {"test": 4},
    )


def test_null_where_a_number_is_meant_is_not_a_number():
    found = read_record(Part, {"value": None, "interval": [None, 1]})
    assert math.isnan(found.value)
    assert math.isnan(found.interval[0])
    assert found.interval[1] == 1


def test_a_word_of_the_file_may_stand_for_none():
    assert read_record(Whole, {"name": "a", "parts": [], "kind": "not said"}).kind is None


GOOD = {"name": "a", "parts": [{"value": 1}]}


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        ([], "the file should be an object, not []."),
        ({"parts": []}, "name is missing."),
        ({**GOOD, "name": 3}, "name should be a word, not 3."),
        ({**GOOD, "parts": {}}, "parts should be a list, not {}."),
        ({**GOOD, "parts": [{"value": 1}, {}]}, "parts[1].value is missing."),
        (
            {**GOOD, "parts": [{"value": "high"}]},
            "parts[0].value should be a finite number or none, not 'high'.",
        ),
        (
            {**GOOD, "parts": [{"value": 1, "interval": [1]}]},
            "parts[0].interval should be a list of 2, not [1].",
        ),
        ({**GOOD, "best": {"value": True}}, "best.value should be a finite number or none, not"),
        ({**GOOD, "kind": "newer"}, "kind should be 'new' or 'old' or none, not 'newer'."),
        ({**GOOD, "rows": [{"word": None}]}, "rows[0].word should be a word, not None."),
        ({**GOOD, "counts": {"test": 0.5}}, "counts.test should be a whole number, not 0.5."),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(plain, says):
    with pytest.raises(ConfigError) as error:
        read_record(Whole, plain)
    assert str(error.value).startswith(says)


def test_a_file_that_does_not_fit_is_refused_with_its_path_and_what_to_do(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_json("whole.json", {"schema": 2, "name": "a"})
    assert folder.read_json("whole.json")["name"] == "a"
    with pytest.raises(RunError) as error:
        folder.read_record("whole.json", Whole, schemas=[2], advice="Make it again.")
    path = tmp_path / "whole.json"
    assert str(error.value) == (
        f"{path} is not as heedful wrote it: parts is missing. Make it again."
    )
    with pytest.raises(RunError) as error:
        folder.read_record("whole.json", Whole, schemas=[1], advice="Make it again.")
    assert str(error.value) == (f"{path} has schema 2; this version reads 1. Make it again.")
