"""Can the label be read off the weights alone, or off the words that they choose?"""

from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.bootstrap import paired_difference
from heedful.auditing.defects import HALF, TIED, is_lost_with, shown_words
from heedful.auditing.questions.base import (
    AuditSettings,
    Conclusion,
    DocumentGroup,
    Findings,
    Measured,
    Question,
    questions,
)
from heedful.auditing.results import Column, TestResult
from heedful.auditing.subjects.base import Reading
from heedful.auditing.subjects.retrained import Twin, as_usual, chosen, written
from heedful.model.pattern import weight_pattern
from heedful.training.settings import Settings

Patterns = Float[ndarray, "documents features"]
APPROXIMATORS = ("approximator-chosen", "approximator-others")
SMALLEST_SHARE = 1e-3  # probabilities are kept this far from 0, so that no document outweighs all
TREE_DOCUMENTS = 5000  # that a tree of the classifier is shown, at most

MASK_ONLY_ACCURACY = AuditTest(
    "mask-only accuracy", "lower", "Bai et al. 2021", "the model's own accuracy",
    "the same forest shown uniform weights of the same lengths",
)  # fmt: skip
WORD_CHOICE = AuditTest(
    "word choice", "lower", "ours, after Bai et al.", "all that a choice of words could encode",
    "0", dose="written-choice",
)  # fmt: skip


@questions.register("leak-free")
@dataclass(frozen=True)
class LeakFree(Question):
    """Labels encoded in the positions of the weights (Bai et al.), or in the choice of words.

    Mask-only accuracy is that of a classifier that sees only the pattern of the weights. Word
    choice compares documents in which a word got the most weight with those in which it stands:

    P(prediction | the word was chosen) - P(prediction | the word is there)

    Near 0 for words that say what they say wherever they stand; high where a word that says nothing
    is chosen for one label and passed over for the other. Documents whose chosen words decide
    without the others count 0: there the choice hides nothing.
    """

    name = "leak-free"
    place = 6
    asks = "Can the label be read from the weights alone, or from the words that they choose?"
    tests = (MASK_ONLY_ACCURACY, WORD_CHOICE)

    def twins(self, settings: AuditSettings, run: Settings) -> tuple[Twin, ...]:
        """Models that learn the answers from the chosen words, or from the others."""
        changes = {**as_usual(run), "split": "spaces"}
        return (
            Twin(APPROXIMATORS[0], changes, words="chosen"),
            Twin(APPROXIMATORS[1], changes, words="others"),
        )

    def measure(self, group: DocumentGroup) -> Measured:
        """The pattern of the weights, and what it would be with even weights."""
        reading = group.reading
        document, words = _words_and_chosen(reading)
        return Measured(
            {**_agreement(group), "is_choice_explained": _is_choice_explained(group)},
            {
                "shown_pattern": weight_pattern(reading.weights, reading.is_token),
                "even_pattern": weight_pattern(reading.even, reading.is_token),
            },
            words,
            document,
        )

    def conclude(self, found: Findings) -> Conclusion:
        """Both tests; mask-only accuracy stands between the model's own and that of lengths."""
        word_choice = _word_choice(found)
        places = self._mask_only(found)
        return replace(places, tests=(*places.tests, word_choice))

    def _mask_only(self, found: Findings) -> Conclusion:
        """Mask-only accuracy between the model's own and that of uniform weights."""
        right, labels = found.is_right, found.labels
        asked = ~np.isnan(right)
        counts = np.bincount(labels[asked]) if asked.any() else np.zeros(0, np.int64)
        if (counts >= found.settings.folds).sum() < 2:
            return _not_asked(found, _too_few(counts, found.settings.folds))
        kept = asked & np.isin(labels, np.flatnonzero(counts >= found.settings.folds))
        columns = {}
        for kind in ("shown", "even"):
            patterns = found.measured.curves[f"{kind}_pattern"][kept]
            hits, log_share = _cross_fitted(patterns, labels[kept], found.settings)
            for name, values in ((f"{kind}_hits", hits), (f"{kind}_log_share", log_share)):
                columns[name] = np.full(len(labels), np.nan)
                columns[name][kept] = values
        rng = found.rng_for("accuracy over lengths")
        ahead = paired_difference(right, columns["even_hits"], rng, found.settings.bootstrap)
        if not ahead.interval[0] > 0:
            reason = (
                "the model is not better than a classifier that sees only lengths "
                f"({np.nanmean(right):.1%} and {np.nanmean(columns['even_hits']):.1%} right)"
            )
            return _not_asked(found, reason)
        test = found.test(MASK_ONLY_ACCURACY, columns["shown_hits"], right, columns["even_hits"])
        prior = np.full(len(labels), np.nan)
        prior[kept] = np.log(np.bincount(labels[kept])[labels[kept]] / kept.sum())
        told = found.fact(
            "information of label and weights", columns["shown_log_share"] - prior,
            "nats, a lower bound; 0: the weights carry no information",
        )  # fmt: skip
        return Conclusion((test,), {"facts": (told, *_gap(found))})


