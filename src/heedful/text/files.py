"""Files to rows: CSV, TSV, JSON lines, Parquet, plain lines (each also gzipped), saved `datasets`.

A row is a mapping from column name to value, numbered by the line where it ends (its row in
Parquet). What cannot be read is refused with the place where it stands.
"""

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import DataError, nearest
from heedful.text.saved_datasets import is_saved_dataset, named, saved_table

if TYPE_CHECKING:
    from pyarrow import Array, ChunkedArray, RecordBatch, Table
    from pyarrow.parquet import ParquetFile

Row = Mapping[str, Any]
NumberedRows = Iterator[tuple[int, Row]]
CHUNK = 2**20  # bytes read at a time
ROWS_AT_ONCE = 4096  # of a Parquet file
SMALL = 64 * 2**20  # bytes: what unpacks to less is read, however well it was packed


def read_rows(path: Path) -> NumberedRows:
    """Numbered rows of a file; the number is the line where a row ends, or its row in Parquet."""
    if is_saved_dataset(path):
        return _saved_rows(path)
    if path.is_dir():
        raise DataError(f"{path} is a directory. Expected a file with one document per row.")
    if not path.exists():
        siblings = [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
        raise DataError(f"no such file: {path}.{nearest(path.name, siblings)}")
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    is_zipped = bool(suffixes) and suffixes[-1] == ".gz"
    suffix = (suffixes[-2] if len(suffixes) > 1 else "") if is_zipped else "".join(suffixes[-1:])
    if suffix not in READERS:
        raise DataError(
            f"{path}: files of kind {suffix or 'without an ending'!r} cannot be read. "
            f"Expected one of {', '.join(READERS)} (also .gz)."
        )
    if suffix == ".parquet" and not is_zipped and path.stat().st_size > CHUNK:
        return _rows_of_parquet(path, path.stat().st_size, path)  # never held whole
    data = unpacked(path) if is_zipped else path.read_bytes()
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(f"{path} is empty. Expected one document per row.")
    return READERS[suffix](data, path)


def most_unpacked(packed: int) -> int:
    """The number of bytes that a packed file may unpack to: text never packs 100 to 1."""
    return max(SMALL, 100 * packed)


def unpacked(path: Path) -> bytes:
    """What a gzip file holds; one that unpacks to far more than text can is refused."""
    most = most_unpacked(path.stat().st_size)
    data = bytearray()
    try:
        with gzip.open(path) as file:
            while chunk := file.read(CHUNK):
                data += chunk
                if len(data) > most:
                    raise DataError(_too_large(path, most))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}.") from None
    return bytes(data)


def _too_large(path: Path, most: int) -> str:
    return (
        f"{path} unpacks to more than {most / 2**20:,.0f} MiB, over 100 times its size. Text does "
        "not compress that well, so the file may be damaged. If it is correct, unpack it first and "
        "give the unpacked file."
    )


def _csv_rows(data: bytes, path: Path) -> NumberedRows:
    text = decode(data, path)
    header = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    delimiter = next((mark for mark in ",;\t" if mark in header), ",")
    return _table_rows(text, path, delimiter, csv.QUOTE_MINIMAL)


def _tsv_rows(data: bytes, path: Path) -> NumberedRows:
    text = decode(data, path)
    lines = [line for line in text.split("\n") if line]
    # Many TSV files never quote, so a quotation mark may be just a character. If every line has all
    # its cells, no cell runs over a line end, and no pair of marks may swallow what lies between.
    is_whole = len({line.count("\t") for line in lines}) == 1
    quoting = csv.QUOTE_NONE if is_whole else csv.QUOTE_MINIMAL
    return _table_rows(text, path, "\t", quoting)


def _table_rows(text: str, path: Path, delimiter: str, quoting: Any) -> NumberedRows:
    limit = csv.field_size_limit(sys.maxsize)  # a cell may hold a book
    try:
        stream = io.StringIO(text, newline="")
        reader = csv.reader(stream, delimiter=delimiter, quoting=quoting, strict=True)
        header = [name.strip() for name in next(reader)]
        _refuse_twins(header, path)
        for cells in reader:
            if len(cells) > len(header):
                raise DataError(
                    f"{path}, line {reader.line_num}: {len(cells)} cells, but the header names "
                    f"{len(header)} columns ({', '.join(header)}). Is a {delimiter!r} inside a "
                    "text that is not in quotation marks?"
                )
            if quoting == csv.QUOTE_NONE:
                cells = [_unquoted(cell) for cell in cells]
            yield reader.line_num, dict(zip(header, cells, strict=False))
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}. Is a quotation mark left open?"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _refuse_twins(header: Sequence[str], path: Path) -> None:
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise DataError(f"{path} has more than one column named {twice[0]!r}.")


