import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heedful.errors import RunError
from heedful.text.documents import Split
from heedful.text.tokenize import TextSettings, Tokenizer
from heedful.text.vocabulary import NO_WORD, NUMBER, SPECIAL_WORDS, UNKNOWN_WORD


def learn(*texts: str, **settings) -> Tokenizer:
    return Tokenizer.learn(texts, TextSettings(**{"min_documents": 1, **settings}))


texts = st.text(st.characters(codec="utf-8"), max_size=60)
splits: st.SearchStrategy[Split] = st.sampled_from(["words", "spaces"])


@given(text=texts, split=splits, lowercase=st.booleans())
@example(text="İstanbul'da ŞÖYLE", split="words", lowercase=True)
@example(text="👨‍👩‍👧‍👦 ok 👍🏽", split="words", lowercase=True)
@example(text="a\x00b\x1fc \u202eabc\u202c", split="words", lowercase=True)
@example(text="é e\u0301 \u0301", split="spaces", lowercase=False)
def test_offsets_are_ordered_apart_and_inside_the_text(text, split, lowercase):
    tokenizer = learn("some words", split=split, lowercase=lowercase)
    offsets = tokenizer.offsets(text).tolist()
    assert len(offsets) == len(tokenizer.encode([text])[0])
    end_before = 0
    for start, end in offsets:
        assert end_before <= start < end <= len(text)
        end_before = end


@given(words=st.lists(st.text(st.characters(categories=["L"]), min_size=1, max_size=8), max_size=9))
def test_words_between_spaces_come_back_as_they_were_written(words):
    assert learn("x", split="spaces").cut_words(" ".join(words)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It isn't GOOD, no!!", ["It", "isn't", "GOOD", ",", "no", "!", "!"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("family 👨‍👩‍👧‍👦 and 👍🏽", ["family", "👨‍👩‍👧‍👦", "and", "👍🏽"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("我喜歡", ["我", "喜", "歡"]),
        ("a\x00b\tc", ["a", "b", "c"]),
        ("İzmir yes", ["İzmir", "yes"]),
        ("", []),
        (" \u200b \n", []),
    ],
)
def test_words_are_cut_where_a_reader_would(text, words):
    assert learn("x").cut_words(text) == words


def test_case_is_folded_for_the_number_but_not_for_the_offsets():
    tokenizer = learn("good GOOD bad")
    assert tokenizer.encode(["Good gOOD"])[0].tolist() == [tokenizer.words.index("good")] * 2
    assert tokenizer.cut_words("Good gOOD") == ["Good", "gOOD"]


def test_words_are_numbered_by_frequency_then_alphabet():
    tokenizer = learn("b b a c", "c c c")
    assert tokenizer.words == [*SPECIAL_WORDS, "c", "b", "a"]


def test_rare_words_are_unknown_and_counted_by_documents():
    tokenizer = learn("twice twice", "both", "both", min_documents=2)
    assert tokenizer.words == [*SPECIAL_WORDS, "both"]
    assert tokenizer.encode(["twice both"])[0].tolist() == [UNKNOWN_WORD, 3]


def test_the_vocabulary_is_capped_at_its_most_frequent_words():
    assert learn("a a a b b c", max_vocabulary=2).words == [*SPECIAL_WORDS, "a", "b"]


def test_words_with_digits_fold_into_one_and_offsets_stay():
    tokenizer = learn("in 1999 B2B", fold_digits=True)
    text = "In 2024 mp3 x9 unheard"
    ids = tokenizer.encode([text])[0].tolist()
    assert ids == [tokenizer.words.index("in"), NUMBER, NUMBER, NUMBER, UNKNOWN_WORD]
    assert tokenizer.cut_words(text) == ["In", "2024", "mp3", "x9", "unheard"]
    assert not any(character.isdigit() for word in tokenizer.words for character in word)


def test_no_text_can_contain_a_special_word():
    for split in ("words", "spaces"):
        tokenizer = learn("a", split=split)
        for special in SPECIAL_WORDS:
            ids = tokenizer.encode([special])[0]
            assert NO_WORD not in ids
            assert NUMBER not in ids


def test_long_documents_are_cut_and_counted():
    tokenizer = learn("a b", max_words=3)
    encoded = tokenizer.encode(["a b a b a", "a b a", ""])
    assert encoded.lengths.tolist() == [3, 3, 0]
    assert encoded.cut == 1
    assert len(tokenizer.offsets("a b a b a")) == 3


def test_half_a_surrogate_pair_is_replaced_one_for_one():
    tokenizer = learn("x")
    for half in ("\ud800", "\ud83d\ude00", "\udfff"):
        words = tokenizer.cut_words(f"good {half} day")
        assert (words[0], words[-1]) == ("good", "day")


@given(text=texts, fold_digits=st.booleans())
def test_a_saved_tokenizer_reads_back_and_numbers_alike(text, fold_digits):
    settings = TextSettings(fold_digits=fold_digits, min_documents=1)
    tokenizer = Tokenizer.learn(["some words", "4 you"], settings)
    again = Tokenizer.from_json(tokenizer.to_json(), settings)
    assert again.encode([text])[0].tolist() == tokenizer.encode([text])[0].tolist()
    assert again.words == tokenizer.words


def test_a_broken_tokenizer_file_is_refused():
    with pytest.raises(RunError, match=r"tokenizer\.json cannot be read"):
        Tokenizer.from_json("{}", TextSettings())


def test_more_texts_than_are_cut_at_once_stay_in_order():
    numbers = [str(n) for n in range(3000)]
    tokenizer = learn(*numbers)
    encoded = tokenizer.encode(numbers)
    words = tokenizer.words
    assert [words[number] for number in encoded.token_ids.tolist()] == numbers
