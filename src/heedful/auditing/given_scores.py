"""Scores that somebody else computed, judged beside a model's own readings; and ours for others.

file or object ──> GivenScores ── subject, documents ──> a measure more, on the scored documents
subject, texts ──> ScoredText, … ──> file
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from heedful.auditing.results import Column
from heedful.auditing.subjects.base import AnySubject, Reading, Subject
from heedful.errors import DataError, UsageError, counted
from heedful.importance.attributions import Attributions, ScoredText, read_attributions
from heedful.text.documents import Documents

GIVEN = "given"  # among the facts about an audit: the names of the measures that were given
JUDGED_BY = "telling"  # the question
UNSCORED = "unscored"  # its columns
CHARACTERS_AT_ONCE = 16_384  # of texts that are scored together


@dataclass(frozen=True)
class GivenScores:
    """Attributions that an audit judges; none where nothing was given."""

    attributions: tuple[Attributions, ...] = ()

    @classmethod
    def read(cls, given: object) -> "GivenScores":
        """From a file, an object (see `read_attributions`), or a list of files; None: nothing."""
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        parts: list[object] = [given]
        if isinstance(given, list | tuple) and all(isinstance(one, str | Path) for one in given):
            parts = list(given)
        found = [named for part in parts for named in read_attributions(part)]
        names = [one.name for one in found]
        if twice := {name for name in names if names.count(name) > 1}:
            raise DataError(
                f"two of the given methods are named {sorted(twice)[0]!r}: give them different "
                "names."
            )
        return cls(tuple(replace(one, name=f"{GIVEN} {one.name}") for one in found))

    @property
    def names(self) -> list[str]:
        """Of the measures, as the audit calls them."""
        return [one.name for one in self.attributions]

    def check_asked(self, questions: Sequence[str] | None) -> None:
        """Refuse scores that no question would judge."""
        if self.attributions and questions is not None and JUDGED_BY not in questions:
            raise UsageError(
                f"attributions are judged by the question {JUDGED_BY}: ask {JUDGED_BY} too."
            )

    def on(self, documents: Documents) -> tuple[Documents, int]:
        """The documents that have scores, and how many have none; refused if none has any."""
        texts = set(documents.texts)
        kept = [
            number
            for number, text in enumerate(documents.texts)
            if all(_has_own(one, text, texts) for one in self.attributions)
        ]
        if not kept:
            first = documents[0].text
            one = next(one for one in self.attributions if not _has_own(one, first, texts))
            scored = next(iter(one.by_text.values()))
            raise DataError(
                f"none of {counted(len(documents), 'document')} matches a text with given scores. "
                f"The first document is {first!r:.60}; the first text of "
                f"{one.name} is {scored.text!r:.60}."
            )
        left = documents.take(kept)
        for one in self.attributions:
            one.check(left.texts)
        return left, len(documents) - len(kept)

    def beside(self, subject: AnySubject) -> AnySubject:
        """The subject with these scores among its measures."""
        classes = tuple(map(str, subject.classes))
        named = [replace(one, classes=classes) for one in self.attributions]
        return subject.with_measures(named)


def _has_own(given: Attributions, text: str, texts: Set[str]) -> bool:
    """Whether there are scores for one of some texts, and not for another one that is like it."""
    scored = given.scored(text)
    return scored is not None and (scored.text == text or scored.text not in texts)


def _given(subject: Subject) -> dict[str, Attributions]:
    return {n: one for n, one in subject.further.items() if isinstance(one, Attributions)}


def unscored_words(subject: Subject, reading: Reading) -> dict[str, Column]:
    """Of each document, the number of words without a score, by the column of each method."""
    counts = reading.is_token.sum(axis=1).tolist()
    rows = list(zip(reading.texts, reading.offsets, counts, strict=True))
    return {
        f"{UNSCORED} {name}": np.array(
            [one.unscored(text, words[:count]) for text, words, count in rows], dtype=np.float64
        )
        for name, one in _given(subject).items()
    }


def unscored_notes(subject: Subject, columns: Mapping[str, Column]) -> list[str]:
    """The same of all documents, in sentences."""
    known = ((one, columns.get(f"{UNSCORED} {name}")) for name, one in _given(subject).items())
    return [note for one, column in known if column is not None for note in one.notes_on(column)]


def scored_texts(
    subject: Subject, texts: Sequence[str], measures: Sequence[str]
) -> Iterator[ScoredText]:
    """What a subject's measures say of each word of some texts, by measure; to be written."""
    classes = tuple(map(str, subject.classes))
    for some in _batches(texts):
        reading = subject.read(some)
        prediction = reading.prediction.tolist()
        for measure in measures:
            scores = subject.importance(reading, measure)
            for row, (text, offsets) in enumerate(zip(reading.texts, reading.offsets, strict=True)):
                count = int(reading.is_token[row].sum())
                yield ScoredText(
                    text,
                    np.asarray(offsets[:count], dtype=np.int64).reshape(-1, 2),
                    scores[row, :count],
                    measure,
                    classes,
                    classes[prediction[row]],
                )


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Texts in their order, as many as are read together."""
    some: list[str] = []
    for text in texts:
        if some and sum(map(len, some)) + len(text) > CHARACTERS_AT_ONCE:
            yield some
            some = []
        some.append(text)
    if some:
        yield some
