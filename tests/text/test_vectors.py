import gzip
from pathlib import Path

import numpy as np
import pytest

from heedful.errors import DataError
from heedful.text.vectors import LONGEST_LINE, read_vectors

WORDS = {"<no word>": 0, "good": 1, "bad": 2, ". . .": 3, "unheard": 4}
GLOVE = "good 1 2 3\nother 0 0 0\nbad -1 0.5 1e-1\n. . . 7 8 9\n"


@pytest.mark.parametrize("header", ["", "4 3\n"])
@pytest.mark.parametrize("name", ["v.txt", "v.vec.gz"])
def test_glove_word2vec_and_fasttext_files_read_alike(tmp_path: Path, header, name):
    path = tmp_path / name
    data = (header + GLOVE).encode()
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    vectors = read_vectors(path, WORDS)
    assert vectors.found.tolist() == [False, True, True, True, False]
    np.testing.assert_allclose(vectors.matrix[2], [-1, 0.5, 0.1], rtol=1e-6)
    assert vectors.matrix[3].tolist() == [7, 8, 9]
    assert (vectors.matrix[4] == 0).all()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("good 1 2 3\nbad 1 x 3\n", r"line 2: expected 3 finite numbers after the word"),
        ("good 1 2 3\nbad 1 nan 3\n", r"line 2: expected 3 finite numbers"),
        ("good 1 2 3\nbad 1 2\n", r"line 2: expected a word and 3 numbers, got 'bad 1 2'"),
        ("good 1 2 3\nbad 1 2 3 4\n", r"line 2: expected a word and 3 numbers"),
        ("just words\n", r"line 1: expected a word and its numbers"),
        ("other 1 2 3\n", r"no vector for any of the 5 known words"),
        ("", r"no vector for any of the 5 known words"),
    ],
)
def test_a_file_that_is_no_vectors_is_refused(tmp_path: Path, content, sentence):
    (tmp_path / "v.txt").write_text(content)
    with pytest.raises(DataError, match=sentence):
        read_vectors(tmp_path / "v.txt", WORDS)


def test_a_broken_gzip_file_is_refused(tmp_path: Path):
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(GLOVE.encode())[:-9])
    with pytest.raises(DataError, match="is not a whole gzip file"):
        read_vectors(tmp_path / "v.txt.gz", WORDS)


def test_a_line_that_fills_the_memory_is_refused(tmp_path: Path):
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(GLOVE.encode() + b"0 " * LONGEST_LINE))
    with pytest.raises(DataError, match=r"line \d+: too long for a word and its vector"):
        read_vectors(tmp_path / "v.txt.gz", WORDS)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path):
    (tmp_path / "v.txt").write_bytes(b"\xef\xbb\xbf" + GLOVE.encode())
    assert read_vectors(tmp_path / "v.txt", WORDS).found[1]


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(DataError, match="no file of word vectors at"):
        read_vectors(tmp_path / "none.txt", WORDS)
