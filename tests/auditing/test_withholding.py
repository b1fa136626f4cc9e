"""Whether a single text's heat map is shown, by an audit and by whatever else objects."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.folder import audits_near
from heedful.auditing.results import Audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.function import PlainSubject
from heedful.auditing.withholding import (
    MINOR,
    MISSES,
    OTHER_SIDE,
    SILENT,
    Withholding,
    find_audit,
)
from heedful.errors import RunError
from heedful.importance.explanation import explain
from heedful.report import explanation_page
from heedful.text.documents import Document, Documents
from heedful.training.trained import WordWeights
from tests.auditing.doubles import by_words, spans

POINTS = {"great": 2.0, "good": 1.0, "fine": 0.5, "bad": -1.0, "awful": -2.0, "hidden": 2.0}
FILLERS = "one two three four five six"
MAY = "A false picture is shown for at most 5% of texts like those audited."


def weight(word):
    """Of the words that matter it hides one, and shows one that speaks against too much."""
    return {"hidden": 0.001, "bad": 9.0, "loud": 9.0, "fairly": 2.5}.get(
        word, max(abs(POINTS.get(word, 0.0)), 0.01)
    )


def subject():
    def attend(texts):
        raw = [np.array([weight(word) for word in text.split()]) for text in texts]
        return [WordWeights(t, spans(t), w / w.sum()) for t, w in zip(texts, raw, strict=True)]

    return PlainSubject(by_words(POINTS), attend, ("bad", "good"))


def documents(count=100):
    """Three in four have a true picture."""
    words = ("great", "good fine", "awful", "hidden")
    texts = (f"{words[n % 4]} {FILLERS} number{n}" for n in range(count))
    return Documents(map(Document, texts))


@pytest.fixture(scope="module")
def audited():
    return audit(subject(), documents(), None, ["telling"])


@pytest.fixture(scope="module")
def withholding(audited):
    return Withholding.by_audit(audited, subject())


def test_documents_of_the_audit_are_shown_where_their_picture_is_true(audited, withholding):
    found = withholding.decide(audited.texts)
    assert [one.is_shown for one in found] == (audited.columns["is_true_picture"] == 1).tolist()
    assert sum(one.is_shown for one in found) == audited.single_texts().shown == 75


@pytest.mark.parametrize(
    ("text", "is_shown", "why"),
    [
        ("a great thing", True, MAY),
        ("hidden thing or two", False, MISSES),
        ("bad but great great", False, OTHER_SIDE),
        ("a loud great thing", False, MINOR),
        ("nothing here", False, SILENT),
    ],
)
def test_a_new_text_is_shown_or_not_with_the_reason(withholding, text, is_shown, why):
    (found,) = withholding.decide([text])
    assert (found.is_shown, found.why) == (is_shown, why)


def test_a_low_score_is_a_reason_with_its_numbers(audited):
    rule = replace(audited.single_texts(), threshold=0.9)
    by_score = Withholding.by_audit(audited, subject()).reasons[0]
    strict = Withholding(subject(), (replace(by_score, rule=rule),))
    (found,) = strict.decide(["fairly great good one two three"])
    # Without one, two and three words attention makes 0, 2/3 and 1 of the fall, the best 2/3, 1, 1.
    assert not found.is_shown
    assert found.why == (
        "The words with the most weight matter 63% as much as the best words; the rule requires "
        "more than 90%."
    )


def test_texts_keep_their_places_whatever_their_lengths(withholding):
    texts = ["great", "nothing", f"great {FILLERS * 3}", "hidden one", "good"]
    together = withholding.decide(texts)
    assert together == [withholding.decide([text])[0] for text in texts]
    assert withholding.decide([]) == []


@dataclass(frozen=True)
class Dislikes:
    """A reason of somebody else's: a word."""

    word: str
    guarantee: str = ""

    def objections(self, subject, reading):
        return [f"It says {self.word}." if self.word in text else "" for text in reading.texts]


def test_further_reasons_withhold_too_and_all_are_said(audited):
    both = Withholding.by_audit(audited, subject(), also=[Dislikes("number")])
    shown, disliked, doubly = both.decide(["great one", "great number1", "hidden number1"])
    assert (shown.is_shown, shown.why) == (True, MAY)
    assert (disliked.is_shown, disliked.why) == (False, "It says number.")
    assert (doubly.is_shown, doubly.why) == (False, f"{MISSES} It says number.")


def test_a_rule_that_is_contradicted_otherwise_shows_nothing(audited):
    answer = audited.answer("telling")
    test = replace(answer.tests[0], name="look away", judgement="contradicted")
    decisive = replace(answer, question="decisive", tests=(test,), judgement="contradicted")
    contradicted = replace(audited, answers=(*audited.answers, decisive))
    assert contradicted.single_texts().sentence == (
        "For single texts: show no picture. The audit contradicts look away, and that concerns "
        "every text."
    )
    (found,) = Withholding.by_audit(contradicted, subject()).decide(["a great thing"])
    assert not found.is_shown
    assert found.why == "The audit contradicts look away, and that concerns every text."


