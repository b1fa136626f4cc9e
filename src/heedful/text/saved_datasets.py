"""Data sets of Hugging Face's `datasets`: folders that `save_to_disk` wrote, and objects in memory.

The package itself is not needed. A saved `Dataset` is a folder of Arrow files with state.json and
dataset_info.json; a saved `DatasetDict` is a folder of such folders, one per split. A class label
is a number there, and its name is in the features.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from heedful.errors import DataError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

STATE, INFO = "state.json", "dataset_info.json"
CLASS_LABEL = "ClassLabel"
Names = Mapping[str, Sequence[str]]
"""The names of the classes, by column."""


@runtime_checkable
class DatasetObject(Protocol):
    """What is used of a `datasets.Dataset`."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns."""

    @property
    def features(self) -> Mapping[str, Any]:
        """The type of each column; that of a class label has `names`."""

    def __getitem__(self, key: Any) -> Any:
        """A slice of it as lists by column."""


def is_saved_dataset(path: Path) -> bool:
    """Whether a folder holds what `Dataset.save_to_disk` wrote."""
    return (path / STATE).is_file() and (path / INFO).is_file()


def saved_table(path: Path, most: int) -> "tuple[Table, Names]":
    """The rows of a saved data set and the names of its classes; more than `most` bytes of rows
    are refused."""
    import pyarrow

    state, info = _json(path / STATE), _json(path / INFO)
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise DataError(
            f"{path} keeps its rows in another order than its files (an old format). Load it with "
            "datasets.load_from_disk, call flatten_indices() and save it again."
        )
    names = [one.get("filename") for one in state.get("_data_files") or () if isinstance(one, dict)]
    files = [path / str(name) for name in names if name and Path(str(name)).name == name]
    if not files or len(files) != len(names):
        raise DataError(
            f"{path / STATE} names no Arrow files in its folder. Save the data set again."
        )
    try:
        batches = list(_batches(files, most, path))
        table = pyarrow.Table.from_batches(batches)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} is not a data set that can be read: {error}.") from None
    return table, _stored_names(info.get("features"))


def named(value: Any, names: Sequence[str] | None) -> Any:
    """A class label by its name; -1 and numbers without a name mean that there is none."""
    if names is None or not isinstance(value, int) or isinstance(value, bool):
        return value
    return names[value] if 0 <= value < len(names) else None


def object_rows(dataset: DatasetObject) -> list[dict[str, Any]]:
    """The rows of a data set in memory, class labels by name."""
    columns = {name: list(values) for name, values in dict(dataset[:]).items()}
    of_column = {
        name: list(names)
        for name, feature in dataset.features.items()
        if (names := getattr(feature, "names", None)) is not None
    }
    return [
        {name: named(value, of_column.get(name)) for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def _batches(files: Sequence[Path], most: int, path: Path) -> "Iterator[RecordBatch]":
    import pyarrow

    size = 0
    for file in files:
        with pyarrow.memory_map(str(file)) as stream, pyarrow.ipc.open_stream(stream) as reader:
            for batch in reader:
                size += batch.nbytes
                if size > most:
                    raise DataError(
                        f"{path} holds more than {most / 2**20:,.0f} MiB of rows, over 100 times "
                        "the size of its files. Is it really a data set?"
                    )
                yield batch


def _stored_names(features: object) -> Names:
    if not isinstance(features, dict):
        return {}
    return {
        column: [str(name) for name in feature["names"]]
        for column, feature in features.items()
        if isinstance(feature, dict)
        and feature.get("_type") == CLASS_LABEL
        and isinstance(feature.get("names"), list)
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} should hold a JSON object. Save the data set again.")
    return found
