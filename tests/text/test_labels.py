import json
from pathlib import Path

import pytest

import heedful
from heedful.errors import DataWarning
from heedful.text.labels import doubtful_labels
from heedful.text.readers import read_corpus

PLENTY = ["good"] * 300 + ["bad"] * 300
STRAY = "label 'Very Good' has only 1 document of 601: if that is a mistake, drop the document"
ALIKE = "labels 'good' (300 documents) and 'Good' (2 documents) differ only in case or white space"


def rows(labels: list[str], path: str = "d.jsonl") -> Path:
    Path(path).write_text(
        "\n".join(json.dumps({"text": f"text {n}", "label": one}) for n, one in enumerate(labels))
    )
    return Path(path)


def test_a_stray_label_is_told_with_its_count():
    (sentence,) = doubtful_labels([*PLENTY, "Very Good"])
    assert sentence.startswith(STRAY)


@pytest.mark.parametrize("label", ["nan", "NaN", "NULL", "None", "n/a", "NA", "", " ", "?"])
def test_a_label_that_looks_missing_is_told_however_common_it_is(label):
    (sentence,) = doubtful_labels([*PLENTY, *[label] * 200])
    assert sentence.startswith(
        f"label {label!r} looks like a missing value, but is a class with 200"
    )


@pytest.mark.parametrize("variant", ["Good", " good", "GOOD\t"])
def test_a_label_written_in_two_ways_is_told_once(variant):
    (sentence,) = doubtful_labels([*PLENTY, variant, variant])
    assert sentence.startswith(ALIKE.replace("'Good'", repr(variant)))


def test_small_but_plausible_classes_are_not_told():
    assert doubtful_labels([*PLENTY, *["mixed"] * 5]) == []  # five documents
    assert doubtful_labels([*PLENTY[250:350], "a", "a"]) == []  # 2 of 102 are above a hundredth
    assert doubtful_labels(["a"] * 9 + ["b"]) == []
    assert doubtful_labels([0, 1, True, 2.5, None]) == []


def test_many_rare_labels_do_not_drown_the_rest():
    told = doubtful_labels([*PLENTY, *map(str, range(20))])
    assert len(told) == 6
    assert told[-1] == "the same is true of 15 more labels"


def test_reading_warns_in_python_and_notes_for_the_command_line():
    path = rows([*PLENTY, "Very Good"])
    with pytest.warns(DataWarning, match=r"d.jsonl: label 'Very Good' has only 1 document of 601"):
        corpus = heedful.read(path)
    assert read_corpus(path, None, None, 0.1, 0.1).notes == corpus.notes
    assert "Very Good" in corpus.notes[0]


def test_fitting_warns():
    classifier = heedful.Classifier(encoder="embedding", recipe="standard:epochs=1")
    with pytest.warns(heedful.DataWarning, match="label 'nan' looks like a missing value"):
        classifier.fit(["a b"] * 40, ["x"] * 20 + ["nan"] * 20)
