"""Do words tied to a label get higher attention scores than neutral words, everywhere?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.metrics.corpus import auc_terms
from heedful.auditing.questions.base import (
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.results import Table
from heedful.auditing.subjects.base import KnowsWords, Subject
from heedful.auditing.subjects.retrained import Twins

NEUTRAL, NO_KIND = -1, -2
SHOWN_WORDS = 400  # of each kind, in the table of words

ATTENTION_SCORE_AUC = AuditTest(
    "attention-score AUC", "higher", "Sun & Lu 2020", "0.5", "AUC of the absolute polarity score",
    defined_by=("evidence_mass", "relative_mass"),
)  # fmt: skip


@questions.register("discerning")
@dataclass(frozen=True)
class Discerning(Question):
    """Attention scores of polar against neutral words of the training documents (Sun & Lu)."""

    name = "discerning"
    place = 7
    asks = "Do words tied to a label get higher attention scores than neutral words, everywhere?"
    needs = KnowsWords
    tests = (ATTENTION_SCORE_AUC,)

    def why_not(self, subject: Subject, twins: Twins) -> str:
        """Scores before the projection are needed too."""
        lacks = not {"attention-score", "polarity"} <= set(subject.measures)
        return super().why_not(subject, twins) or ("it has no attention scores" if lacks else "")

    def measure(self, group: DocumentGroup) -> Measured:
        """Score, polarity and weight of every polar or neutral word."""
        subject, reading = group.subject, group.reading
        assert isinstance(subject, KnowsWords)
        ids = subject.word_ids(reading)
        kind = np.where(reading.is_token & (ids >= 0), _kinds(subject)[ids], NO_KIND)
        is_looked_at = kind != NO_KIND
        document, _ = np.nonzero(is_looked_at)
        polarity = group.importance("polarity")
        if len(subject.classes) == 2:  # of the second label, whatever was predicted
            polarity = np.where(reading.prediction[:, None] == 1, polarity, -polarity)
        scores = {
            "score": group.importance("attention-score"),
            "polarity": polarity,
            "weight": reading.weights,
        }
        words = {name: values[is_looked_at].astype(np.float32) for name, values in scores.items()}
        ids_and_kinds = {
            "word": ids[is_looked_at].astype(np.int32),
            "kind": kind[is_looked_at].astype(np.int16),
        }
        return Measured({}, {}, words | ids_and_kinds, document)

    def conclude(self, found: Findings) -> Conclusion:
        """The area under the curve, between chance and that of absolute polarity."""
        words, document = found.measured.words, found.measured.document
        is_polar = words["kind"] != NEUTRAL
        if not is_polar.any() or is_polar.all():
            return Conclusion(reason="the documents lack polar or neutral words")
        areas = [
            auc_terms(values.astype(np.float64), is_polar, document, len(found.labels))
            for values in (words["score"], np.abs(words["polarity"]))
        ]
        note = f"{int(is_polar.sum()):,} polar and {int((~is_polar).sum()):,} neutral words"
        test = found.test(ATTENTION_SCORE_AUC, areas[0], 0.5, areas[1], note=note)
        return Conclusion((test,), {"words": _word_table(found)})


def _kinds(subject: KnowsWords) -> Int[ndarray, " vocabulary"]:
    """For each word of the vocabulary: the label it leans to, neutral, or neither."""
    kinds = np.full(len(subject.vocabulary), NO_KIND)
    kinds[subject.token_classes.neutral] = NEUTRAL
    for label, words in enumerate(subject.token_classes.polar):
        kinds[words] = label
    return kinds


def _label_name(subject: KnowsWords, number: int) -> str:
    """The label, told apart from the neutral words if it is called so itself."""
    label = str(subject.classes[number])
    return f"label {label}" if label == "neutral" else label


def _word_table(found: Findings) -> Table:
    """Means of the most frequent polar and neutral words over their occurrences."""
    subject, words = found.subject, found.measured.words
    assert isinstance(subject, KnowsWords)
    ids, place, counts = np.unique(words["word"], return_inverse=True, return_counts=True)
    means = {
        name: np.bincount(place, words[name]) / counts for name in ("score", "polarity", "weight")
    }
    kind = np.empty(len(ids), dtype=np.int64)
    kind[place] = words["kind"]
    rows = []
    for number in np.unique(kind).tolist():
        of_kind = np.flatnonzero(kind == number)
        for row in of_kind[np.argsort(-counts[of_kind], kind="stable")][:SHOWN_WORDS].tolist():
            name = "neutral" if number == NEUTRAL else _label_name(subject, number)
            rows.append(
                {
                    "word": subject.vocabulary[int(ids[row])], "kind": name,
                    "attention_score": float(means["score"][row]),
                    "polarity": float(means["polarity"][row]),
                    "weight": float(means["weight"][row]), "occurrences": int(counts[row]),
                }
            )  # fmt: skip
    return tuple(rows)
