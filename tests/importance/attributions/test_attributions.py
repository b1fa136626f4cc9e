"""Scores of others, aligned to the words of a model."""

import base64
import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pytest
import torch
from safetensors.numpy import save

from heedful.errors import DataError
from heedful.importance.attributions import (
    Attributions,
    ScoredText,
    read_attributions,
    write_attributions,
)
from heedful.importance.attributions.base import overlaps
from heedful.importance.attributions.formats import formats
from tools.harden.files import mutated_lines
from tools.harden.mutations import mutated_bytes

TEXT = "A good film."
WORDS = np.array([(0, 1), (2, 6), (7, 11), (11, 12)])


def aligned(given: object, target: int = 1, classes=("bad", "good")) -> list[float]:
    """The scores of the four words of the text."""
    (found,) = read_attributions(given)
    with_classes = Attributions(found.name, found.by_text, classes)
    return with_classes.of_words(TEXT, WORDS, target).tolist()


def test_a_words_score_is_the_sum_of_its_parts_and_a_part_of_several_words_is_shared_out():
    # "film." has 5 characters: 4 of them are the word film, 1 is the full stop
    row = {"text": TEXT, "tokens": ["A", "go", "##od", "film."], "scores": [1, 2, 3, 10]}
    assert aligned([row]) == [1.0, 5.0, 8.0, 2.0]
    assert overlaps(np.array([(0, 0)]), WORDS).tolist() == [[0.0] * 4]  # [CLS] is nowhere


def test_offsets_and_tables_of_pandas_are_read():
    frame = pandas.DataFrame(
        {"text": [TEXT], "offsets": [WORDS.tolist()], "scores": [[1.0, 2.0, 3.0, 4.0]]}
    )
    assert aligned(frame) == [1.0, 2.0, 3.0, 4.0]


def test_arrays_of_captum_with_their_tokens_are_summed_over_vectors():
    arrays = {
        "texts": [TEXT],
        "tokens": [["[CLS]", "a", "good", "film", ".", "[SEP]", "", ""]],
        "attributions": torch.arange(16.0).reshape(1, 8, 2),  # sums 1, 5, 9, 13, 17, …
    }
    assert aligned(arrays) == [5.0, 9.0, 13.0, 17.0]


@dataclass
class Explanation:  # as SHAP has it
    values: object
    data: object
    output_names: object = None


def test_an_explanation_of_shap_is_read_for_the_predicted_class_by_its_name():
    data = [np.array(["A ", "good ", "film", "."])]
    values = [np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0]])]
    assert aligned(Explanation(values, data)) == [-1.0, -2.0, -3.0, -4.0]
    named = Explanation(values, data, ["good", "bad"])
    assert aligned(named) == [1.0, 2.0, 3.0, 4.0]


def test_what_inseq_saves_is_read_with_its_tensors_as_strings():
    scores = np.array([[0.5, 0.5], [1.0, 2.0], [np.nan, 4.0], [5.0, 0.0]], dtype=np.float32)
    tensor = base64.b64encode(save({"attribution": scores})).decode()
    tokens = [{"token": t, "id": 7} for t in ("▁A", "▁good", "▁film", ".")]
    sequence = {"source": tokens, "target": [], "source_attributions": tensor}
    whole = {
        "__instance_type__": ["inseq.data.attribution", "FeatureAttributionOutput"],
        "attributes": {
            "sequence_attributions": [{"__instance_type__": [], "attributes": sequence}],
            "info": {"input_texts": [TEXT], "attribution_method": "saliency"},
        },
    }
    Path("out.json").write_text(json.dumps(whole, indent=4))
    assert aligned("out.json") == [1.0, 3.0, 4.0, 5.0]
    assert read_attributions("out.json")[0].name == "saliency"


def test_predictions_of_eraser_find_their_texts_in_docs_beside_them():
    scores = {"docid": "d", "soft_rationale_predictions": [0.1, 0.7, 0.5]}
    row = {"annotation_id": "a", "rationales": [scores], "classification": "good"}
    Path("predictions.jsonl").write_text(json.dumps(row))
    with pytest.raises(DataError, match="contain no texts: put them there"):
        aligned("predictions.jsonl")
    Path("docs").mkdir()
    Path("docs/d").write_text("A good\nfilm.")
    assert aligned("predictions.jsonl") == pytest.approx([0.1, 0.7, 0.4, 0.1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"text": TEXT, "words": ["A", "bad", "film"], "scores": [1, 2, 3]},
            r"attributions, item 1 \('A good film\.'\): its token 2, 'bad', does not come next",
        ),
        (
            {"text": TEXT, "words": ["A", "good"], "scores": [1, 2, 3]},
            r"item 1 \('A good film\.'\): expected a score for each of 2 tokens, got an",
        ),
        (
            {"text": TEXT, "offsets": [[0, 99]], "scores": [1]},
            "the positions of its words lie outside the text",
        ),
        (
            {"text": TEXT, "words": ["A"], "scores": [float("nan")]},
            "every score should be a finite number",
        ),
        (
            {"text": TEXT, "words": ["A", "good", "film", "."], "scores": [1] * 4, "target": "bad"},
            "explain the class 'bad', but the model predicts 'good'",
        ),
        ({"sentence": TEXT, "weights": [1]}, "match no known format"),
    ],
)
def test_what_does_not_fit_its_text_is_refused_in_a_sentence_that_names_the_document(row, message):
    with pytest.raises(DataError, match=message):
        aligned([row])


