"""Pictures with words taken away in other ways, and what their answers come to."""

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.scope import scope
from heedful.auditing.subjects.function import PlainSubject
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject, by_words

SETTINGS = AuditSettings(sampled_documents=40, replaced_documents=40, folds=2)
POINTS = {"great": 3.0, "awful": -3.0}
# Of these words the model knows which label they come with, but decides by the others.
OTHERS = {"sunny": 3.0, "rainy": -3.0}
MASKED = "true pictures, words masked"


def documents() -> Documents:
    rng = np.random.default_rng(0)
    fillers = [f"word{number}" for number in range(30)]
    texts = []
    for number in range(40):
        clue, other = ("great", "sunny") if number % 2 else ("awful", "rainy")
        words = [clue, other, *rng.choice(fillers, 8, replace=False)]
        texts.append(" ".join([*words, f"number{number}"]))
    return Documents(Document(text, None) for text in texts)


class Hiding(PlainSubject):
    """A subject of which hidden words are judged by a subject of its own."""

    architecture = "transformer"
    hidden: PlainSubject | None = None

    @property
    def masking(self):
        return self.hidden


def a_hiding(hidden_points) -> Hiding:
    plain = a_subject(POINTS, lambda word: 5.0 if word in POINTS else 0.1)
    subject = Hiding(plain.predict, plain.attend, plain.classes)
    if hidden_points is not None:
        subject.hidden = PlainSubject(by_words(hidden_points), plain.attend, plain.classes)
    return subject


def the(found, name):
    return next(test for test in found.answer("telling").tests if test.name == name)


def test_without_another_way_there_is_no_test_and_no_column():
    found = audit(a_hiding(None), documents(), SETTINGS, ["telling"])
    assert [test.name for test in found.answer("telling").tests][:2] == [
        "true pictures", "comprehensiveness",
    ]  # fmt: skip
    assert not {"is_true_masked", "is_true_replaced", "is_true_trained"} & set(found.columns)


def test_ways_that_agree_support_the_pictures_together():
    found = audit(a_hiding(POINTS), documents(), SETTINGS, ["telling"])
    np.testing.assert_array_equal(found.columns["is_true_masked"], found.columns["is_true_picture"])
    assert the(found, MASKED).judgement == the(found, "true pictures").judgement == "supported"
    assert found.answer("telling").judgement == "supported"
    assert "taken away" not in scope(found)


def test_a_verdict_that_depends_on_how_words_are_taken_away_is_not_safe_and_says_so():
    found = audit(a_hiding(OTHERS), documents(), SETTINGS, ["telling", "leak-free"])
    assert the(found, "true pictures").judgement == "supported"
    assert the(found, MASKED).judgement == "contradicted"
    assert found.answer("telling").judgement == "undecided"
    assert found.verdict == "not-safe"
    assert (
        "With words hidden from attention instead of deleted, it is false on 100% of 40 documents "
        "(91% to 100%): the answer depends on how words are removed."
    ) in scope(found)


@pytest.mark.parametrize("width", [0, 3])
def test_limits_are_reported_where_both_were_sought(width):
    settings = AuditSettings(sampled_documents=20, beam_width=width, folds=2)
    found = audit(a_hiding(None), documents(), settings, ["telling"])
    facts = {fact["name"]: fact["mean"] for fact in found.evidence.get("facts", ())}
    assert ("comprehensiveness_worst order" in found.columns) == bool(width)
    if not width:
        assert facts == {}
        return
    assert facts["normalised comprehensiveness of attention"] == pytest.approx(1, abs=1e-6)
    assert 0 < facts["normalised comprehensiveness of random rankings"] < 0.9
    sampled = ~np.isnan(found.columns["fall_worst order"])
    assert sampled.sum() == 20
    low, best = (found.columns[f"fall_{name}"][sampled] for name in ("worst order", "best"))
    assert (low < best).all()


def test_the_ranking_that_set_the_ceiling_is_named_with_its_share():
    """It shows what counts in half of the documents; in the others words alone do best."""
    plain = a_subject(POINTS, lambda word: {"great": 5.0, "awful": 0.01}.get(word, 1.0))
    found = audit(plain, documents(), SETTINGS, ["telling"])
    assert [(row["measure"], row["share"]) for row in found.evidence["ceiling"]] == [
        ("attention", 0.5), ("words alone", 0.5),
    ]  # fmt: skip
    assert the(found, "true pictures").note == (
        "best ranking: attention on 50% of the documents, words alone on 50%"
    )


def rows(points: dict[str, float]) -> list[dict]:
    return [
        {"text": d.text, "words": d.text.split(),
         "scores": [abs(points.get(word, 0.0)) for word in d.text.split()]}
        for d in documents()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("hidden", "verdict", "said"),
    [
        (POINTS, "may", "; with words hidden from attention instead of deleted it is false on 0% "),
        (OTHERS, "not-safe", "; with words hidden from attention instead of deleted it is false "),
        (None, "may", "; they were tested only by deleting words; at most"),
    ],
)
def test_given_scores_are_judged_in_the_other_ways_too(hidden, verdict, said):
    subject, given = a_hiding(hidden), rows(POINTS)
    found = heedful.audit(subject, documents(), SETTINGS, ["telling"], attributions=given)
    assert found.given_verdict == verdict
    (sentence,) = found.given_sentences
    assert said in sentence
    # The same words as those of attention, so the same pictures.
    for column in {"is_true_masked"} & set(found.columns):
        given_column = found.columns[f"{column}_given attributions"]
        np.testing.assert_array_equal(given_column, found.columns[column])


def by_place(texts):
    """The third word decides: what stands before it does not count, unless it is deleted."""
    words = [text.split() for text in texts]
    third = [POINTS.get(some[2], 0.0) if len(some) > 2 else 0.0 for some in words]
    good = 1 / (1 + np.exp(-np.array(third)))
    return np.column_stack([1 - good, good])


def test_pictures_of_a_function_are_judged_with_words_replaced_if_it_names_a_word():
    plain = a_subject(POINTS, lambda word: 5.0 if word in POINTS else 0.1, by_place)
    rng = np.random.default_rng(0)
    fillers = [f"word{number}" for number in range(30)]
    texts = []
    for number in range(40):
        clue, other = ("great", "awful") if number % 2 else ("awful", "great")
        one, two, *rest = rng.choice(fillers, 8, replace=False)
        texts.append(" ".join([one, two, clue, *rest[:2], other, *rest[2:], f"number{number}"]))
    given = Documents(Document(text, None) for text in texts)
    without = audit(plain, given, SETTINGS, ["telling"])
    assert "is_true_replaced" not in without.columns
    named = PlainSubject(plain.predict, plain.attend, plain.classes, "word0")
    found = audit(named, given, SETTINGS, ["telling"])
    assert found.columns["is_true_replaced"].mean() == 1.0
