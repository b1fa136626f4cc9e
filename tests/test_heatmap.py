import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.heatmap import WORDS_SHOWN, Piece, heat_map
from heedful.visible import visible

TEXT = "good, not bad"
OFFSETS = [(0, 4), (6, 9), (10, 13)]


def test_the_largest_score_is_the_deepest_colour():
    (line,) = heat_map(TEXT, OFFSETS, {"attention": [0.2, 0.0, -0.4]}).lines
    assert line.pieces == (
        Piece("good", 0.5, 0.2, is_top=True),
        Piece(", not "),
        Piece("bad", 1.0, -0.4, is_top=True),
    )
    assert line.strongest == (("bad", -0.4), ("good", 0.2))


@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0], [math.nan, 0.0, math.nan]])
def test_a_text_without_scores_has_no_colour(scores):
    (line,) = heat_map(TEXT, OFFSETS, {"attention": scores}).lines
    assert line.pieces == (Piece(TEXT),)
    assert line.strongest == ()


@given(
    text=st.text(max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=12),
    scores=st.lists(st.floats(-5, 5), min_size=6, max_size=6),
)
def test_the_pieces_of_a_line_make_the_text(text, cuts, scores):
    places = sorted(min(cut, len(text)) for cut in cuts)
    offsets = list(zip(places[::2], places[1::2], strict=False))
    (line,) = heat_map(text, offsets, {"attention": scores[: len(offsets)]}).lines
    assert "".join(piece.text for piece in line.pieces) == text
    assert all(0 <= piece.strength <= 1 for piece in line.pieces)


def test_words_that_overlap_are_written_once():
    (line,) = heat_map("abcdef", [(0, 4), (2, 6)], {"attention": [1.0, 0.5]}).lines
    assert "".join(piece.text for piece in line.pieces) == "abcdef"


def test_a_long_text_is_cut_and_says_so():
    words = WORDS_SHOWN + 50
    text = "word " * words
    offsets = [(5 * n, 5 * n + 4) for n in range(words)]
    heat = heat_map(text, offsets, {"attention": [1.0] * words})
    assert heat.left_out == 50
    assert heat.is_long
    assert sum(piece.strength > 0 for piece in heat.lines[0].pieces) == WORDS_SHOWN


def test_hidden_signs_are_written_out():
    assert visible("a\u202eb\x00\ud83d\u2028\ufeff") == "a⟨U+202E⟩b⟨U+0000⟩⟨U+D83D⟩⟨U+2028⟩⟨U+FEFF⟩"


def test_what_people_can_see_stays_as_it_is():
    plain = "naïve 日本語 שלום 👩‍👩‍👧 line\nend\ttab"
    assert visible(plain) == plain


@given(st.text())
def test_every_visible_text_can_be_saved(text):
    assert visible(visible(text)) == visible(text)
    visible(text).encode("utf-8")
