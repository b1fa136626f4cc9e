"""Labels -> sentences about those that are probably mistakes; labels of documents -> a model's.

A stray cell of a label column becomes a class of its own, and a model learns it. Nothing is dropped
here, because any of these may be meant (a class may well be called "none"): it is said instead.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from heedful.errors import DataError, counted
from heedful.text.documents import Documents

# How libraries and people write that there is no value; in lower case.
MISSING = {"", "nan", "null", "none", "nil", "na", "n/a", "#n/a", "<na>", "nat", "missing", "?"}
FEW = 5  # fewer documents leave none, or one at most, to test on
RARE = 0.01  # an imbalance beyond this share is more often a slip than a class
MOST_TOLD = 5  # of a kind


def doubtful_labels(labels: Iterable[object]) -> list[str]:
    """A sentence for each label that looks missing, is written in two ways, or is very rare."""
    counts = Counter(str(label) for label in labels if label is not None)
    missing = [label for label in counts if label.strip().lower() in MISSING]
    others = [label for label in counts if label not in missing]
    alike = _written_in_several_ways(others)
    variants = {label for group in alike for label in group}
    total = counts.total()
    rare = [
        label
        for label in others
        if label not in variants and counts[label] < FEW and counts[label] < RARE * total
    ]
    return [
        *_first(
            f"label {label!r} looks like a missing value, but is a class with "
            f"{counted(counts[label], 'document')}: if those have no label, drop them"
            for label in missing
        ),
        *_first(
            f"labels {_with_counts(group, counts)} differ only in case or white space, but are "
            "different classes: if they mean the same, write them the same way"
            for group in alike
        ),
        *_first(
            f"label {label!r} has only {counted(counts[label], 'document')} of {total:,}: if that "
            "is a mistake, drop the document or merge the label with another"
            for label in rare
        ),
    ]


def _written_in_several_ways(labels: Iterable[str]) -> list[list[str]]:
    by_word: dict[str, list[str]] = {}
    for label in labels:
        by_word.setdefault(" ".join(label.casefold().split()), []).append(label)
    return [group for group in by_word.values() if len(group) > 1]


def _with_counts(labels: Iterable[str], counts: Counter[str]) -> str:
    return " and ".join(f"{label!r} ({counted(counts[label], 'document')})" for label in labels)


def _first(sentences: Iterable[str]) -> Iterator[str]:
    """A few sentences of a kind, and how many more there would be."""
    listed = list(sentences)
    yield from listed[:MOST_TOLD]
    if len(listed) > MOST_TOLD:
        yield f"the same is true of {counted(len(listed) - MOST_TOLD, 'more label')}"


def match_labels(
    classes: Sequence[str], documents: Documents
) -> tuple[tuple[str, ...], Documents, str]:
    """Classes of a finished model and documents that use the same labels, and a note on how.

    By name, whatever the case; else by number. A model that calls its classes LABEL_0, LABEL_1
    takes the names of the documents' labels, in their order.
    """
    labels = sorted({label for label in documents.labels if label is not None}, key=_natural)
    classes = tuple(classes)
    if set(labels) <= set(classes):
        return classes, documents, ""
    by_case = {name.lower(): name for name in classes}
    numbers = {str(number): name for number, name in enumerate(classes)}
    is_unnamed = all(re.fullmatch(r"LABEL_\d+", name) for name in classes)
    if len(by_case) == len(classes) and {label.lower() for label in labels} <= set(by_case):
        name_of = {label: by_case[label.lower()] for label in labels}
    elif set(labels) <= set(numbers):
        name_of = {label: numbers[label] for label in labels}
    elif is_unnamed and len(labels) == len(classes):
        name_of = dict(zip(labels, classes, strict=True))
    else:
        raise DataError(
            f"the labels of the documents do not match the model's: the documents have "
            f"{_listed(labels)}, the model {_listed(classes)}. Rename one of them (a model's "
            "names are in its config.json as id2label)."
        )
    matched = ", ".join(f"{label} = {name}" for label, name in name_of.items())
    if is_unnamed:  # then the documents' names say more
        label_of = {name: label for label, name in name_of.items()}
        renamed = tuple(label_of.get(name, name) for name in classes)
        return renamed, documents, f"labels matched in order: {matched}"
    relabelled = Documents(
        replace(document, label=document.label and name_of[document.label])
        for document in documents
    )
    return classes, relabelled, f"labels matched: {matched}"


def match_labels_or_none(
    classes: tuple[str, ...], documents: Documents
) -> tuple[tuple[str, ...], Documents, str]:
    """The same; labels that do not fit are left out, and the note says so."""
    try:
        return match_labels(classes, documents)
    except DataError as error:
        bare = Documents(replace(document, label=None) for document in documents)
        return classes, bare, f"accuracy is unknown, because {error}"


def _natural(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() else (10**9, label)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
