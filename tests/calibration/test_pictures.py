"""Pictures beside a model: false where they are said to be, and measured as such."""

import numpy as np
import pytest

from heedful.auditing.questions.base import AuditSettings
from heedful.auditing.run_audit import AuditPlan, prepare_audit
from heedful.auditing.subjects.base import Decides
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.calibration.built import FUNCTION_WORDS, BuiltAdapter, BuiltModel
from heedful.calibration.pictures import Picture, evidence_of, pictured
from heedful.errors import ConfigError
from heedful.text.datasets.planted import LABELS, Planted
from heedful.text.documents import words_in_spans

DOCUMENTS = Planted(documents=600, function_words=2)().test
TEXTS = list(DOCUMENTS.texts)
EVIDENCE = evidence_of(DOCUMENTS)
QUICK = AuditSettings(sampled_documents=20, seeds=1)


def own():
    return ModuleSubject(BuiltAdapter(BuiltModel(), 2))


def shown(**picture):
    return pictured(own(), Picture(**picture), EVIDENCE)


def is_false(subject):
    """Which documents have a picture whose top word is no evidence."""
    reading = subject.read(TEXTS)
    marked = [
        words_in_spans(offsets, EVIDENCE[text])
        for text, offsets in zip(TEXTS, reading.offsets, strict=True)
    ]
    tops = reading.weights.argmax(axis=1).tolist()
    return np.array([not row[top] for row, top in zip(marked, tops, strict=True)])


def score(subject, question, test):
    audit = prepare_audit(subject, DOCUMENTS, AuditPlan(QUICK, (question,))).run()
    return {one.name: one.score.score for one in audit.answers[0].tests}[test]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_a_picture_that_is_false_on_a_share_is_measured_as_that_share(share):
    subject = shown(false_share=share)
    count = is_false(subject)
    assert count.mean() == pytest.approx(share, abs=0.15)  # drawn by the texts
    assert score(subject, "telling", "true pictures") == pytest.approx(1 - count.mean(), abs=0.02)


def test_no_evidence_word_of_a_false_picture_has_weight():
    subject = shown(false_share=1.0)
    reading = subject.read(TEXTS)
    for text, offsets, weights in zip(TEXTS, reading.offsets, reading.weights, strict=True):
        marked = words_in_spans(offsets, EVIDENCE[text])
        assert weights[: len(offsets)][marked].sum() == pytest.approx(0, abs=1e-12)
        assert weights.sum() == pytest.approx(1)


def test_decisions_are_the_models_own_whatever_is_shown():
    np.testing.assert_allclose(
        shown(false_share=0.5).read(TEXTS).probabilities, own().read(TEXTS).probabilities
    )


def test_where_a_picture_is_false_no_weights_move_the_decision_and_elsewhere_they_do():
    subject = shown(false_share=0.5)
    reading = subject.read(TEXTS)
    assert isinstance(subject, Decides)
    even = reading.is_token / reading.is_token.sum(axis=1, keepdims=True)
    moved = np.abs(subject.decide(reading, even[:, None])[:, 0] - reading.probabilities).max(axis=1)
    false = is_false(subject)
    assert moved[false].max() < 1e-9
    assert moved[~false].min() > 0.01


def test_classes_whose_pictures_are_false_are_false_on_every_document_of_theirs():
    subject = shown(false_classes=("positive",))
    named = [subject.classes[n] for n in subject.read(TEXTS).prediction.tolist()]
    assert is_false(subject).tolist() == [name == "positive" for name in named]


def test_a_written_picture_looks_at_the_function_word_of_the_predicted_label():
    reading = shown(false_share=1.0, wrong="function-word").read(TEXTS)
    for text, label, offsets, weights in zip(
        TEXTS, DOCUMENTS.labels, reading.offsets, reading.weights, strict=True
    ):
        start, end = offsets[weights.argmax()]
        assert text[start:end] == FUNCTION_WORDS[LABELS.index(str(label))]


def ordered_words(subject, documents):
    """The words of each document, those of most weight first."""
    reading = subject.read(list(documents.texts))
    return [
        [text[a:b] for a, b in offsets[np.argsort(-weights[: len(offsets)])].tolist()]
        for text, offsets, weights in zip(
            documents.texts, reading.offsets, reading.weights, strict=True
        )
    ]


@pytest.mark.parametrize("count", [4, 1])
def test_a_few_other_words_stand_above_the_evidence(count):
    subject = shown(false_share=1.0, wrong="above", words_above=count)
    for words in ordered_words(subject, DOCUMENTS):
        is_evidence = [word.startswith(LABELS) for word in words]
        assert is_evidence[: count + 3] == [False] * count + [True, True] + [False]


def test_a_picture_with_one_idle_word_above_the_evidence_is_false():
    subject = shown(false_share=0.4, wrong="above", words_above=1)
    share = 1 - is_false(subject).mean()
    assert score(subject, "telling", "true pictures") == pytest.approx(share, abs=0.02)


def test_a_picture_of_neighbours_shows_no_evidence():
    subject = shown(false_share=1.0, wrong="neighbours")
    assert is_false(subject).all()
    assert score(subject, "telling", "true pictures") == pytest.approx(0, abs=0.05)


def test_a_picture_against_the_decision_shows_the_words_of_the_other_label():
    documents = Planted(documents=600, evidence_words=3, opposing_words=2)().test
    subject = pictured(own(), Picture(1.0, wrong="against"), evidence_of(documents))
    predicted = subject.read(list(documents.texts)).prediction.tolist()
    for label, words in zip(predicted, ordered_words(subject, documents), strict=True):
        assert not any(word.startswith(LABELS[label]) for word in words[:2])
        assert all(word.startswith(LABELS) for word in words[:2])


def test_a_placed_picture_stands_on_the_evidence_and_its_weights_decide_nothing():
    subject = shown(is_placed=True)
    assert not is_false(subject).any()
    assert not isinstance(subject, Decides)


def test_a_picture_that_changes_nothing_is_the_model_itself():
    behind = own()
    assert pictured(behind, Picture(), EVIDENCE) is behind


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ConfigError):
        Picture(false_share=1.2)
