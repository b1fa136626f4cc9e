"""What an audit found, as records: made by `audit.py`, saved here, shown by the report.

Knows nothing of models, so that a report can be made from a saved audit anywhere. A saved audit is
a folder with `audit.json` (answers and evidence) and `per_example.parquet` (a row per document).
"""

import io
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from heedful import runs, storage
from heedful.auditing import operating_points
from heedful.auditing.alternatives import of_given
from heedful.auditing.bootstrap import Score
from heedful.auditing.conformal import RISK, ConformalRule, fit_rule
from heedful.auditing.doors import AuditDoors
from heedful.auditing.metrics.base import Better
from heedful.auditing.operating_points import OperatingPoint, OperatingPoints
from heedful.auditing.results_schema import About, Calibration, Evidence, Plain, StoredSettings
from heedful.auditing.verdict import (
    DECIDING,
    NEVER_WITHOUT,
    SENTENCES,
    VETOING,
    Judgement,
    Verdict,
)
from heedful.errors import RunError, UnknownName, percent
from heedful.records import none_as, read_record
from heedful.runs import RunFolder
from heedful.text.documents import whole_characters

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = 3  # it is sealed
UNSEALED = 2  # the schema of audits that earlier versions wrote
ADVICE = "Copy the audit again, or audit again."
NOT_ASKED = "not asked"  # in the file, of a question without a judgement
AT_CHANCE = "accuracy_at_chance"  # the sentence, among the facts about an audit
Column = Float[ndarray, " documents"]
Table = tuple[Mapping[str, Any], ...]
"""Rows of plain values: evidence behind a figure."""


@dataclass(frozen=True)
class TestResult:
    """One test of a question, between its controls."""

    __test__ = False  # pytest: not a test case

    question: str
    name: str
    better: Better
    score: Score
    judgement: Judgement
    note: str = ""
    column: str | None = None  # a number per document behind it; None: it is of all together


@dataclass(frozen=True)
class Answer:
    """What an audit found on one question."""

    question: str
    asks: str
    judgement: Judgement | None = field(metadata=none_as(NOT_ASKED))
    tests: tuple[TestResult, ...]
    reason: str = ""  # why it was not asked


@dataclass(frozen=True)
class ShownDocument:
    """A document drawn as a heat map, and why it was picked."""

    why: str
    place: int  # its row in the table of documents
    text: str
    label: str | None
    prediction: str
    probability: float
    offsets: tuple[tuple[int, int], ...]  # of its words, in characters of `text`
    scores: Mapping[str, tuple[float, ...]]  # by measure, attention first; one number per word
    unsigned: tuple[str, ...] = ("attention",)  # measures that do not say which side a word is on
    marked: tuple[tuple[int, int], ...] = ()  # what people marked as the reason, in characters