def _not_asked(found: Findings, reason: str) -> Conclusion:
    """No mask-only accuracy, and why."""
    why = found.no_fact(MASK_ONLY_ACCURACY.name, f"not asked: {reason}")
    return Conclusion(evidence={"facts": (why, *_gap(found))})


@lru_cache(2**16)
def _number(word: str) -> int:
    """The same for the same word; half a surrogate pair has one too."""
    return crc32(word.lower().encode("utf-8", "surrogatepass"))


def _words_and_chosen(
    reading: Reading,
) -> tuple[Int[ndarray, " words"], dict[str, ndarray]]:
    """Every different word of each document, as a number, and its share in being chosen.

    Words of equal weight share: which of them comes first in the text says nothing.
    """
    counts: list[int] = []
    word: list[int] = []
    shares = [np.empty(0)]
    highest = np.where(reading.is_token, reading.weights, -1.0).max(axis=1, initial=-1.0)
    is_near = np.isclose(reading.weights, highest[:, None], rtol=TIED, atol=0)
    for row, (text, offsets) in enumerate(zip(reading.texts, reading.offsets, strict=True)):
        numbers = [_number(text[start:end]) for start, end in offsets.tolist()]
        places = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
        near = np.flatnonzero(is_near[row, : len(numbers)]).tolist()
        chosen_words = list({places[numbers[place]] for place in near})
        share = np.zeros(len(places))
        share[chosen_words] = 1 / max(len(chosen_words), 1)
        counts.append(len(places))
        word += places
        shares.append(share)
    return np.repeat(np.arange(len(counts)), counts), {
        "word": np.array(word, np.int64),
        "chosen_share": np.concatenate(shares).astype(np.float32),
    }


def _is_choice_explained(group: DocumentGroup) -> Column:
    """Whether the shown words decide as before, with no others beside them than rivals.

    Rivals are words that alone speak for another label. Where the last word wins, or the one behind
    "very", a word is chosen for what the text says, and the decision stays. Where it is chosen for
    a label that other words have decided, it is lost with them.
    """
    subject, reading = group.subject, group.reading
    effects = group.effects_by(subject)
    is_shown = shown_words(reading.weights, reading.is_token)
    is_rival = is_shown | effects.speaks_against
    everyone = np.arange(len(reading.texts))
    is_lost = is_lost_with(subject, reading, effects, everyone, is_rival)
    # A word like "but" keeps rivals from being heard. It may be kept beside them, if the shown
    # words decide as before by themselves.
    margin = effects.margin
    is_silencing = effects.is_silent_alone & (effects.lost >= HALF * margin[:, None])
    some = np.flatnonzero(is_lost & is_silencing.any(axis=1))
    is_lost[some] = is_lost_with(subject, reading, effects, some, is_shown) | is_lost_with(
        subject, reading, effects, some, is_rival | is_silencing
    )
    return (~is_lost).astype(np.float64)


def _word_choice(found: Findings) -> TestResult:
    """How much more the chosen words tell of the prediction by being chosen."""
    words, document = found.measured.words, found.measured.document
    prediction, share = found.prediction, words["chosen_share"].astype(np.float64)
    _, word = np.unique(words["word"], return_inverse=True)
    answer, classes = prediction[document], len(found.subject.classes)
    shape = (int(word.max(initial=-1)) + 1, classes)
    present, chosen_in = np.zeros(shape), np.zeros(shape)
    np.add.at(present, (word, answer), 1)
    np.add.at(chosen_in, (word, answer), share)
    # Of the other documents: one by itself says nothing of a choice.
    others, others_chosen = present[word].sum(axis=1) - 1, chosen_in[word].sum(axis=1) - share
    is_asked = (share > 0) & (others_chosen > TIED)
    of_present = (present[word, answer] - 1) / np.maximum(others, 1)
    of_chosen = (chosen_in[word, answer] - share) / np.where(is_asked, others_chosen, 1)
    tells = np.zeros(len(prediction))
    np.add.at(tells, document, np.where(is_asked, share * (of_chosen - of_present), 0.0))
    tells[found.columns["is_choice_explained"] == 1] = 0.0
    has_words = np.bincount(document, minlength=len(prediction)) > 0
    shares = np.bincount(prediction, minlength=classes) / max(len(prediction), 1)
    asked = len(np.unique(document[is_asked]))
    note = f"{asked:,} documents share their top word with another"
    value = np.where(has_words, tells, np.nan)
    return found.test(WORD_CHOICE, value, 1 - shares[prediction], 0.0, note=note)


