"""Rows to documents, and files and folders to corpora.

The columns of text and label are found by their usual names, or are named by the caller. Blank rows
are skipped and counted; any other row that does not fit raises an error that names its line.
"""

import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from heedful.errors import DataError, DataWarning, counted, nearest
from heedful.text.documents import (
    Corpus,
    Document,
    Documents,
    Span,
    Split,
    share_out,
    space_separated,
    whole_characters,
)
from heedful.text.files import READERS, Row, decode, read_rows
from heedful.text.labels import doubtful_labels
from heedful.text.saved_datasets import DatasetObject, is_saved_dataset, object_rows

# Names that columns usually have, the likeliest first.
TEXT_COLUMNS = (
    *("text", "sentence", "review", "content", "body", "comment", "document", "message"),
    *("tweet", "post", "question", "abstract"),
)
LABEL_COLUMNS = (
    *("label", "class", "category", "sentiment", "target", "stars", "rating", "topic"),
    *("intent", "y"),
)

PART_NAMES = {
    "train": ("train", "training"),
    "dev": ("dev", "valid", "validation", "val"),
    "test": ("test",),
}

MOST_CLASSES = 1000  # more different labels than this are taken for a mistake


def read(
    path: object,
    text: str | None = None,
    label: str | None = None,
    *,
    dev_share: float = 0.1,
    test_share: float = 0.1,
    split: Split = "words",
    seed: int = 0,
) -> Corpus:
    """Read a corpus from a file or folder, and split off missing dev and test parts.

    `text` and `label` name the columns. A folder holds one folder of .txt files per class, or files
    named train, dev and test, or a data set saved by the package `datasets`. A `Dataset` or
    `DatasetDict` of that package is accepted too. Parts that are missing are drawn at random by
    `seed`, stratified by label. A `DataWarning` names labels that are probably mistakes.
    """
    if isinstance(path, str | Path):
        corpus = read_corpus(path, text, label, dev_share, test_share, split, seed)
    else:
        parts, notes = _read_objects(path, text, label)
        corpus = _finished(
            Corpus("dataset", **parts, split=split, notes=tuple(notes)),
            dev_share,
            test_share,
            seed,
            needs_labels=True,
        )
    for sentence in _doubts(corpus):
        warnings.warn(sentence, DataWarning, stacklevel=2)
    return corpus


def read_corpus(
    path: str | Path,
    text: str | None,
    label: str | None,
    dev_share: float,
    test_share: float,
    split: Split = "words",
    seed: int = 0,
    needs_labels: bool = True,
) -> Corpus:
    """The same for callers that show the corpus's notes, which include doubtful labels."""
    path = Path(path)
    if path.is_dir() and not is_saved_dataset(path):
        parts, notes = _read_folder(path, text, label, needs_labels)
    else:
        documents, notes = read_documents(path, text, label, needs_labels=needs_labels)
        parts = {"train": documents}
    corpus = Corpus(path.name, **parts, split=split, notes=tuple(notes))
    return _finished(corpus, dev_share, test_share, seed, needs_labels)


def _finished(
    corpus: Corpus, dev_share: float, test_share: float, seed: int, needs_labels: bool
) -> Corpus:
    """With all parts, labels that can be learnt, and notes on those that are doubtful."""
    corpus = share_out(corpus, dev_share, test_share, seed)
    if needs_labels:
        check_labels(corpus)
    return replace(corpus, notes=(*corpus.notes, *_doubts(corpus)))


def read_documents(
    path: str | Path,
    text: str | None = None,
    label: str | None = None,
    *,
    needs_labels: bool = True,
    usual: Mapping[str, Any] | None = None,
) -> tuple[Documents, list[str]]:
    """The documents of one file, and sentences about the rows that were left out.

    `usual` are the columns (`text` and `label`) that a run was trained on: they are read if the
    file has them and no others are named.
    """
    path = Path(path)
    rows = read_rows(path)
    columns = None
    # Each row of a Parquet file has all columns, so of a large one few rows are ever held.
    if path.suffix.lower() == ".parquet" and (first := next(rows, None)) is not None:
        rows, columns = chain([first], rows), list(first[1])
    return documents_of(
        rows, path, text, label, needs_labels=needs_labels, usual=usual, columns=columns
    )