@dataclass(frozen=True, repr=False)
class Audit(AuditDoors):
    """The verdict, all answers, the evidence, and the numbers of each document.

    `evidence` holds small tables by name:

        curves    measure, k, probability_drop, accuracy_drop, kept_own, kept_gold, documents
        measures  measure, comprehensiveness, low, high, sufficiency, documents, its paired gain
                  over attention (over_attention, …_low, …_high), its share of false pictures
                  (false_pictures, false_low, false_high), what they are judged to be
                  (judgement), the checks of readings other than attention (random_model,
                  incompleteness, each with its judgement) and its verdict; best first
        instead   measure, false_pictures, false_low, false_high, judgement, documents: the reading
                  that was chosen on other documents than it was judged on
        classes   class, false_pictures, low, high, documents: by predicted class
        flips     top_flips, other_flips, documents, share: Serrano & Smith's four cells
        words     word, kind (a label or "neutral"), attention_score, polarity, weight, occurrences
        frontier  model, adversary_weight, jsd, tvd, is_on_frontier, accuracy, accuracy_drop:
                  trained adversaries (deep)
        matched   model, at_jsd, tvd: the frontier's TVD at JSDs that are the same for all models
        facts     question, name, mean, low, high, documents, note: means without controls
    """

    verdict: Verdict
    answers: tuple[Answer, ...]
    texts: tuple[str, ...]
    labels: tuple[str | None, ...]
    predictions: tuple[str, ...]
    columns: dict[str, Column]  # one number per document; NaN where it was not asked
    evidence: dict[str, Table]
    shown: tuple[ShownDocument, ...]
    instead: str  # what may be shown instead, in a sentence
    single_words: int  # documents of one word: left out
    available: int  # documents there were to choose from
    about: dict[str, Any] = field(default_factory=dict)  # what was audited: name, data, accuracy, …
    settings: dict[str, Any] = field(default_factory=dict)
    calibration: OperatingPoints = field(  # that it was judged by
        default_factory=lambda: operating_points.shipped()
    )

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return SENTENCES[self.verdict]

    @property
    def given(self) -> Table:
        """The rows of scores that were given to be judged, as in the table of measures."""
        names = self.about.get("given", ())
        return tuple(row for row in self.evidence.get("measures", ()) if row["measure"] in names)

    @property
    def given_verdict(self) -> Verdict | None:
        """The worst verdict on scores that were given; None: there were none."""
        found = {row["verdict"] for row in self.given}
        worst: tuple[Verdict, ...] = ("may-not", "not-safe", "may")
        return next((verdict for verdict in worst if verdict in found), None)

    @property
    def given_sentences(self) -> tuple[str, ...]:
        """The verdict on each, in words."""
        tolerated = 1 - self.cuts.get("true pictures", 1.0)
        return tuple(of_given(row, tolerated) for row in self.given)

    @property
    def cuts(self) -> dict[str, float]:
        """The cuts that it was judged by."""
        return self.calibration.cuts_for(self.architecture, self.settings.get("tolerate"))

    @property
    def architecture(self) -> str:
        """The kind of model, as operating points know it; empty in audits of version 0.1."""
        return str(self.about.get("judged_as", ""))

    def said_of(self, test: str) -> str:
        """A test's cut for this kind of model, and how often the test is right, in a line."""
        return self.calibration.said_of(test, self.cuts.get(test))

    @property
    def caveat(self) -> str:
        """What the verdict rests on, in a sentence."""
        tests = [test for answer in self.answers for test in answer.tests]
        judged = [test.name for test in tests if test.judgement != "reported"]
        otherwise = [name for name in judged if name not in self.cuts]
        ways = [f"by {self.calibration.origin}"] if len(otherwise) < len(judged) else []
        ways += [f"{', '.join(otherwise)} by points of accuracy"] if otherwise else []
        unasked = [answer.question for answer in self.answers if answer.judgement is None]
        silent = f" Not asked: {', '.join(unasked)}." if unasked else ""
        told = ", ".join([f"{len(judged)} of {len(tests)} tests are judged", *ways])
        return f"{told}.{silent}{self._earlier}"

    @property
    def _earlier(self) -> str:
        """A sentence if it was judged by the rules of an earlier version."""
        if self.calibration.has_doses:
            return ""
        return " It was judged by the rules of an earlier version: audit again for today's verdict."

    @property
    def chance(self) -> str:
        """A sentence if the model is right no more often than chance; else empty."""
        return str(self.about.get(AT_CHANCE, ""))

    def single_texts(self, risk: float = RISK) -> ConformalRule | None:
        """Which single texts to show the picture of, so that at most `risk` of these are false.

        It is fitted on the documents whose picture had every test, greedy erasure too. None: the
        audit has no scores for it, because it did not ask telling, was judged by another model, or
        was made by an earlier version.
        """
        wanted = ("nearness", "is_true_picture", "fall_greedy erasure")
        if not all(name in self.columns for name in wanted):
            return None
        score, is_true, greedy = (self.columns[name] for name in wanted)
        is_tested = ~np.isnan(score) & ~np.isnan(greedy)
        rule = fit_rule(score[is_tested], is_true[is_tested] == 0, risk)
        why = self._why_no_single_texts
        return rule.refused(why) if why else rule

    @property
    def _why_no_single_texts(self) -> str:
        """What speaks against the pictures of all texts alike, whatever their scores."""
        against = [
            test.name
            for answer in self.answers
            for test in answer.tests
            if answer.question in {*DECIDING, *VETOING} - {NEVER_WITHOUT}
            and test.judgement == "contradicted"
        ]
        if against:
            return f"The audit contradicts {' and '.join(against)}, and that concerns every text."
        return f"{self.chance[0].upper()}{self.chance[1:]}." if self.chance else ""

    @property
    def accuracies(self) -> dict[str, str]:
        """Accuracy on the audited documents, and on the run's whole test part where it is known."""
        found = {
            "audited": (self.about.get("accuracy"), self.about.get("labelled_documents")),
            "test": (self.about.get("test_accuracy"), self.about.get("test_documents")),
        }
        named = {"audited": "the {} audited documents", "test": "all {} test documents"}
        return {
            which: f"{percent(share)} on {named[which].format(f'{count:,}')}"
            for which, (share, count) in found.items()
            if isinstance(share, float) and isinstance(count, int)
        }

    @property
    def documents(self) -> int:
        """How many documents were audited."""
        return len(self.texts)

    def answer(self, question: str) -> Answer:
        """The answer to one question."""
        for answer in self.answers:
            if answer.question == question:
                return answer
        known = ", ".join(answer.question for answer in self.answers)
        raise UnknownName(f"no answer to a question named {question!r}. Asked: {known}.")

    def to_frame(self) -> "DataFrame":
        """A row per document: text, label, prediction and every number behind the tests."""
        import pandas

        described = {
            "text": [whole_characters(text) for text in self.texts],  # Parquet takes no others
            "label": self.labels,
            "prediction": self.predictions,
        }
        return pandas.DataFrame(described | self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows per document, as plain data."""
        rule = self.single_texts()
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "in_plain_words": str(self.in_plain_words),
            "instead": self.instead,
            **({"given": list(self.given_sentences)} if self.given else {}),
            "documents": self.documents,
            "documents_available": self.available,
            "documents_of_one_word": self.single_words,
            "single_texts": None if rule is None else plain(rule.to_dict()),
            "answers": [_plain_answer(answer) for answer in self.answers],
            "cuts": self.cuts,
            "calibration": plain(self.calibration.to_dict()),
            "about": self.about,
            "settings": plain(self.settings),
            "evidence": {name: plain(list(rows)) for name, rows in self.evidence.items()},
            "shown": [plain(asdict(document)) for document in self.shown],
        }

    def save(self, path: str | Path) -> None:
        """Write audit.json, sealed, and per_example.parquet into a folder."""
        folder = RunFolder(Path(path))
        buffer = io.BytesIO()
        self.to_frame().to_parquet(buffer)
        with storage.held(folder.path):
            folder.write_bytes(runs.PER_EXAMPLE, buffer.getvalue())
            request = [runs.REQUEST] if (folder.path / runs.REQUEST).is_file() else []
            folder.write_sealed(runs.AUDIT, self.to_dict(), [runs.PER_EXAMPLE, *request])

    @classmethod
    def load(cls, path: str | Path) -> "Audit":
        """The audit that `save` wrote."""
        import pandas

        folder = RunFolder(Path(path))
        if not (folder.path / runs.AUDIT).is_file():
            raise RunError(
                f"{path} contains no audit: {runs.AUDIT} is missing. Run `heedful audit` first."
            )
        stored = StoredAudit.read(folder)
        if stored.seal:
            folder.check_seal(runs.AUDIT, [runs.PER_EXAMPLE], ADVICE)
        try:
            frame = pandas.read_parquet(io.BytesIO(folder.read_bytes(runs.PER_EXAMPLE)))
            return cls._from(stored, frame)
        except (LookupError, TypeError, ValueError, AttributeError, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RunError(
                f"the files of the audit {path} do not fit together ({reason}). {ADVICE}"
            ) from None

    @classmethod
    def _from(cls, stored: "StoredAudit", frame: "DataFrame") -> "Audit":
        if len(frame) != stored.documents:
            raise ValueError(f"{len(frame)} rows of {stored.documents} documents")
        described = {name: tuple(frame.pop(name)) for name in ("text", "label", "prediction")}
        labels = tuple(None if one is None or one != one else one for one in described["label"])
        known = (*described["text"], *described["prediction"], *filter(None, labels))
        if not all(isinstance(one, str) for one in known):
            raise ValueError("a text, a label or a prediction is not a string")
        if others := [str(name) for name in frame if frame[name].dtype.kind not in "fiub"]:
            raise ValueError(f"column {others[0]} does not hold numbers")
        return cls(
            verdict=stored.verdict,
            answers=stored.answers,
            texts=described["text"],
            labels=labels,
            predictions=described["prediction"],
            columns={str(name): frame[name].to_numpy(dtype=np.float64) for name in frame},
            evidence=stored.tables,
            shown=stored.shown,
            instead=stored.instead,
            single_words=stored.documents_of_one_word,
            available=stored.documents_available,
            about=dict(stored.about),
            settings=dict(stored.settings),
            calibration=stored.operating_points,
        )


@dataclass(frozen=True)
class StoredAudit:
    """What audit.json holds: an audit without its rows per document."""

    verdict: Verdict
    instead: str
    documents: int
    documents_available: int
    documents_of_one_word: int
    answers: tuple[Answer, ...]
    about: About
    settings: StoredSettings
    evidence: Evidence
    shown: tuple[ShownDocument, ...]
    cuts: dict[str, float] = field(default_factory=dict)
    calibration: Calibration | None = None
    schema: int = UNSEALED
    sha256: dict[str, str] = field(default_factory=dict)
    seal: str = ""

    def __post_init__(self) -> None:
        read_record(dict[str, list[dict[str, Plain]]], self.evidence, "evidence")

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of its evidence."""
        return {name: tuple(rows) for name, rows in self.evidence.items()}  # type: ignore[arg-type]

    @classmethod
    def read(cls, folder: RunFolder) -> "StoredAudit":
        """The audit.json of a folder."""
        found = folder.read_record(runs.AUDIT, cls, schemas=[UNSEALED, SCHEMA], advice=ADVICE)
        if found.schema == SCHEMA and not found.seal:
            raise RunError(f"{folder.path / runs.AUDIT} has no seal: it was changed. {ADVICE}")
        return found

    @property
    def operating_points(self) -> OperatingPoints:
        """What it was judged by; the oldest hold nothing but cuts, which nobody had measured."""
        if self.calibration is not None:
            return OperatingPoints.from_dict(self.calibration)
        questions = {test.name: one.question for one in self.answers for test in one.tests}
        return OperatingPoints(
            tuple(
                OperatingPoint(questions.get(test, ""), test, cut, True, None, None, None)
                for test, cut in self.cuts.items()
            )
        )


def plain(value: Any) -> Any:
    """Data that JSON can hold: what is not a number becomes null."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_answer(answer: Answer) -> dict[str, Any]:
    tests = [plain(asdict(test)) for test in answer.tests]
    facts = {"question": answer.question, "asks": answer.asks, "reason": answer.reason}
    return {**facts, "judgement": answer.judgement or NOT_ASKED, "tests": tests}