def _unquoted(cell: str) -> str:
    """A cell that is wholly in quotation marks without them; any other as it is."""
    inside = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside.replace('""', "")
    return inside.replace('""', '"') if is_quoted else cell


def _jsonl_rows(data: bytes, path: Path) -> NumberedRows:
    for line, row in enumerate(decode(data, path).split("\n"), start=1):
        if row.strip():
            yield line, _json_row(row, path, line)


def _json_rows(data: bytes, path: Path) -> NumberedRows:
    text = decode(data, path)
    if not text.lstrip().startswith("["):
        return _jsonl_rows(data, path)
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}.") from None
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(f"{path}, item {number}: expected an object, got {row!r:.60}.")
    return enumerate(rows, start=1)


def _json_row(text: str, path: Path, line: int) -> Row:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {line}: not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise DataError(f"{path}, line {line}: expected an object, got {text:.60}.")
    return row


def _parquet_rows(data: bytes, path: Path) -> NumberedRows:
    return _rows_of_parquet(io.BytesIO(data), len(data), path)


def _rows_of_parquet(source: Path | io.BytesIO, size: int, path: Path) -> NumberedRows:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(source)
        names = file.schema_arrow.names
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _not_parquet(path, error) from None
    _refuse_twins(names, path)
    return _rows_of_batches(_batches(file, path, size), path)


def _not_parquet(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} is not a Parquet file: {error}.")


def _saved_rows(path: Path) -> NumberedRows:
    """The rows of a folder that `datasets` saved, class labels by name."""
    size = sum(file.stat().st_size for file in path.glob("*.arrow"))
    table, names = saved_table(path, most_unpacked(size))
    _refuse_twins(table.column_names, path)
    for number, row in _arrow_rows(table, path):
        yield number, {name: named(value, names.get(name)) for name, value in row.items()}


def _rows_of_batches(batches: Iterator["RecordBatch"], path: Path) -> NumberedRows:
    """The rows, batch by batch: only one batch is in memory at a time."""
    before = 0
    for batch in batches:
        yield from _arrow_rows(batch, path, before)
        before += batch.num_rows


def _arrow_rows(table: "Table | RecordBatch", path: Path, before: int = 0) -> NumberedRows:
    """The rows of a table with so many rows before it."""
    names = table.schema.names
    columns = {name: _arrow_column(table[name], name, path, before) for name in names}
    rows = zip(*columns.values(), strict=True)
    numbered = enumerate(rows, start=before + 1)
    return ((number, dict(zip(columns, row, strict=True))) for number, row in numbered)


def _batches(file: "ParquetFile", path: Path, packed: int) -> Iterator["RecordBatch"]:
    """The rows of a Parquet file, some at a time, as long as they do not grow too large."""
    from pyarrow import ArrowException

    size, most = 0, most_unpacked(packed)
    try:
        for batch in file.iter_batches(ROWS_AT_ONCE):
            size += batch.nbytes
            if size > most:
                raise DataError(_too_large(path, most))
            yield batch
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise _not_parquet(path, error) from None


def _arrow_column(column: "Array | ChunkedArray", name: str, path: Path, before: int) -> list[Any]:
    """The values of a column; one that Python cannot hold is refused with its row.

    Parquet holds years after 9999, text that is not UTF-8, times in zones that do not exist, …
    """
    from pyarrow import ArrowException

    values: list[Any] = []
    try:
        for value in column:
            values.append(value.as_py())
    except (ArrowException, ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise DataError(
            f"{path}, row {before + len(values) + 1}: column {name!r} holds a {column.type} that "
            f"cannot be read ({error}). Drop the column, or save it as text or numbers that are in "
            "range."
        ) from None
    return values


def _text_rows(data: bytes, path: Path) -> NumberedRows:
    return ((n, {"text": line}) for n, line in enumerate(decode(data, path).split("\n"), start=1))


READERS: dict[str, Callable[[bytes, Path], NumberedRows]] = {
    ".csv": _csv_rows,
    ".tsv": _tsv_rows,
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".json": _json_rows,
    ".parquet": _parquet_rows,
    ".txt": _text_rows,
}


def decode(data: bytes, path: Path) -> str:
    """Bytes as UTF-8 text, a byte order mark dropped; the first bad byte is named with its line."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is UTF-16, not UTF-8. Save it as UTF-8 and try again.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} at position {error.start:,}, "
            f"line {line:,}. Save the file as UTF-8 and try again."
        ) from None
