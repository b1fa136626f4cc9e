import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.documents import (
    Corpus,
    Document,
    Documents,
    fingerprints,
    share_out,
    space_separated,
    words_in_spans,
)


def corpus(count: int = 200) -> Corpus:
    return Corpus("c", Documents(Document(f"text {n}", str(n % 2)) for n in range(count)))


def test_shares_are_disjoint_cover_everything_and_keep_the_label_mix():
    parts = share_out(corpus(), dev_share=0.1, test_share=0.2, seed=1)
    assert (len(parts.train), len(parts.dev), len(parts.test)) == (140, 20, 40)
    texts = parts.train.texts + parts.dev.texts + parts.test.texts
    assert sorted(texts) == sorted(corpus().train.texts)
    assert parts.dev.labels.count("0") == 10


def test_the_seed_decides_the_shares():
    one, same, other = (share_out(corpus(), 0.1, 0.1, seed=seed).dev.texts for seed in (1, 1, 2))
    assert one == same != other


def test_repeats_of_a_text_stay_in_one_part():
    repeated = Documents(Document(f" Text   {n % 20}", "ab"[n % 2]) for n in range(200))
    parts = share_out(Corpus("c", repeated), 0.2, 0.2, seed=0)
    sets = [set(part.texts) for part in (parts.train, parts.dev, parts.test)]
    assert sum(map(len, sets)) == len(set.union(*sets))


def test_a_part_that_exists_is_left_alone():
    dev = Documents([Document("mine", "0")])
    parts = share_out(Corpus("c", corpus().train, dev=dev), 0.5, 0.1, seed=0)
    assert parts.dev is dev
    assert len(parts.test) == 20


def test_fingerprints_ignore_case_and_white_space_only():
    same = fingerprints(["A  Good\nfilm", "a good film", "a good film!"])
    assert same[0] == same[1] != same[2]


@given(st.text(max_size=40))
def test_space_separated_stands_where_split_says(text):
    assert [text[start:end] for start, end in space_separated(text)] == text.split(" ")


def test_words_that_touch_a_marked_stretch_are_in_it():
    offsets = np.array([[0, 3], [4, 8], [9, 12]])
    assert words_in_spans(offsets, [(5, 9)]).tolist() == [False, True, False]
    assert words_in_spans(offsets, [(2, 10)]).tolist() == [True, True, True]
    assert words_in_spans(offsets, []).tolist() == [False] * 3
