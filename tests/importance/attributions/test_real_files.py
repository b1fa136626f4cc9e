"""Files that inseq and ferret wrote, of models so small that they fit here.

inseq 0.7.1 with transformers 5.23: the texts below explained on a random GPT-2 (`saliency`) and on
a random T5 (`input_x_gradient`), each asked for one more word. Numbers are those of inseq's own
tensors, summed over the generated word and components, in inseq's own process.
"""

import gzip
from pathlib import Path

import numpy as np
import pytest

from heedful.errors import DataError
from heedful.importance.attributions.reading import read_attributions

FILES = Path(__file__).parent / "files"
TEXTS = ["a good film", "unhappily bad, old film."]
DECODER = [
    [0.00029367, 0.00022404, 0.06507284],
    [0.00013421, 0.00003213, 0.00011965, 0.00010697, 0.0000162, 0.00005441, 0.00009899, 0.05815364],
]
ENCODER_DECODER = [
    [0.00112653, 0.00004297, 0.0133732, 0.00472097],
    [-0.00407968, -0.01633753, 0.00697229, 0.00293417, -0.00058293, 0.0017029, 0.09140189,
     0.00744104, 0.01730168],
]  # fmt: skip
# The last is of 8 bits, so it is inseq's own tensor in that precision.
EIGHT_BITS = [
    [0.0, 0.0, 0.01171875, 0.005859375],
    [-0.00390625, -0.017578125, 0.005859375, 0.001953125, -0.001953125, 0.001953125, 0.091796875,
     0.009765625, 0.017578125],
]  # fmt: skip
# un-happi-ly, bad, the comma that the tokenizer does not know, old, film, the full stop
PLACES = [(0, 2), (2, 7), (7, 9), (10, 13), (13, 14), (15, 18), (19, 23), (23, 24)]


@pytest.mark.parametrize(
    ("name", "method", "scores"),
    [
        ("inseq-decoder.json", "saliency", DECODER),
        ("inseq-primitives.json", "input_x_gradient", ENCODER_DECODER),
        ("inseq-float8.json.gz", "input_x_gradient", EIGHT_BITS),
    ],
)
def test_a_file_of_inseq_gives_inseqs_numbers_at_their_places(name, method, scores):
    (found,) = read_attributions(FILES / name)
    assert found.name == method
    assert list(found.by_text) == TEXTS
    for text, expected in zip(TEXTS, scores, strict=True):
        np.testing.assert_allclose(found.by_text[text].scores, expected, atol=1e-7)
    places = [tuple(row) for row in found.by_text[TEXTS[1]].offsets.tolist()]
    assert places[: len(PLACES)] == PLACES
    assert set(places[len(PLACES) :]) <= {(0, 0)}  # the end of a sentence is no place of the text


def test_a_packed_file_is_read_whatever_it_is_called(tmp_path):
    """inseq packs into the name that it is given, with or without .gz."""
    whole = (FILES / "inseq-decoder.json").read_bytes()
    (tmp_path / "scores.json").write_bytes(gzip.compress(whole))
    (found,) = read_attributions(tmp_path / "scores.json")
    np.testing.assert_allclose(found.by_text[TEXTS[0]].scores, DECODER[0], atol=1e-7)


def test_half_a_packed_file_is_refused_by_name(tmp_path):
    packed = (FILES / "inseq-float8.json.gz").read_bytes()
    (tmp_path / "scores.json.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match=r"scores\.json\.gz is not a whole gzip file"):
        read_attributions(tmp_path / "scores.json.gz")


def test_explanations_of_ferret_are_read_method_by_method():
    """ferret 0.4.2 writes no file: its Explanations' fields as JSON, a random BERT, target 1."""
    found = {one.name: one for one in read_attributions(FILES / "ferret.json")}
    assert set(found) == {"Partition SHAP", "Gradient (x Input)"}
    shap = found["Partition SHAP"].by_text[TEXTS[1]]
    assert shap.target == 1
    # [CLS] and [SEP] are no places of the text
    assert [tuple(row) for row in shap.offsets.tolist()] == [(0, 0), *PLACES, (0, 0)]
    expected = [-0.1809, -0.0915, -0.1382, -0.0965, -0.1189, -0.1352, -0.1717, -0.0671]
    np.testing.assert_allclose(shap.scores[1:-1], expected, atol=1e-4)