def test_two_different_scores_for_one_text_are_refused_and_equal_ones_are_not():
    row = {"text": TEXT, "words": ["A"], "scores": [1.0]}
    assert len(read_attributions([row, row])[0].by_text) == 1
    with pytest.raises(DataError, match="other scores for the same text than attributions, item 1"):
        read_attributions([row, {**row, "scores": [2.0]}])


def test_texts_that_differ_in_case_have_scores_of_their_own():
    rows = [{"text": t, "words": ["A"], "scores": [s]} for t, s in ((TEXT, 1.0), ("a GOOD", 2.0))]
    (found,) = read_attributions([*rows, {**rows[0], "text": TEXT.lower(), "scores": [3.0]}])
    assert found.scored(TEXT).scores == [1.0]
    assert found.scored(TEXT.lower()).scores == [3.0]
    assert found.scored(f" {TEXT.lower()} ").scores == [3.0]  # white space before case
    assert found.scored("a good").scores == [2.0]
    assert found.scored(TEXT.upper()) is None  # it might be either


def test_the_digest_changes_with_the_class_that_is_explained():
    row = {"text": TEXT, "words": ["A", "good"], "scores": [[1.0, 2.0], [3.0, 4.0]]}
    digests = {
        read_attributions([row | more])[0].digest
        for more in (
            {"classes": ["bad", "good"]},
            {"classes": ["good", "bad"]},
            {"scores": [1.0, 2.0], "target": "bad"},
            {"scores": [1.0, 2.0], "target": "good"},
        )
    }
    assert len(digests) == 4


def test_scores_are_placed_on_a_document_that_differs_in_white_space_and_case():
    scored = ScoredText.of_tokens("a GOOD  film .", ["a", "good", "film", "."], [1, 2, 3, 4])
    assert aligned([scored]) == [1.0, 2.0, 3.0, 4.0]


def test_words_without_a_score_count_as_0_and_are_noted():
    (found,) = read_attributions([{"text": TEXT, "offsets": [[2, 6]], "scores": [1.0]}])
    assert found.of_words(TEXT, WORDS, 0).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert found.unscored(TEXT, WORDS) == 3
    assert found.notes_on(np.array([3.0, 0.0])) == (
        "attributions: 3 words of 1 document without a score, counted as 0",
    )
    assert found.notes_on(np.zeros(2)) == ()


def test_a_text_of_signs_that_no_score_stands_on_has_zeros_and_is_noted():
    rows = [{"text": "!!! ???", "words": [], "scores": []}]
    (found,) = read_attributions([*rows, {"text": TEXT, "words": ["A"], "scores": [1.0]}])
    found.check(["!!! ???", TEXT])
    words = np.array([(0, 3), (4, 7)])
    assert found.of_words("!!! ???", words, 0).tolist() == [0.0, 0.0]
    assert found.unscored("!!! ???", words) == 2


def test_scores_that_stand_nowhere_in_any_text_are_refused_before_anything_is_measured():
    (found,) = read_attributions([{"text": TEXT, "words": ["[CLS]"], "scores": [1.0]}])
    with pytest.raises(
        DataError, match="no score of attributions belongs to a word of any document"
    ):
        found.check([TEXT])


def test_pickles_are_never_opened():
    np.savez("scores.npz", texts=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match=r"is not an \.npz file of plain numpy arrays"):
        read_attributions("scores.npz")


@pytest.mark.parametrize("format", formats)
def test_a_damaged_file_is_refused_in_a_sentence_whatever_its_format(format):
    one = ScoredText("a good film", np.array([[0, 1], [2, 6], [7, 11]]), np.array([0.1, 0.2, 0.3]))
    place = Path("scores").with_suffix(formats.make(format).endings[0])
    write_attributions([one], place, format)
    read_attributions(place)
    rng, whole = np.random.default_rng(0), place.read_bytes()
    for number in range(60):
        is_json = place.suffix != ".npz" and number % 2
        place.write_bytes((mutated_lines if is_json else mutated_bytes)(whole, rng))
        with contextlib.suppress(DataError):  # or it can be read all the same
            read_attributions(place)
