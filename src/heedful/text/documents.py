"""Documents, and corpora made of them: what a reader gives and a training takes.

A document is a text with, perhaps, a label and what people marked in it. Marks are kept as
character spans on the text itself, so they survive any way of cutting it into words.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, overload

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.errors import DataError

Span = tuple[int, int]
"""First character and one past the last."""

Split = Literal["words", "spaces"]
"""How a text is cut: into words and marks, or at single spaces (text that is already cut)."""


@dataclass(frozen=True)
class Document:
    """One text and what is known about it."""

    text: str
    label: str | None = None
    rationale: tuple[Span, ...] | None = None  # what a person marked as the reason for the label
    word_labels: tuple[tuple[Span, str], ...] | None = None  # a label of its own for each word


class Documents(Sequence[Document]):
    """A list of documents with its columns at hand."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._documents = tuple(documents)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> "Documents": ...
    def __getitem__(self, index: int | slice) -> "Document | Documents":
        chosen = self._documents[index]
        return chosen if isinstance(chosen, Document) else Documents(chosen)

    def __len__(self) -> int:
        return len(self._documents)

    def __repr__(self) -> str:
        return f"<{len(self):,} documents>"

    def take(self, indices: Iterable[int]) -> "Documents":
        """The documents at these positions, in this order."""
        return Documents(self._documents[index] for index in indices)

    @property
    def texts(self) -> list[str]:
        """The texts, in order."""
        return [document.text for document in self]

    @property
    def labels(self) -> list[str | None]:
        """The labels, in order; None where a document has none."""
        return [document.label for document in self]

    @property
    def rationales(self) -> list[tuple[Span, ...] | None]:
        """What people marked as the reason, in order; None where nobody marked anything."""
        return [document.rationale for document in self]


@dataclass(frozen=True)
class Corpus:
    """Documents in three parts; a part that does not exist is empty."""

    name: str
    train: Documents
    dev: Documents = field(default_factory=Documents)
    test: Documents = field(default_factory=Documents)
    split: Split = "words"  # how its texts want to be cut
    notes: tuple[str, ...] = ()  # what reading left out or changed, in sentences

    def __repr__(self) -> str:
        parts = f"{len(self.train):,} / {len(self.dev):,} / {len(self.test):,}"
        return f"<corpus {self.name}: {parts} documents to train / develop / test>"


def fingerprints(texts: Iterable[str]) -> Int[ndarray, " documents"]:
    """A 64-bit number per text that ignores case and white space: equal numbers, same document."""
    return np.array([_fingerprint(text) for text in texts], dtype=np.int64)


def share_out(corpus: Corpus, dev_share: float, test_share: float, seed: int) -> Corpus:
    """Cut a dev and a test part out of `train`: by label, repeats of a text kept together.

    A share of 0, or a part that exists already, takes nothing.
    """
    if not (dev_share >= 0 and test_share >= 0 and dev_share + test_share < 1):
        raise DataError(
            f"the shares for dev ({dev_share}) and test ({test_share}) should each be at least 0 "
            "and together leave documents to train on."
        )
    shares = (0.0 if corpus.dev else dev_share, 0.0 if corpus.test else test_share)
    part_of = _draw_parts(corpus.train, shares, seed)
    train, dev, test = (
        corpus.train.take(np.flatnonzero(part_of == part).tolist()) for part in range(3)
    )
    return replace(corpus, train=train, dev=corpus.dev or dev, test=corpus.test or test)


def words_in_spans(
    offsets: Int[ndarray, "words 2"], spans: Sequence[Span]
) -> Bool[ndarray, " words"]:
    """Which words overlap a marked stretch of the text."""
    inside = np.zeros(len(offsets), dtype=bool)
    for start, end in spans:
        inside |= (offsets[:, 0] < end) & (offsets[:, 1] > start)
    return inside


def only_words(
    text: str, offsets: Int[ndarray, "words 2"], is_kept: Bool[ndarray, " words"]
) -> str:
    """The kept words of a text; between two, a blank if any stood between them."""
    return "".join(_parts_kept(text, offsets, np.flatnonzero(is_kept).tolist()))


def places_of_kept(
    text: str, offsets: Int[ndarray, "words 2"], is_kept: Bool[ndarray, " words"]
) -> Int[ndarray, "kept 2"]:
    """Where the kept words stand in the text that `only_words` makes of them."""
    kept = np.flatnonzero(is_kept).tolist()
    lengths = np.array([0, *map(len, _parts_kept(text, offsets, kept))], dtype=np.int64)
    ends = lengths.cumsum()
    return np.stack([ends[:-1], ends[1:]], axis=1)[::2]  # between two words stands what parts them


def _parts_kept(text: str, offsets: Int[ndarray, "words 2"], kept: list[int]) -> list[str]:
    """The kept words, and between two what parts them, which may be nothing."""
    parts: list[str] = []
    last: int | None = None
    for place in kept:
        if last is not None:
            between = text[offsets[last, 1] : offsets[place, 0]]
            has_blank = any(
                any(sign.isspace() for sign in text[offsets[p, 1] : offsets[p + 1, 0]])
                for p in range(last, place)
            )
            parts.append(between if place == last + 1 else " " * has_blank)
        parts.append(text[offsets[place, 0] : offsets[place, 1]])
        last = place
    return parts


def space_separated(text: str) -> list[Span]:
    """Where the words of `text.split(" ")` stand."""
    spans, start = [], 0
    for word in text.split(" "):
        spans.append((start, start + len(word)))
        start += len(word) + 1
    return spans


def whole_characters(text: str) -> str:
    """The text with every half of a surrogate pair, which no file can hold, replaced by a sign."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _fingerprint(text: str) -> int:
    plain = " ".join(text.lower().split()).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(plain, digest_size=8).digest(), "big", signed=True)


def _draw_parts(
    documents: Documents, shares: Sequence[float], seed: int
) -> Int[ndarray, " documents"]:
    """For each document the number of its part: 0 stays, 1 is the first share, and so on."""
    rng = np.random.default_rng(seed)
    first_seen: dict[int, int] = {}
    group_of = np.array(
        [first_seen.setdefault(f, len(first_seen)) for f in fingerprints(documents.texts).tolist()]
    )
    label_of_group: dict[int, str | None] = {}
    for group, label in zip(group_of.tolist(), documents.labels, strict=True):
        label_of_group.setdefault(group, label)
    part_of_group = np.zeros(len(first_seen), dtype=np.int64)
    for label in sorted(set(label_of_group.values()), key=str):
        groups = rng.permutation([g for g, of in label_of_group.items() if of == label])
        start = 0
        for part, share in enumerate(shares, start=1):
            stop = start + round(share * len(groups))
            part_of_group[groups[start:stop]] = part
            start = stop
    return part_of_group[group_of] if len(documents) else part_of_group