def test_pictures_of_a_model_at_chance_are_withheld(audited):
    why = "the model's accuracy is at chance: 50% right"
    at_chance = replace(audited, about={**audited.about, "accuracy_at_chance": why})
    assert at_chance.single_texts().why_none == "The model's accuracy is at chance: 50% right."


# ----- Audits of runs -----


@pytest.fixture(scope="module")
def classifiers(planted):
    made = heedful.Classifier(
        encoder="embedding", embedding_size=8, optimizer="adam:learning_rate=0.05",
        recipe="standard:epochs=3", split="spaces", dropout=0.0,
    )  # fmt: skip
    fitted = made.fit(planted.train.texts, planted.train.labels)
    other = heedful.Classifier(**{**made.get_params(), "seed": 7})
    return fitted, other.fit(planted.train.texts, planted.train.labels)


@pytest.fixture(scope="module")
def of_first(classifiers, planted):
    return heedful.audit(classifiers[0], planted.test[:40], asked=["telling"])


def test_the_rule_is_saved_with_the_audit_and_found_again(of_first, tmp_path):
    of_first.save(tmp_path / "audit")
    assert of_first.to_dict()["single_texts"]["documents"] == 40
    assert Audit.load(tmp_path / "audit").single_texts() == of_first.single_texts()


def test_an_explanation_by_an_audit_says_whether_it_is_shown(classifiers, of_first, planted):
    text = planted.test.texts[0]
    alone = heedful.explain(classifiers[0], text)
    assert (alone.shown, alone.why) == (None, "")
    assert alone.to_dict()["shown"] is None
    found = heedful.explain(classifiers[0], text, audit=of_first)
    subject = ClassifierSubject(classifiers[0].trained_)
    (wanted,) = Withholding.by_audit(of_first, subject).decide([text])
    assert (found.shown, found.why) == (wanted.is_shown, wanted.why)


def test_a_withheld_attention_is_not_drawn(classifiers, planted):
    found = explain(classifiers[0].trained_, planted.test.texts[0])
    withheld = replace(found, shown=False, why="Because.")
    assert list(withheld.drawn) == [m for m in found.scores if m != "attention"]
    assert {d.measure for d in found.drawn_deletions} == set(found.scores)
    assert {d.measure for d in withheld.drawn_deletions} == set(withheld.drawn)
    assert list(replace(found, shown=True).drawn) == list(found.scores)
    page = explanation_page(withheld)
    assert "The heat map of attention should not be shown.</strong> Because." in page
    assert "Look at it anyway (not safe)" in page
    assert "not be shown" not in explanation_page(found)


def test_an_audit_of_another_model_is_refused(classifiers, of_first):
    with pytest.raises(RunError, match="the audit of classifier is of another model: its weights"):
        heedful.explain(classifiers[1], "a b", audit=of_first)


def test_an_audit_without_scores_is_refused(classifiers, of_first):
    columns = {name: column for name, column in of_first.columns.items() if name != "nearness"}
    with pytest.raises(RunError, match="has no rule for single texts: it was made by an earlier"):
        heedful.explain(classifiers[0], "a b", audit=replace(of_first, columns=columns))


def test_the_audit_of_a_run_is_found_by_its_weights(classifiers, of_first, planted, tmp_path):
    first, second = (ClassifierSubject(one.trained_) for one in classifiers)
    run = tmp_path / "runs" / "one"
    classifiers[0].save(run)
    assert find_audit(run, first) is None
    of_first.save(tmp_path / "audits" / "elsewhere")
    assert find_audit(run, first) == tmp_path / "audits" / "elsewhere"
    assert find_audit(run, second) is None
    larger = heedful.audit(classifiers[0], planted.test[:60], asked=["telling"])
    larger.save(run / "audit")
    broken = tmp_path / "runs" / "broken"
    broken.mkdir()
    (broken / "audit.json").write_text("{")
    assert set(audits_near(run)) == {run / "audit", broken, tmp_path / "audits" / "elsewhere"}
    assert find_audit(run, first) == run / "audit"


class OfFewWords(PlainSubject):
    def is_strange(self, texts):
        return np.array(["zzz" in text for text in texts])


def test_a_text_without_a_known_word_is_like_none_that_was_audited(audited):
    plain = subject()
    known = OfFewWords(plain.predict, plain.attend, plain.classes)
    strange, ordinary = Withholding.by_audit(audited, known).decide(["zzz", f"great {FILLERS}"])
    assert (strange.is_shown, ordinary.is_shown) == (False, True)
    assert "contains no word that the model" in strange.why


def test_a_trained_model_tells_texts_of_unknown_words(classifiers, planted):
    trained = classifiers[0].trained_
    texts = [planted.test.texts[0], "zzzunheard", "zzzunheard zzzofwords"]
    assert trained.is_strange(texts).tolist() == [False, True, True]
