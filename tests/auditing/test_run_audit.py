"""Whoever asks: documents from training are left out and counted, and chance supports nothing."""

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, new_documents, prepare_audit, run_audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.cli import show
from heedful.errors import ConfigError, DataError, DataWarning
from heedful.report.tables import why
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents

QUICK = AuditSettings(seed=0)
pytestmark = pytest.mark.usefixtures("cuts_by_hand")


@pytest.fixture(scope="module")
def corpus():
    return Planted(documents=1000)()


@pytest.fixture(scope="module")
def classifier(corpus):
    classifier = heedful.Classifier(
        encoder="embedding", alignment="dot:scale=10.0", split="spaces", patience=None,
        optimizer="adam:learning_rate=0.02", recipe="standard:epochs=20", min_documents=1,
        output_bias=False,
    )  # fmt: skip
    dev = (corpus.dev.texts, corpus.dev.labels)
    return classifier.fit(corpus.train.texts, corpus.train.labels, dev=dev)


def subject_of(classifier) -> ClassifierSubject:
    return ClassifierSubject(classifier.trained_)


def mixed(corpus) -> Documents:
    return Documents([*corpus.train[:30], *corpus.dev[:20], *corpus.test[:40]])


def test_training_and_dev_documents_are_left_out_and_counted(classifier, corpus):
    chosen = new_documents([subject_of(classifier)], mixed(corpus))
    assert chosen.documents.texts == corpus.test[:40].texts
    assert (chosen.left_out_trained_on, chosen.left_out_dev, chosen.trained_on) == (30, 20, 0)
    assert chosen.note == (
        "50 documents left out: 30 used to train the model, 20 used to choose its best epoch"
    )
    everyone = new_documents([subject_of(classifier)], mixed(corpus), include_trained=True)
    assert len(everyone.documents) == 90
    assert everyone.trained_on == 30
    assert everyone.note == ""


def test_documents_that_were_all_trained_on_are_refused(classifier, corpus):
    with pytest.raises(DataError, match=r"all 30 documents were used .* include_trained=True"):
        new_documents([subject_of(classifier)], corpus.train[:30])


def test_in_python_documents_are_left_out_with_a_warning(classifier, corpus):
    with pytest.warns(DataWarning, match="50 documents left out: 30 used to train the model"):
        found = heedful.audit(classifier, mixed(corpus), QUICK, ["decisive"])
    assert found.texts == tuple(corpus.test[:40].texts)
    assert found.about["left_out_trained_on"] == 30
    assert found.about["left_out_dev"] == 20
    everyone = heedful.audit(classifier, mixed(corpus), QUICK, ["decisive"], include_trained=True)
    assert everyone.documents == 90
    assert everyone.about["documents_trained_on"] == 30


def test_python_can_sample_and_keep_to_a_time_as_the_command_line_can(classifier, corpus):
    found = heedful.audit(classifier, corpus.test, QUICK, ["decisive"], sample=25)
    assert (found.documents, found.available) == (25, len(corpus.test))
    prepared = prepare_audit(
        subject_of(classifier), corpus.test, AuditPlan(QUICK, ["decisive"], 25)
    )
    assert prepared.run().texts == found.texts
    within = heedful.audit(classifier, corpus.test, QUICK, ["decisive"], budget="10m")
    assert within.documents == len(corpus.test)
    with pytest.raises(ConfigError, match="a duration should be a number followed by s, m or h"):
        heedful.audit(classifier, corpus.test, budget="soon")
    with pytest.raises(ConfigError, match="sample should be at least 1, not 0"):
        heedful.audit(classifier, corpus.test, sample=0)


def judgements(found: Audit) -> set[str | None]:
    return {answer.judgement for answer in found.answers}


def test_nothing_is_supported_at_chance(classifier, corpus):
    asked = ["decisive", "telling", "leak-free"]
    honest = run_audit(subject_of(classifier), corpus.test, AuditPlan(QUICK, asked))
    assert honest.verdict == "may"
    rng = np.random.default_rng(0)
    labels = rng.permutation([document.label for document in corpus.test])
    at_random = Documents(
        Document(document.text, str(label))
        for document, label in zip(corpus.test, labels, strict=True)
    )
    for found in (
        audit(subject_of(classifier), at_random, QUICK, asked),
        heedful.audit(classifier, at_random, QUICK, asked),
    ):
        assert found.verdict == "not-safe"
        assert "supported" not in judgements(found)
        assert "chance" in found.about["accuracy_at_chance"]
        assert found.instead == ""
        printed = [line.plain for line in show.audited(found)]
        assert found.chance in printed
        assert "nothing that it shows is supported." in why(found)


def test_without_labels_nothing_is_known_of_chance(classifier, corpus):
    found = heedful.audit(
        classifier, corpus.test.texts, QUICK, ["decisive", "telling", "leak-free"]
    )
    assert found.verdict == "may"
    assert "accuracy_at_chance" not in found.about


def test_a_question_that_needs_labels_says_how_many_there_are(classifier, corpus):
    some = Documents([d for d in corpus.test if d.label == "positive"][:24])
    (why, *_) = heedful.audit(classifier, some, QUICK, ["leak-free"]).evidence["facts"]
    assert why["name"] == "mask-only accuracy"
    assert why["note"] == (
        "not asked: it needs at least 5 documents of each of two labels; the most common label has "
        "24, the next 0"
    )
    (why, *_) = heedful.audit(classifier, some.texts, QUICK, ["leak-free"]).evidence["facts"]
    assert why["note"] == "not asked: no audited document has a label"
