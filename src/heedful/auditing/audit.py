"""An audit: every question asked of every document, then answers and a verdict.

Documents of like length are read together, a few at a time, so memory stays flat however many
there are. Each group has a random stream of its own, so it does not matter what was done before.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Int
from numpy import ndarray

from heedful.auditing import rules
from heedful.auditing.questions import AuditSettings, Question, TestResult, questions
from heedful.auditing.questions.question import Chunk, Column
from heedful.auditing.rules import CUTS, SENTENCES, Judgement, Verdict
from heedful.auditing.subject import OpenSubject, Reading
from heedful.errors import DataError
from heedful.text.documents import Document, Documents, words_in_spans

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = 1
CHARACTERS_AT_ONCE = 60_000  # of the documents in a group, each counted as long as the longest
DOCUMENTS_AT_ONCE = 256


@dataclass(frozen=True)
class Answer:
    """What an audit found on one question."""

    question: str
    asks: str
    judgement: Judgement | None  # None: not asked
    tests: tuple[TestResult, ...]
    reason: str = ""  # why it was not asked


@dataclass(frozen=True)
class Audit:
    """All answers, the numbers per document behind them, and the verdict."""

    verdict: Verdict
    answers: tuple[Answer, ...]
    columns: dict[str, Column]  # one number per document, in the order of the documents
    documents: int
    single_words: int  # documents of one word: left out
    settings: AuditSettings

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return SENTENCES[self.verdict]

    def to_frame(self) -> "DataFrame":
        """The numbers per document as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the numbers per document, as plain data."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "documents": self.documents,
            "documents_of_one_word": self.single_words,
            "answers": [_plain_answer(answer) for answer in self.answers],
            "cuts": CUTS,
            "settings": _plain(asdict(self.settings)),
        }

    def answer(self, question: str) -> Answer:
        """The answer to one question."""
        return next(answer for answer in self.answers if answer.question == question)


def audit(
    subject: OpenSubject,
    documents: Documents,
    settings: AuditSettings | None = None,
    asked: Sequence[str] | None = None,
    advance: Callable[[int], None] = lambda documents: None,
) -> Audit:
    """Ask the questions (all, unless some are named) of a subject on some documents.

    `advance` is told how many more documents are done.
    """
    settings = settings or AuditSettings()
    if not len(documents):
        raise DataError("there is no document to audit on.")
    asking = sorted(map(questions.make, asked or questions), key=lambda question: question.place)
    columns: dict[str, Column] = {}
    singles = 0
    for number, group in enumerate(_groups(documents)):
        chunk = read_chunk(subject, documents.take(group.tolist()))
        is_single = chunk.reading.is_token.sum(axis=1) < 2
        singles += int(is_single.sum())
        for place, question in enumerate(asking):
            rng = np.random.default_rng([settings.seed, number, place])
            for name, values in question.measure(subject, chunk, settings, rng).items():
                column = columns.setdefault(name, np.full(len(documents), np.nan))
                column[group] = np.where(is_single, np.nan, values)
        advance(len(group))
    if singles == len(documents):
        raise DataError("every document has one word only, so there is nothing to attend to.")
    rng = np.random.default_rng([settings.seed, 2**31])
    answers = tuple(_answer(question, columns, settings, rng) for question in asking)
    found = {answer.question: answer.judgement or "undecided" for answer in answers}
    decisive, telling = (found.get(name, "undecided") for name in ("decisive", "telling"))
    verdict = rules.verdict(decisive, telling)
    return Audit(verdict, answers, columns, len(documents), singles, settings)


def read_chunk(subject: OpenSubject, documents: Documents) -> Chunk:
    """Some documents as the subject reads them, with labels and marks as arrays."""
    reading = subject.read(documents.texts)
    number_of = {str(label): number for number, label in enumerate(subject.classes)}
    return Chunk(
        reading=reading,
        labels=np.array([_label_number(document, number_of) for document in documents]),
        is_marked=_marks(reading, documents),
        has_marks=np.array([document.rationale is not None for document in documents]),
    )


def _label_number(document: Document, number_of: dict[str, int]) -> int:
    if document.label is None:
        return -1
    if document.label not in number_of:
        raise DataError(
            f"a label never seen in training: {document.label!r}. Known: {', '.join(number_of)}."
        )
    return number_of[document.label]


def _marks(reading: Reading, documents: Documents) -> Bool[ndarray, "documents words"]:
    marked = np.zeros_like(reading.is_token)
    for row, (document, offsets) in enumerate(zip(documents, reading.offsets, strict=True)):
        if document.rationale is not None:
            marked[row, : len(offsets)] = words_in_spans(offsets, document.rationale)
    return marked


def _answer(
    question: Question,
    columns: dict[str, Column],
    settings: AuditSettings,
    rng: np.random.Generator,
) -> Answer:
    tests = tuple(question.conclude(columns, settings, rng))
    if not tests:
        reason = "no document carries what the question needs"
        return Answer(question.name, question.asks, None, (), reason)
    judgement = rules.answer(test.judgement for test in tests)
    return Answer(question.name, question.asks, judgement, tests)


def _plain_answer(answer: Answer) -> dict[str, Any]:
    tests = [_plain(asdict(test)) for test in answer.tests]
    facts = {"question": answer.question, "asks": answer.asks, "reason": answer.reason}
    return {**facts, "judgement": answer.judgement or "not asked", "tests": tests}


def _plain(value: Any) -> Any:
    """Data that JSON can hold: what is not a number becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _groups(documents: Documents) -> Iterator[Int[ndarray, " group"]]:
    """Places of documents of like length, longest first, so memory gives out at once or never."""
    lengths = np.array([len(text) for text in documents.texts])
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        size = max(1, min(DOCUMENTS_AT_ONCE, CHARACTERS_AT_ONCE // longest))
        yield order[start : start + size]
        start += size
