import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from heedful.visible import one_line, places, visible, written_out

STEERING = st.text(st.sampled_from("ab \t\n\r\x1b\x9b\u202e\u2028\u200f\ud800\u0627👩\u200d"))
STEERS = {"Cc", "Cs", "Zl", "Zp"}


@given(STEERING)
def test_every_place_is_where_its_sign_was_written(text):
    pieces = [written_out(text)[a:b] for a, b in pairwise(places(text))]
    assert pieces == [written_out(sign) for sign in text]


@given(st.text())
def test_what_is_written_out_steers_nothing(text):
    assert not {unicodedata.category(sign) for sign in written_out(text)} & STEERS
    assert not {unicodedata.bidirectional(sign) for sign in written_out(text)} & {
        *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }


@given(STEERING)
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1
    assert len(written_out(text).splitlines()) <= 1


def test_a_text_of_several_lines_keeps_them():
    assert visible("a\r\nb\rc\td\x1b\u2028") == "a\nb\nc\td⟨U+001B⟩⟨U+2028⟩"
