"""Who can be audited, and who may judge."""

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.huggingface.subject import DecidingTransformer
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.auditing.subjects.other_model import TrainedJudge
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError, DataError
from heedful.text.documents import Document, Documents
from heedful.training.trained import WordWeights
from tests.auditing.doubles import a_subject, by_words, spans

QUICK = AuditSettings(search=Adversarial(steps=5))


@pytest.fixture(scope="module")
def classifier():
    words = [f"{a} {b} {c}" for a in ("good", "bad") for b in ("old", "new") for c in "xyz"] * 4
    labels = [text.split()[0] for text in words]
    made = heedful.Classifier(encoder="embedding", recipe="standard:epochs=3", embedding_size=8)
    return made.fit(words, labels)


@pytest.fixture(scope="module")
def twin():
    texts = ["good x", "bad y"] * 20
    made = heedful.Classifier(
        encoder="embedding", pooling="mean", recipe="standard:epochs=3", embedding_size=8
    )
    return made.fit(texts, [text.split()[0] for text in texts])


@pytest.mark.usefixtures("cuts_by_hand")
def test_a_function_with_weights_beside_it_gets_the_questions_it_can_be_asked():
    points = {"good": 2.0, "bad": -2.0}
    documents = Documents(
        Document(f"the {word} film number{n}", None, ((4, 4 + len(word)),))
        for n, word in enumerate(["good", "bad"] * 15)
    )
    honest = audit(a_subject(points, lambda w: 5.0 * (w in points) + 0.1), documents, QUICK)
    asked = {answer.question for answer in honest.answers if answer.judgement is not None}
    assert asked == {"agreeing", "telling", "leak-free", "plausible"}
    assert honest.answer("telling").judgement == "supported"
    assert "cannot be made to decide" in honest.answer("decisive").reason
    assert "does not show its states" in honest.answer("grounded").reason
    liar = audit(a_subject(points, lambda w: 5.0 * (w == "the") + 0.1), documents, QUICK)
    assert liar.answer("telling").judgement == "contradicted"
    assert liar.verdict == "may-not"


def test_leave_one_out_of_a_function_deletes_the_word_from_the_text():
    subject = a_subject({"good": 2.0})
    reading = subject.read(["a good film", "good"])
    scores = subject.importance(reading, "leave-one-out")
    whole, without = (by_words({"good": 2.0})([t])[0, 1] for t in ("a good film", "a film"))
    np.testing.assert_allclose(scores[0], [0, whole - without, 0])
    with pytest.raises(ConfigError, match="has no ablation"):
        subject.importance(reading, "ablation")


@pytest.mark.parametrize(
    ("encoder", "options"),
    [
        ("embedding", {}),
        ("mlp:hidden_size=4", {"projection": "sparsemax"}),
        ("affine:hidden_size=4", {"output": "mlp"}),
        ("embedding", {"query": "text"}),
        ("gru:hidden_size=4", {}),
    ],
)
def test_a_word_alone_is_predicted_as_if_the_others_had_been_deleted(encoder, options):
    made = heedful.Classifier(
        encoder=encoder, recipe="standard:epochs=1", embedding_size=4, **options
    )
    made.fit(["good old x", "bad new y"] * 10, ["good", "bad"] * 10)
    subject = ClassifierSubject(made.trained_)
    reading = subject.read(["good old x y", "bad", "new z"])
    found = subject.alone_each(reading)
    words = ["good", "old", "x", "y", "bad", "new", "z"]
    np.testing.assert_allclose(found, subject.predict_texts(words), atol=1e-6)


def test_a_judge_deletes_the_words_that_cover_the_deleted_characters(classifier, twin):
    subject = ClassifierSubject(classifier.trained_)
    judge = TrainedJudge(twin.trained_, subject.classes)
    reading = subject.read(["good old x", "bad new"])
    np.testing.assert_allclose(
        judge.judged(reading), twin.predict_proba(list(reading.texts)), atol=1e-6
    )
    is_kept = np.array([[True, False, True], [False, True, False]])
    found = judge.predict_kept(reading, np.array([0, 1]), is_kept)
    np.testing.assert_allclose(found, twin.predict_proba(["good x", "new"]), atol=1e-6)


def test_words_that_the_two_cut_differently_go_only_when_all_of_them_does(twin):
    subject = a_subject({})
    judge = TrainedJudge(twin.trained_, ("bad", "good"))
    reading = subject.read(["good-x bad"])  # one word here; the judge reads good, -, x
    assert len(reading.offsets[0]) == 2
    found = judge.predict_kept(reading, np.array([0]), np.array([[False, True]]))
    np.testing.assert_allclose(found, twin.predict_proba(["bad"]), atol=1e-6)


def test_a_judge_must_know_the_same_labels(classifier):
    with pytest.raises(ConfigError, match="the same labels as the audited model"):
        TrainedJudge(classifier.trained_, ("yes", "no"))


def test_whose_predictions_erasure_looks_at_changes_telling_and_nothing_else(classifier, twin):
    subject = ClassifierSubject(classifier.trained_)
    documents = Documents(
        Document(f"{w} {o} {x}", w) for w in ("good", "bad") for o in ("old", "new") for x in "xy"
    )
    judge = TrainedJudge(twin.trained_, subject.classes)
    own, other = (audit(subject, documents, QUICK, judge=j) for j in (None, judge))
    assert own.answer("telling") != other.answer("telling")
    assert own.answer("decisive").tests[:2] == other.answer("decisive").tests[:2]


WRONG_PREDICTIONS = {
    "one row of 2 probabilities per text": lambda texts: np.ones(len(texts)),
    "rows of numbers that sum to 1": lambda texts: np.full((len(texts), 2), 3.5),
}
WRONG_WEIGHTS = {
    "attend should return a list of": lambda texts: [],
    "attend should return WordWeights, not ndarray": lambda texts: [np.ones(2) for _ in texts],
    "a weight and offsets for each word": lambda texts: [
        WordWeights(t, np.array([[0, 99]]), np.ones(1)) for t in texts
    ],
    "sum to 1 over a text": lambda texts: [WordWeights(t, spans(t), np.ones(2)) for t in texts],
}


@pytest.mark.parametrize("sentence", WRONG_PREDICTIONS)
def test_what_a_function_predicts_is_checked(sentence):
    subject = a_subject({})
    subject.predict = WRONG_PREDICTIONS[sentence]
    with pytest.raises(DataError, match=sentence):
        subject.read(["a b", "c d"])


@pytest.mark.parametrize("sentence", WRONG_WEIGHTS)
def test_what_a_function_attends_to_is_checked(sentence):
    subject = a_subject({})
    subject.attend = WRONG_WEIGHTS[sentence]
    with pytest.raises(DataError, match=sentence):
        subject.read(["a b", "c d"])


def test_other_attentions_of_modules_and_transformers_are_made_in_one_place():
    assert ModuleSubject.otherwise is DecidingTransformer.otherwise
