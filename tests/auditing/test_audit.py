"""Controls behave: an honest model on planted evidence is supported, a liar is contradicted."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.results import Audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.decoration import Decoration
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import ConfigError, DataError
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents

QUICK = AuditSettings(search=Adversarial(steps=60, learning_rate=0.1))
pytestmark = pytest.mark.usefixtures("cuts_by_hand")


def train(corpus, **options):
    classifier = heedful.Classifier(
        encoder="embedding", alignment="dot:scale=10.0", split="spaces", patience=None,
        optimizer="adam:learning_rate=0.02", recipe="standard:epochs=20", min_documents=1,
        output_bias=False, **options,
    )  # fmt: skip
    classifier.fit(
        corpus.train.texts, corpus.train.labels, dev=(corpus.dev.texts, corpus.dev.labels)
    )
    return classifier


@pytest.fixture(scope="module")
def corpus():
    return Planted(documents=2000)()


@pytest.fixture(scope="module")
def honest_model(corpus):
    return train(corpus)


@pytest.fixture(scope="module")
def honest(honest_model, corpus) -> Audit:
    return audit(ClassifierSubject(honest_model.trained_), corpus.test, QUICK)


@pytest.fixture(scope="module")
def liar(corpus) -> Audit:
    pooled = train(corpus, projection="uniform")
    return audit(Decoration(ClassifierSubject(pooled.trained_)), corpus.test, QUICK)


def test_the_honest_model_attends_to_its_evidence(honest_model, corpus):
    mass = []
    for attention in honest_model.attention(corpus.test.texts):
        is_evidence = [not word.startswith("neutral") for word in attention.words]
        mass.append(attention.weights[is_evidence].sum())
    assert np.mean(mass) > 0.75
    assert honest_model.score(corpus.test.texts, corpus.test.labels) > 0.98


@pytest.mark.parametrize("question", ["decisive", "telling"])
def test_the_honest_model_is_supported_and_the_liar_contradicted(honest, liar, question):
    assert honest.answer(question).judgement == "supported"
    assert liar.answer(question).judgement == "contradicted"


def test_the_honest_model_attends_to_what_people_marked_and_the_liar_does_not(honest, liar):
    (one, *_), (other, *_) = (found.answer("plausible").tests for found in (honest, liar))
    assert one.judgement == other.judgement == "reported"
    assert one.score.interval[0] > 0.5 > other.score.interval[1]


def test_the_verdicts_say_so(honest, liar):
    assert honest.sentence == "The attention of this model may be shown as an explanation."
    assert liar.sentence == "The attention of this model may not be shown as an explanation."


def test_weights_without_a_path_to_the_decision_move_it_by_exactly_nothing(liar):
    for test in liar.answer("decisive").tests[:2]:
        assert test.score.value == 0.0
    assert (liar.columns["reachable_tvd"] == 0).all()


def test_top_weighted_agreement_of_the_two_lies_apart(honest, liar):
    for measure in ("gradient-x-input-held", "leave-one-out"):
        name = f"weighted_tau with {measure}"
        (one,) = [t for t in honest.answer("agreeing").tests if t.name == name]
        (other,) = [t for t in liar.answer("agreeing").tests if t.name == name]
        assert one.judgement == other.judgement == "reported"
        assert one.score.value > other.score.value + 0.2


def test_nothing_holds_an_adversary_of_the_liar_back(honest, liar):
    (of_liar,) = liar.answer("exclusive").tests
    assert of_liar.score.value == pytest.approx(of_liar.score.floor)
    (of_honest,) = honest.answer("exclusive").tests
    assert of_honest.score.value < of_honest.score.floor - 0.02


def test_every_column_has_one_number_per_document(honest, corpus):
    assert all(column.shape == (len(corpus.test),) for column in honest.columns.values())
    asked_of_all = [c for name, c in honest.columns.items() if name in ("permuted_tvd", "words")]
    assert all(np.isfinite(column).all() for column in asked_of_all)


def test_the_seed_decides_every_number(honest_model, corpus):
    subject = ClassifierSubject(honest_model.trained_)
    some = corpus.test[:40]
    one, same = (audit(subject, some, QUICK) for _ in range(2))
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, same.columns[name])
    assert one.answers == same.answers


def test_the_order_of_documents_changes_no_deterministic_column(honest_model, corpus):
    subject = ClassifierSubject(honest_model.trained_)
    some = corpus.test[:30]
    turned = Documents(reversed(some))
    one = audit(subject, some, QUICK, asked=["decisive"]).columns
    other = audit(subject, turned, QUICK, asked=["decisive"]).columns
    for name in ("uniform_tvd", "no_evidence_tvd", "flip_share_attention"):
        np.testing.assert_allclose(one[name], other[name][::-1], atol=1e-6)


def test_what_cannot_be_asked_is_listed_with_the_reason(honest_model):
    plain = Documents(Document(f"neutral{c}aa positive{c}aa negativeaab") for c in "abc")
    found = audit(ClassifierSubject(honest_model.trained_), plain, QUICK)
    plausible = found.answer("plausible")
    assert plausible.judgement is None
    assert plausible.reason
    assert {answer.question for answer in found.answers} == set(questions)


def test_documents_of_one_word_are_left_out_and_counted(honest_model, corpus):
    mixed = Documents([*corpus.test[:20], Document("positiveaaa", "positive")])
    found = audit(ClassifierSubject(honest_model.trained_), mixed, QUICK, asked=["decisive"])
    assert found.single_words == 1
    assert found.answers[0].tests[0].score.left_out == 1
    with pytest.raises(DataError, match="only one word"):
        audit(ClassifierSubject(honest_model.trained_), mixed[20:], QUICK)


def test_the_python_front_door_audits_a_classifier(honest_model, corpus):
    some = corpus.test[:30]
    direct = audit(ClassifierSubject(honest_model.trained_), some, QUICK, ["decisive"])
    assert heedful.audit(honest_model, some, QUICK, ["decisive"]).answers == direct.answers
    assert direct.to_frame().shape == (30, len(direct.columns) + 3)
    with pytest.raises(NotFittedError):
        heedful.audit(heedful.Classifier(), some)


def test_bad_requests_are_refused(honest_model, corpus):
    subject = ClassifierSubject(honest_model.trained_)
    with pytest.raises(DataError, match="no documents to audit on"):
        audit(subject, Documents())
    with pytest.raises(DataError, match="document 1 has a label never seen in training: 'mixed'"):
        audit(subject, Documents([Document("a b", "mixed")]), QUICK)
    pooled = heedful.Classifier(pooling="mean", encoder="embedding", recipe="standard:epochs=1")
    pooled.fit(corpus.train.texts[:100], corpus.train.labels[:100])
    with pytest.raises(ConfigError, match="this classifier has none"):
        ClassifierSubject(pooled.trained_)


@pytest.mark.parametrize("projection", ["sparsemax", "entmax", "k-hot:k=2"])
@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=8", "transformer:hidden_size=8"])
def test_every_question_can_be_asked_of_sparse_and_contextual_models(corpus, encoder, projection):
    classifier = heedful.Classifier(
        encoder=encoder, projection=projection, embedding_size=8, recipe="standard:epochs=1",
        split="spaces", min_documents=1,
    ).fit(corpus.train.texts[:200], corpus.train.labels[:200])  # fmt: skip
    quick = AuditSettings(search=Adversarial(steps=5))
    found = audit(ClassifierSubject(classifier.trained_), corpus.test[:12], quick)
    assert {answer.question for answer in found.answers} == set(questions)
    of_silent_documents = {"picture", "fall_best", "looked_away"}  # maybe all
    asked_of_all = {
        name
        for name in found.columns.keys() - of_silent_documents
        if not name.startswith("is_true_")
    }
    assert all(np.isfinite(found.columns[name][:12]).any() for name in asked_of_all)
