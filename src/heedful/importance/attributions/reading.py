"""Files and objects to attributions, and back to files: each format is asked whether it fits."""

import dataclasses
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from heedful.errors import DataError, UsageError, misfits_named
from heedful.importance.attributions.base import Attributions, ScoredText
from heedful.importance.attributions.formats import AttributionFormat, Row, formats
from heedful.text.files import decode, read_rows, unpacked

JSON = (".json", ".json.gz")
GZIP = b"\x1f\x8b"  # how a gzip file begins, whatever it is called


def read_attributions(given: object) -> list[Attributions]:
    """The scores in a file or an object, by method.

    An object is a SHAP `Explanation`, a ferret `Explanation` or a list of them, a table with
    columns text, words and scores, a mapping with Captum's arrays and their tokens, `Attributions`,
    or `ScoredText`s.
    """
    if isinstance(given, Attributions):
        return [given]
    if isinstance(given, ScoredText):
        return Attributions.grouped([given])
    if isinstance(given, str | Path):
        texts = list(_of_file(Path(given)))
    else:
        texts = list(_of_object(given))
    if not texts:
        raise DataError(f"{given!r:.60} contains no scores.")
    return Attributions.grouped(texts)


def write_attributions(texts: Sequence[ScoredText], path: str | Path, format: str) -> None:
    """Write scores in one of the formats (`heedful list formats`)."""
    check_file(path, format)
    formats.make(format).write(texts, Path(path))


def check_file(path: str | Path, format: str) -> None:
    """Refuse a file that cannot be written in a format: by its name, or for want of a folder."""
    chosen, place = formats.make(format), Path(path)
    if not place.absolute().parent.is_dir():
        raise UsageError(
            f"cannot write {place}: the folder {place.parent} does not exist. Create it first."
        )
    if not place.name.lower().endswith(chosen.endings):
        raise UsageError(
            f"files of the format {format} must end in {' or '.join(chosen.endings)}; "
            f"{place.name} does not."
        )


def _of_file(path: Path) -> Iterator[ScoredText]:
    for number, row in _rows(path):
        yield from _of_row(row, f"{path.name}, row {number}", path.parent)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    name = path.name.lower()
    if not path.is_file() or not name.endswith((*JSON, ".npz")):
        return iter(read_rows(path))
    if name.endswith(JSON):
        with path.open("rb") as file:
            is_zipped = file.read(len(GZIP)) == GZIP
        try:
            whole = json.loads(decode(unpacked(path) if is_zipped else path.read_bytes(), path))
        except ValueError:
            return iter(read_rows(path))  # objects in lines, or a refusal that names the line
        return iter(enumerate(whole if isinstance(whole, list) else [whole], start=1))

    def refusal(reason: str) -> DataError:
        return DataError(f"{path} is not an .npz file of plain numpy arrays: {reason}.")

    # From memory: numpy leaves a file open that it refuses.
    data = io.BytesIO(path.read_bytes())
    with misfits_named(refusal), np.load(data, allow_pickle=False) as arrays:
        return iter([(1, {name: arrays[name] for name in arrays.files})])


def _of_object(given: object) -> Iterator[ScoredText]:
    if isinstance(given, list | tuple):
        for number, one in enumerate(given, start=1):
            if isinstance(one, ScoredText):
                yield one
            else:
                yield from _of_row(_fields(one), f"attributions, item {number}", Path())
        return
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a table of pandas
        table = cast(Any, given)
        yield from _of_object(table.astype(object).where(table.notna(), None).to_dict("records"))
        return
    yield from _of_row(_fields(given), "attributions", Path())


def _fields(given: object) -> Row:
    """What a format reads of an object: its columns, or its fields."""
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "values") and hasattr(given, "data"):  # an Explanation of SHAP
        names = ("values", "data", "output_names")
        return {name: getattr(given, name, None) for name in names}
    if dataclasses.is_dataclass(given):
        return vars(given)
    raise DataError(
        f"{type(given).__name__} contains no readable attributions. Give a file, a SHAP or "
        "ferret Explanation, a table with the columns text, words and scores, or a mapping with "
        "texts, tokens and attributions (docs/attributions.md)."
    )


def _of_row(row: Any, where: str, folder: Path) -> Iterator[ScoredText]:
    if not isinstance(row, Mapping):
        raise DataError(f"{where}: expected an object, got {row!r:.60}.")
    name, format = _format_of(row, where)

    def refusal(reason: str) -> DataError:
        return DataError(
            f"{where} has the fields of the format {name}, but cannot be read as such ({reason}). "
            "docs/attributions.md says what they hold."
        )

    with misfits_named(refusal):
        yield from format.read(row, where, folder)


def _format_of(row: Row, where: str) -> tuple[str, AttributionFormat]:
    for name in formats:
        one = formats.make(name)
        if one.fits(row):
            return name, one
    raise DataError(
        f"{where}: its fields ({', '.join(map(str, list(row)[:8]))}) match no known format "
        f"({', '.join(formats)}). Expected at least text, words or tokens, and scores; see "
        "docs/attributions.md."
    )