def documents_of(
    rows: Iterable[tuple[int, Row]],
    path: Path,
    text: str | None = None,
    label: str | None = None,
    *,
    needs_labels: bool = True,
    usual: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Documents, list[str]]:
    """Numbered rows as documents, and sentences about the rows that were left out.

    `path` is what messages call the place that the rows came from, `columns` are those that the
    rows have between them; rows are held in memory where they must be found first.
    """
    if columns is None:
        rows = list(rows)
        if not rows:
            raise DataError(f"{path} holds no rows. Expected one document per row.")
        columns = list(dict.fromkeys(name for _, row in rows for name in row))
    known = {part: name for part, name in (usual or {}).items() if name in columns}
    text = text or (known.get("text") if known.get("text") != label else None)
    text = _choose_column(path, columns, text, TEXT_COLUMNS, "text")
    label = label or (known.get("label") if known.get("label") != text else None)
    has_label = needs_labels or any(name.lower() in LABEL_COLUMNS for name in columns)
    if label is not None or has_label:
        label = _choose_column(path, columns, label, LABEL_COLUMNS, "label", taken=text)
    documents, blank, unlabelled = [], 0, 0
    for line, row in rows:
        where = f"{path}, line {line}"
        words = _text(row.get(text), where)
        if words is None:
            blank += 1
            continue
        name = _label_in_words(row.get(label), where) if label else None
        if name is None and needs_labels:
            unlabelled += 1
            continue
        documents.append(_document(words, name, row, where))
    notes = []
    if blank:
        notes.append(f"{path.name}: {counted(blank, 'blank row')} skipped")
    if unlabelled:
        notes.append(f"{path.name}: {counted(unlabelled, 'row')} without a label skipped")
    if not documents:
        raise DataError(f"{path} holds no usable row: {'; '.join(notes)}.")
    return Documents(documents), notes


def check_labels(corpus: Corpus) -> None:
    """Refuse what no classifier can learn: one label only, nearly as many labels as documents."""
    counts = Counter(corpus.train.labels)
    if not counts:
        raise DataError(f"{corpus.name}: there are no documents to train on.")
    if len(counts) < 2:
        raise DataError(
            f"{corpus.name}: every training document has the label {next(iter(counts))!r}. "
            "A classifier needs at least two different labels."
        )
    if len(counts) > MOST_CLASSES or (len(counts) > 20 and len(counts) > len(corpus.train) / 2):
        raise DataError(
            f"{corpus.name}: {len(counts):,} different labels in {len(corpus.train):,} training "
            "documents. Expected a few classes: is the label column a number or an id? Name the "
            "column of classes with --label (in Python: label=…)."
        )
    fractions = sum(_is_fraction(name) for name in counts)
    if len(counts) > 20 and fractions > len(counts) / 2 and len(counts) > len(corpus.train) / 10:
        example = next(str(name) for name in counts if _is_fraction(name))
        raise DataError(
            f"{corpus.name}: the labels are numbers with fractions, such as {example}: "
            f"{len(counts):,} different ones in {len(corpus.train):,} training documents. heedful "
            "needs a few classes: name another column with --label (in Python: label=…), or make "
            "classes of the numbers first."
        )
    for part, documents in (("dev", corpus.dev), ("test", corpus.test)):
        unseen = sorted({str(label) for label in documents.labels if label not in counts})
        if unseen:
            raise DataError(
                f"{corpus.name}: the {part} part has labels never seen in training: "
                f"{', '.join(unseen[:5])}. Known: {', '.join(sorted(map(str, counts))[:10])}."
            )


def _is_fraction(label: str | None) -> bool:
    try:
        return not float(label or 0).is_integer()
    except ValueError:
        return False


def _doubts(corpus: Corpus) -> list[str]:
    labels = [*corpus.train.labels, *corpus.dev.labels, *corpus.test.labels]
    return [f"{corpus.name}: {sentence}" for sentence in doubtful_labels(labels)]


def read_object(
    dataset: DatasetObject,
    text: str | None = None,
    label: str | None = None,
    *,
    name: str = "dataset",
    needs_labels: bool = True,
) -> tuple[Documents, list[str]]:
    """The documents of a `datasets.Dataset`, and sentences about the rows that were left out."""
    rows = list(enumerate(object_rows(dataset), start=1))
    return documents_of(rows, Path(name), text, label, needs_labels=needs_labels)


def _read_objects(
    given: object, text: str | None, label: str | None
) -> tuple[dict[str, Documents], list[str]]:
    """The parts of a `Dataset` or a `DatasetDict`."""
    if isinstance(given, Mapping):
        splits: Mapping[str, DatasetObject] = given
    elif isinstance(given, DatasetObject):
        splits = {"train": given}
    else:
        raise DataError(
            "expected a file, a folder, or a Dataset or DatasetDict of the package datasets, not "
            f"{type(given).__name__}."
        )
    parts: dict[str, Documents] = {}
    notes: list[str] = []
    for part, names in PART_NAMES.items():
        if split := next((splits[name] for name in names if name in splits), None):
            parts[part], found = read_object(split, text, label, name=part)
            notes += found
    if "train" not in parts:
        raise DataError(
            f"the DatasetDict has no split named train. Its splits: {', '.join(splits) or 'none'}."
        )
    return parts, notes


def find_part(folder: Path, part: str) -> Path | None:
    """The file of a folder that holds the train, dev or test part, or the folder of a saved one."""
    for name in PART_NAMES[part]:
        if is_saved_dataset(folder / name):
            return folder / name
        for suffix in READERS:
            for ending in (suffix, suffix + ".gz"):
                if (folder / (name + ending)).is_file():
                    return folder / (name + ending)
    return None


