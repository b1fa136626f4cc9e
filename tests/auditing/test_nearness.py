"""The cheap score of a picture: the same in an audit as of a single text."""

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.nearness import nearness_of
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.auditing.subjects.other_model import TrainedJudge
from heedful.calibration.built import BuiltAdapter, BuiltModel
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject

FEW = AuditSettings(sampled_documents=15, folds=2)
MIXED = Planted(documents=1000, evidence_words=3, opposing_words=2, neutral_words=7)
POINTS = {"great": 2.0, "good": 1.0, "fine": 0.5, "bad": -1.0, "awful": -2.0}


@pytest.fixture(scope="module")
def trained(planted):
    made = heedful.Classifier(
        encoder="embedding", embedding_size=8, optimizer="adam:learning_rate=0.05",
        recipe="standard:epochs=2", split="spaces", dropout=0.0,
    )  # fmt: skip
    return made.fit(planted.train.texts, planted.train.labels).trained_


def near(subject, *texts):
    return nearness_of(subject, subject.read(texts), FEW.fractions)


@pytest.fixture(scope="module")
def mixed() -> Documents:
    return MIXED().test.take(list(range(40)))


def built(shown, gain=4.0):
    return ModuleSubject(BuiltAdapter(BuiltModel(shown=shown, gain=gain), 2))


@pytest.mark.parametrize("shown", ["evidence", "half", "neighbours"])
def test_a_text_alone_has_the_score_that_it_has_in_an_audit(mixed, shown):
    subject = built(shown)
    audited = audit(subject, mixed, FEW, ["telling"]).columns["nearness"]
    alone = [near(subject, text).score[0] for text in mixed.texts]
    np.testing.assert_allclose(alone, audited, atol=1e-6)
    np.testing.assert_allclose(near(subject, *mixed.texts).score, audited, atol=1e-6)


def test_weights_that_rank_words_as_the_best_ranking_does_score_1():
    subject = a_subject(POINTS, lambda word: max(POINTS.get(word, 0.0), 0.01))
    text = "one two great three good four fine five six"
    assert near(subject, text).score == pytest.approx([1.0])


def test_weights_on_words_that_do_not_matter_score_less():
    subject = a_subject(POINTS, lambda word: 1.0 if word in ("one", "two", "good") else 0.3)
    text = "one two good three four five six great"
    found = near(subject, text)
    assert found.score[0] < 0.5
    assert not found.is_silent[0]


def test_multiplying_all_logits_changes_no_score(mixed):
    scores = [near(built("half", gain), *mixed.texts).score for gain in (2.0, 4.0, 12.0)]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-6)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-6)


def test_what_makes_a_picture_false_makes_its_score_0():
    hides = a_subject(POINTS, lambda word: 0.01 if word == "great" else 1.0)
    found = near(hides, "one great two three")
    assert found.defects.misses_words.tolist() == [True]
    assert found.score.tolist() == [0.0]
    opposes = a_subject(POINTS, lambda word: 5.0 if word == "bad" else 1.0)
    found = near(opposes, "great good bad")
    assert found.defects.shows_the_other_side.tolist() == [True]
    assert found.score.tolist() == [0.0]
    idles = a_subject(POINTS, lambda word: 9.0 if word == "one" else 1.0)
    found = near(idles, "one two great three")
    assert found.defects.leads_with_minor_words.tolist() == [True]
    assert found.score.tolist() == [0.0]


def test_a_text_whose_words_carry_no_decision_is_silent_and_scores_0():
    def predict(texts):
        return np.tile([0.2, 0.8], (len(texts), 1))

    found = near(a_subject({}, predict=predict), "one two three", "four", "")
    assert found.is_silent.all()
    assert found.score.tolist() == [0.0, 0.0, 0.0]


def test_an_audit_by_another_judge_has_no_scores(planted, trained):
    subject = ClassifierSubject(trained)
    judge = TrainedJudge(trained, trained.classes)
    found = audit(subject, planted.test[:25], FEW, ["telling"], judge=judge)
    assert "nearness" not in found.columns
    assert found.single_texts() is None
    assert found.to_dict()["single_texts"] is None


def test_a_document_of_one_word_is_left_out_of_the_rule():
    subject = a_subject(POINTS, lambda word: max(POINTS.get(word, 0.0), 0.01))
    texts = ["great", *(f"great one two three number{n}" for n in range(24))]
    found = audit(subject, Documents(Document(text) for text in texts), None, ["telling"])
    assert np.isnan(found.columns["nearness"]).tolist() == [True] + [False] * 24
    assert found.single_texts().documents == 24
