"""Files that hold what nobody can read: refused in a sentence, whatever they hold."""

import contextlib
import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import DataError
from heedful.text import files
from heedful.text.files import SMALL
from heedful.text.readers import read_documents

CSV = b'text,label\n"a, ""b""",x\nc,y\n'
JSONL = b'{"text": "a", "label": "x"}\n{"text": "b", "label": 2}\n'
WHOLE = {
    "csv": CSV,
    "csv.gz": gzip.compress(CSV, mtime=0),
    "tsv": CSV.replace(b",", b"\t"),
    "jsonl": JSONL,
    "json": json.dumps(list(map(json.loads, JSONL.splitlines()))).encode(),
    "txt": b"a\nb\n",
}


def _parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b"], "label": ["x", "y"]}), buffer)
    return buffer.getvalue()


WHOLE["parquet"] = _parquet_bytes()


def parquet(path: Path, column: pyarrow.Array | pyarrow.ChunkedArray, name: str = "other") -> Path:
    rows = len(column)
    columns = {"text": ["a b"] * rows, "label": ["x"] * rows, name: column}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def not_utf8() -> pyarrow.Array:
    buffers = [None, pyarrow.py_buffer(np.array([0, 1, 2], np.int32)), pyarrow.py_buffer(b"a\xff")]
    return pyarrow.Array.from_buffers(pyarrow.string(), 2, buffers)


FAR = 10**13  # seconds: some 300,000 years
UNREADABLE = {
    "a timestamp after the year 9999": pyarrow.array([0, FAR], pyarrow.timestamp("s")),
    "the same in milliseconds": pyarrow.array([0, 1000 * FAR], pyarrow.timestamp("ms")),
    "a date long ago": pyarrow.array([0, -(2**31)], pyarrow.int32()).cast(pyarrow.date32()),
    "a span too long": pyarrow.array([0, 2**62], pyarrow.duration("s")),
    "a string that is not UTF-8": not_utf8(),
    "a list of dates": pyarrow.array([[0], [FAR]], pyarrow.list_(pyarrow.timestamp("s"))),
    "a clock of no country": pyarrow.array([0, 1], pyarrow.timestamp("s", "Mars/Base")),
}


@pytest.mark.parametrize("what", UNREADABLE)
@pytest.mark.parametrize("name", ["other", "text", "label"])
def test_values_that_python_cannot_hold_are_refused_with_their_column(what, name, tmp_path: Path):
    path = parquet(tmp_path / "odd.parquet", UNREADABLE[what], name)
    with pytest.raises(DataError, match=rf"odd.parquet, row [12]: column '{name}' holds a"):
        read_documents(path)


def test_a_category_that_is_not_utf8_is_refused(tmp_path: Path):
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1]), not_utf8())
    with pytest.raises(DataError, match=r"(?i)UTF-?8"):
        read_documents(parquet(tmp_path / "odd.parquet", column))


def test_a_column_whose_name_is_not_utf8_is_refused(tmp_path: Path):
    path = tmp_path / "d.parquet"
    path.write_bytes(WHOLE["parquet"].replace(b"label", b"lab\xffl"))
    with pytest.raises(DataError, match=r"(?i)UTF-?8"):
        read_documents(path)


def test_columns_of_one_name_are_refused(tmp_path: Path):
    table = pyarrow.table([["a b"], ["x"], ["y"]], names=["text", "label", "label"])
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(DataError, match="more than one column named 'label'"):
        read_documents(tmp_path / "d.parquet")


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([1, 2], pyarrow.timestamp("ns")),
        pyarrow.array([1, 2], pyarrow.timestamp("us", "Europe/Oslo")),
        pyarrow.array([1, None], pyarrow.duration("ms")),
        pyarrow.array([b"\xff", b""], pyarrow.binary()),
        pyarrow.array([{"a": 1}, None]),
        pyarrow.array(["x", "y"]).dictionary_encode(),
        pyarrow.array([1, 2]).cast(pyarrow.decimal128(30, 2)),
    ],
)
def test_other_columns_of_any_kind_are_left_alone(column, tmp_path: Path):
    documents, _ = read_documents(parquet(tmp_path / "odd.parquet", column))
    assert documents.labels == ["x", "x"]


@pytest.mark.parametrize("ending", WHOLE)
@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n \n", b"", b"\n"])
def test_a_file_of_nothing_is_refused(ending, data, tmp_path: Path):
    path = tmp_path / f"empty.{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    with pytest.raises(DataError, match="is empty"):
        read_documents(path)


def test_a_small_gzip_file_that_unpacks_to_far_more_than_text_can_is_refused(tmp_path: Path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b" " * (SMALL + 1)))
    with pytest.raises(DataError, match=r"bomb.csv.gz unpacks to more than 64 MiB, over 100 times"):
        read_documents(path)


@pytest.mark.parametrize("small", [0, files.CHUNK], ids=["from disk", "from memory"])
def test_a_parquet_file_is_read_some_rows_at_a_time(small, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", small)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 2)
    path, most = tmp_path / "d.parquet", []
    texts = [f"text {number}" for number in range(7)]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "label": list("abababa")}), path)
    usual = files._arrow_rows

    def watched(table, *options):
        most.append(table.num_rows)
        return usual(table, *options)

    monkeypatch.setattr(files, "_arrow_rows", watched)
    rows = files.read_rows(path)
    assert next(rows) == (1, {"text": "text 0", "label": "a"})
    assert most == [2]  # the others have not been looked at
    assert [number for number, _ in rows] == [2, 3, 4, 5, 6, 7]
    assert most == [2, 2, 2, 1]
    documents, _ = read_documents(path)
    assert documents.texts == texts


def test_a_row_that_cannot_be_read_has_its_number_in_the_whole_file(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 2)
    path = tmp_path / "d.parquet"
    years = pyarrow.array([0, 0, 0, 0, 10**15], pyarrow.timestamp("s"))
    pyarrow.parquet.write_table(pyarrow.table({"text": list("abcde"), "at": years}), path)
    with pytest.raises(DataError, match=r"d.parquet, row 5: column 'at' holds a timestamp"):
        read_documents(path, needs_labels=False)


def test_a_small_parquet_file_that_unpacks_to_far_more_than_text_can_is_refused(tmp_path: Path):
    path = tmp_path / "bomb.parquet"
    rows = pyarrow.array(["a" * 1024]).take(pyarrow.array([0] * (SMALL // 1024 + 1)))
    pyarrow.parquet.write_table(pyarrow.table({"text": rows, "label": rows}), path)
    with pytest.raises(DataError, match=r"bomb.parquet unpacks to more than 64 MiB, over 100"):
        read_documents(path)


@pytest.mark.parametrize("ending", WHOLE)
@given(seed=st.integers(0, 10**6), cut=st.booleans(), nearly=st.booleans())
def test_damaged_files_are_read_or_refused(ending, seed, cut, nearly):
    rng = np.random.default_rng(seed)
    data = bytearray(WHOLE[ending]) if nearly else bytearray(rng.bytes(40))
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] = rng.choice(list(b'\x00\n\r"\xff\xef,\t[{'))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"damaged.{ending}"
        path.write_bytes(data[: rng.integers(len(data))] if cut else data)
        with contextlib.suppress(DataError):
            read_documents(path)
