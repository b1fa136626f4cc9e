"""Tokens of any tokenizer are found again in the text."""

import pytest

from heedful.importance.attributions.placing import NotInText, place_tokens


def parts(text: str, tokens: list[str]) -> list[str]:
    return [text[start:end] for start, end in place_tokens(text, tokens).tolist()]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["[CLS]", "un", "##happi", "##ly", "!", "[SEP]"], ["", "Un", "happi", "ly", "!", ""]),
        (["▁Un", "happily", "!"], ["Un", "happily", "!"]),
        (["ĠUn", "happily", "!"], ["Un", "happily", "!"]),
        (["un@@", "happily</w>", "!"], ["Un", "happily", "!"]),
    ],
)
def test_marks_of_pieces_are_dropped_and_special_tokens_stand_nowhere(tokens, expected):
    assert parts(" Unhappily !", tokens) == expected


def test_case_accents_and_white_space_do_not_matter():
    assert parts("Ein  Café\nhier", ["ein", "cafe", "hier"]) == ["Ein", "Café", "hier"]


def test_bytes_of_one_letter_are_placed_on_that_letter():
    assert parts("le café noir", ["le", "Ġcaf", "Ã", "©", "Ġnoir"]) == [
        "le", "caf", "é", "é", "noir",
    ]  # fmt: skip


def test_a_list_of_words_may_leave_out_punctuation_but_no_word():
    assert parts("well, (a) film", ["well", "a", "film"]) == ["well", "a", "film"]
    with pytest.raises(NotInText):
        place_tokens("well, (a) film", ["well", "film"])


def test_an_unknown_token_stands_for_what_lies_between_its_neighbours():
    assert parts("a strange film", ["[CLS]", "a", "[UNK]", "film"]) == ["", "a", "strange", "film"]


def test_a_token_that_does_not_come_next_is_refused_with_its_number():
    with pytest.raises(NotInText, match=r"its token 2, 'bad', does not come next in the text"):
        place_tokens("a good film", ["a", "bad", "film"])
