"""Which class of the model a column of scores, or a score, is of."""

import numpy as np
import pytest

from heedful.errors import DataError
from heedful.importance.attributions import ScoredText, read_attributions

CLASSES = ("bad", "good")
FIRST, SECOND = [1.0, 2.0], [-1.0, -2.0]


def columns(names: tuple[str, ...], of_class: int, classes=CLASSES) -> list[float]:
    scores = np.array([FIRST, SECOND]).T
    one = ScoredText("a b", np.array([(0, 1), (2, 3)]), scores, classes=names)
    return one.of_class(of_class, classes).tolist()


def test_a_column_is_found_by_the_name_of_its_class_in_any_case():
    assert columns(("GOOD", "Bad"), 1) == FIRST
    assert columns(("GOOD", "Bad"), 0) == SECOND
    assert columns(("Good", "good"), 1, ("good", "Good")) == FIRST  # exactly, where case tells


def test_a_column_goes_by_its_place_only_where_no_class_is_named():
    assert columns((), 1) == SECOND
    assert columns(("LABEL_1", "LABEL_0"), 1) == FIRST
    assert columns(("0", "1"), 1) == SECOND
    assert columns(("2", "1"), 0, ("1", "2")) == SECOND  # a class that is called 1 comes first


@pytest.mark.parametrize("names", [("positive", "negative"), ("good", "positive"), ("good",) * 2])
def test_classes_that_are_not_those_of_the_model_are_refused(names):
    with pytest.raises(DataError, match=r"of the classes .*the model has bad, good"):
        columns(names, 1)


def test_as_many_classes_are_named_as_there_are_columns():
    with pytest.raises(DataError, match="names 3 classes and has scores for 2"):
        columns(("bad", "good", "so-so"), 1)


def explained(given: object, number: int, classes: tuple[str, ...]) -> bool:
    """Whether scores are taken for those of a class; refused otherwise."""
    (found,) = read_attributions(given)
    try:
        next(iter(found.by_text.values())).of_class(number, classes)
    except DataError:
        return False
    return True


TABLE = {"text": "a", "words": ["a"], "scores": [1.0]}
FERRET = {"text": "a", "tokens": ["a"], "scores": [1.0], "explainer": "x"}
CAPTUM = {"texts": ["a"], "tokens": [["a"]], "attributions": [[1.0]]}


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ([TABLE | {"target": 2}], 1),  # the class that is called 2
        ([TABLE | {"target": "1"}], 0),
        ([TABLE | {"target": 1.0}], 0),  # a whole number in a table with gaps
        ([TABLE | {"target": 0}], 0),  # no class is called 0: the first
        ({"values": [[1.0]], "data": [["a"]], "targets": [2]}, 1),
        ([FERRET | {"target_pos_idx": 1}], 1),  # numbers, whatever classes are called
        (CAPTUM | {"targets": np.array([1])}, 1),
        (CAPTUM | {"targets": np.array(["1"])}, 0),  # a name
    ],
)
def test_a_class_with_a_number_for_a_name_is_the_one_that_is_meant(given, number):
    assert explained(given, number, ("1", "2"))
    assert not explained(given, 1 - number, ("1", "2"))


def test_scores_of_a_class_that_the_model_does_not_have_are_refused_with_its_classes():
    (found,) = read_attributions([TABLE | {"target": "positive"}])
    with pytest.raises(DataError, match="'positive', and the model has bad, good"):
        found.by_text["a"].of_class(1, CLASSES)
