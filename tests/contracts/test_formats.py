"""Rules that every format of attributions keeps, new ones included."""

import numpy as np
import pytest

from heedful.errors import UsageError
from heedful.importance.attributions import ScoredText, read_attributions, write_attributions
from heedful.importance.attributions.formats import formats

every_format = pytest.mark.parametrize("name", formats)

TEXTS = {
    "A café, isn't it?": [(0, 1), (2, 6), (6, 7), (8, 13), (14, 16), (16, 17)],
    "two words": [(0, 3), (4, 9)],
}


def scored(text: str) -> ScoredText:
    offsets = np.array(TEXTS[text])
    scores = np.linspace(-1.3, 2.1, len(offsets)) / 3
    return ScoredText(text, offsets, scores, "mine", ("bad", "good"), "good")


@every_format
def test_what_is_written_is_read_back_with_equal_scores_on_the_same_words(name):
    path = f"scores{formats.make(name).endings[0]}"
    write_attributions([scored(text) for text in TEXTS], path, name)
    (found,) = read_attributions(path)
    assert found.name == "mine"
    for text in TEXTS:
        read = found.scored(text)
        assert read.on(text).offsets.tolist() == [list(span) for span in TEXTS[text]]
        np.testing.assert_array_equal(read.scores, scored(text).scores)


@every_format
def test_a_file_with_another_ending_is_refused_before_it_is_written(name, tmp_path):
    with pytest.raises(UsageError, match=f"files of the format {name} must end in"):
        write_attributions([scored("two words")], tmp_path / "scores.xyz", name)
    assert not list(tmp_path.glob("scores.*"))