def _too_few(counts: Int[ndarray, " labels"], folds: int) -> str:
    """Why no classifier can be cross-fitted on documents with so many of each label."""
    if not counts.sum():
        return "no audited document has a label"
    first, second, *_ = [*sorted(counts.tolist(), reverse=True), 0]
    return (
        f"it needs at least {folds} documents of each of two labels; the most common label has "
        f"{first:,}, the next {second:,}"
    )


def _agreement(group: DocumentGroup) -> dict[str, Column]:
    """Whether a few words give the answer of the whole text: to the judge, and to a model that
    learnt from just these words."""
    texts, reading = group.reading.texts, group.reading
    approximators = {name: group.twins.subjects.get(name) for name in APPROXIMATORS}
    if None in approximators.values():
        return {}
    answer = group.judge.judged(reading).argmax(axis=1)
    is_chosen = chosen(reading.weights, reading.is_token, group.settings.chosen_words)
    has_others = (reading.is_token & ~is_chosen).any(axis=1)
    shown = [
        written(text, offsets, marks)
        for text, offsets, marks in zip(texts, reading.offsets, is_chosen, strict=True)
    ]
    columns = {}
    documents = np.arange(len(texts))
    for place, (letter, is_kept) in enumerate(
        (("s", is_chosen), ("u", reading.is_token & ~is_chosen))
    ):
        judged = group.judge.predict_kept(reading, documents, is_kept).argmax(axis=1)
        twin = approximators[APPROXIMATORS[place]]
        assert twin is not None
        learnt = twin.read([parts[place] for parts in shown]).prediction
        for kind, prediction in (("m", judged), ("a", learnt)):
            columns[f"f{letter}_{kind}"] = np.where(has_others, prediction == answer, np.nan)
    return columns


def _gap(found: Findings) -> list[dict[str, object]]:
    """FS-M, FU-M, FS-A, FU-A, and how much more a model learns to read off the chosen words."""
    columns, untrained = found.columns, found.untrained(*APPROXIMATORS)
    if "fs_a" not in columns:
        return untrained
    count = found.settings.chosen_words
    notes = {
        "fs_m": f"same answer from the {count} words of most weight alone",
        "fu_m": "same answer from all other words; lower is better",
        "fs_a": "the same, of a model trained on just these words",
        "fu_a": "the same, of a model trained on all other words",
    }
    facts = [
        found.fact(name.upper().replace("_", "-"), columns[name], note)
        for name, note in notes.items()
    ]
    gap = columns["fs_a"] - columns["fs_m"]
    return [*facts, found.fact("FS-A minus FS-M", gap, "above 0: the choice may carry the label")]


def _cross_fitted(
    patterns: Patterns, labels: Int[ndarray, " documents"], settings: AuditSettings
) -> tuple[Float[ndarray, " documents"], Float[ndarray, " documents"]]:
    """Out-of-fold hits, and log probabilities of the true label, of a forest on the patterns."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    # A tree grows with the documents that it is shown, and a hundred of them are held at once.
    is_large = len(labels) * (settings.folds - 1) // settings.folds > TREE_DOCUMENTS
    forest = RandomForestClassifier(
        100,
        min_samples_leaf=5,
        max_samples=TREE_DOCUMENTS if is_large else None,
        random_state=settings.seed,
    )
    folds = StratifiedKFold(settings.folds, shuffle=True, random_state=settings.seed)
    classes, number = np.unique(labels, return_inverse=True)
    shares = np.empty((len(labels), len(classes)))
    for seen, held_out in folds.split(patterns, labels):
        # In one thread: trees of several threads, which each set and restore the warning filters of
        # the process, may leave them empty, and then scikit-learn warns for every tree to come.
        shares[held_out] = forest.fit(patterns[seen], labels[seen]).predict_proba(
            patterns[held_out]
        )
    hits = (classes[shares.argmax(axis=1)] == labels).astype(np.float64)
    of_label = np.clip(shares[np.arange(len(labels)), number], SMALLEST_SHARE, 1)
    return hits, np.log(of_label)
