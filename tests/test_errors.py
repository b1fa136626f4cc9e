import csv
import pickle
from pathlib import Path

import pytest

from heedful.errors import LONGEST_SENTENCE, DataError, RunError, misfits_named, shortened
from heedful.text.readers import read_documents


def test_a_sentence_of_any_length_can_be_read_and_keeps_both_ends():
    sentence = f"no column named 'x'. Known: {', '.join(map(str, range(20_000)))}. Choose one."
    short = str(DataError(sentence))
    assert len(short) <= LONGEST_SENTENCE
    assert short.startswith("no column named 'x'. Known: 0, 1, ")
    assert short.endswith("19998, 19999. Choose one.")
    assert "characters left out" in short
    assert str(pickle.loads(pickle.dumps(DataError(sentence)))) == short


def test_a_sentence_of_a_usual_length_is_left_alone():
    assert shortened("word " * 100) == "word " * 100


def test_ten_thousand_columns_are_not_all_named(tmp_path: Path):
    with (tmp_path / "wide.csv").open("w") as file:
        csv.writer(file).writerows([[f"column{n}" for n in range(10_000)], range(10_000)])
    with pytest.raises(DataError) as refused:
        read_documents(tmp_path / "wide.csv")
    assert len(str(refused.value)) <= LONGEST_SENTENCE


class PanicException(BaseException):
    """As libraries written in Rust raise it."""


@pytest.mark.parametrize(
    "failure", [KeyError("seed"), Exception("no entry\nat line 2"), PanicException("no entry")]
)
def test_whatever_a_library_raises_on_a_broken_file_is_a_refusal(failure):
    with (
        pytest.raises(RunError, match=r"^broken \(('seed'|no entry)\)$"),
        misfits_named(lambda reason: RunError(f"broken ({reason})")),
    ):
        raise failure


@pytest.mark.parametrize(
    "failure",
    [DataError("ours"), MemoryError(), RuntimeError("CUDA out of memory"), KeyboardInterrupt()],
)
def test_errors_of_ours_memory_and_signals_are_no_broken_file(failure):
    with pytest.raises(type(failure)) as left, misfits_named(RunError):
        raise failure
    assert left.value is failure
