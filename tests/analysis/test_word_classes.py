import numpy as np
import pytest

from heedful.analysis.word_classes import kind_names, kind_of_words, mean_by_kind, words_by_kind
from heedful.errors import DataError
from heedful.text.token_classes import TokenClasses

TOKENS = TokenClasses((np.array([1]), np.array([2, 3])), np.array([4]))


def test_zero_and_one_are_called_negative_and_positive():
    assert kind_names(("0", "1")) == ("negative", "positive")
    assert kind_names(("sports", "medicine")) == ("sports", "medicine")
    assert kind_names(("neutral", "angry")) == ("label neutral", "angry")


def test_every_word_has_the_name_of_its_kind():
    kinds = words_by_kind(("0", "1"), TOKENS)
    assert kind_of_words(kinds, 6) == ["", "negative", "positive", "positive", "neutral", ""]


def test_means_leave_out_words_without_a_value():
    kinds = words_by_kind(("0", "1"), TOKENS)
    means = mean_by_kind(np.array([9.0, 1.0, 2.0, np.nan, np.nan, 9.0]), kinds)
    assert means["negative"] == 1.0
    assert means["positive"] == 2.0
    assert np.isnan(means["neutral"])


def test_a_corpus_without_polar_words_is_refused():
    nothing = np.array([], dtype=np.int64)
    with pytest.raises(DataError, match="no word of the training documents is tied to a label"):
        words_by_kind(("0", "1"), TokenClasses((nothing, nothing), np.array([4])))