def _read_folder(
    path: Path, text: str | None, label: str | None, needs_labels: bool
) -> tuple[dict[str, Documents], list[str]]:
    parts: dict[str, Documents] = {}
    notes: list[str] = []
    for part in PART_NAMES:
        if file := find_part(path, part):
            parts[part], part_notes = read_documents(file, text, label, needs_labels=needs_labels)
            notes += part_notes
    if "train" in parts:
        return parts, notes
    texts = sorted(file for file in path.glob("*/*.txt") if file.is_file())
    if not texts:
        raise DataError(
            f"{path} contains no corpus. Expected train.csv (or .tsv, .jsonl, .parquet), with "
            "optional dev and test files, or one folder of .txt files per class."
        )
    documents = [Document(decode(f.read_bytes(), f), f.parent.name) for f in texts]
    kept = [document for document in documents if document.text.strip()]
    if blank := len(documents) - len(kept):
        notes.append(f"{path.name}: {counted(blank, 'blank document')} skipped")
    return {"train": Documents(kept)}, notes


def _choose_column(
    path: Path,
    columns: Sequence[str],
    wanted: str | None,
    usual: Sequence[str],
    what: str,
    taken: str | None = None,
) -> str:
    listed = ", ".join(columns) or "none"
    if wanted is not None and wanted == taken:
        raise DataError(f"{path}: column {wanted!r} cannot hold both text and {what}.")
    if wanted is not None:
        if wanted not in columns:
            raise DataError(
                f"{path} has no column {wanted!r}.{nearest(wanted, columns)} "
                f"Available columns: {listed}."
            )
        return wanted
    by_lower = {column.lower(): column for column in reversed(columns)}
    for name in usual:
        if name in by_lower and by_lower[name] != taken:
            return by_lower[name]
    raise DataError(
        f"{path}: which column holds the {what}? Available columns: {listed}. "
        f"Name one with --{what} (in Python: {what}=…)."
    )


def _text(value: Any, where: str) -> str | None:
    """The text of a row; None for a blank one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, str):
        raise DataError(f"{where}: a text should be a string, not {value!r:.60}.")
    return whole_characters(value) if value.strip() else None


def _label_in_words(value: Any, where: str) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return whole_characters(str(value)).strip() or None
    raise DataError(f"{where}: a label should be a word or a number, not {value!r:.60}.")


def _document(text: str, label: str | None, row: Row, where: str) -> Document:
    return Document(
        text=text,
        label=label,
        rationale=_rationale(text, row, where),
        word_labels=_word_labels(text, row, where),
    )


def _rationale(text: str, row: Row, where: str) -> tuple[Span, ...] | None:
    """Marked stretches: 0/1 per space-separated word, or [start, end] pairs of characters."""
    marks = _list_value(row.get("rationale"), where, "rationale")
    if marks is None:
        return None
    if marks and all(isinstance(mark, list) for mark in marks):
        for mark in marks:
            if len(mark) != 2 or not all(type(place) is int for place in mark):
                raise DataError(f"{where}: a rationale span should be [start, end], not {mark!r}.")
            start, end = mark
            if not 0 <= start < end <= len(text):
                raise DataError(
                    f"{where}: the rationale span [{start}, {end}] lies outside the text of "
                    f"{counted(len(text), 'character')}."
                )
        return tuple((start, end) for start, end in marks)
    words = space_separated(text)
    if wrong := [mark for mark in marks if mark not in (0, 1)]:
        raise DataError(f"{where}: a rationale mark should be 0 or 1, not {wrong[0]!r:.60}.")
    if len(marks) != len(words):
        raise DataError(
            f"{where}: {counted(len(marks), 'rationale mark')} for {counted(len(words), 'word')}. "
            "Expected one 0 or 1 per word of the text split at spaces, or [start, end] pairs."
        )
    return tuple(span for span, mark in zip(words, marks, strict=True) if mark)


def _word_labels(text: str, row: Row, where: str) -> tuple[tuple[Span, str], ...] | None:
    labels = _list_value(row.get("token_labels"), where, "token_labels")
    if labels is None:
        return None
    words = space_separated(text)
    if len(labels) != len(words):
        raise DataError(
            f"{where}: {counted(len(labels), 'token label')} for {counted(len(words), 'word')}. "
            "Expected one per word of the text split at spaces."
        )
    if wrong := [label for label in labels if not isinstance(label, str | int | float)]:
        raise DataError(f"{where}: a token label should be a word or a number, not {wrong[0]!r}.")
    return tuple((span, str(label)) for span, label in zip(words, labels, strict=True))


def _list_value(value: Any, where: str, name: str) -> list[Any] | None:
    """A list, also when a CSV cell holds it as JSON; None when there is none.

    A cell of other text is somebody else's column of that name, and left alone.
    """
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return None
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise DataError(f"{where}: {name} should be a list like [0, 1, 0].") from None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, list):
        raise DataError(f"{where}: {name} should be a list like [0, 1, 0], not {value!r:.60}.")
    return value
