"""Looking away, in models of which it is known what reaches the output past the weights."""

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.base import Decides
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.modules.subject import ModuleSubject
from heedful.calibration.built import BuiltAdapter, BuiltModel
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Documents


@pytest.fixture(scope="module")
def documents() -> Documents:
    mixed = Planted(documents=1000, evidence_words=3, opposing_words=2, neutral_words=7)
    return mixed().test.take(list(range(40)))


def asked(model, documents):
    subject = ModuleSubject(BuiltAdapter(model, 2))
    found = audit(subject, documents, AuditSettings(sampled_documents=5), ["decisive"])
    return found, {test.name: test for test in found.answer("decisive").tests}


@pytest.mark.parametrize("gain", [0.5, 4.0, 30.0])
@pytest.mark.parametrize("bypass", [0.0, 0.25, 0.5, 1.0])
def test_looking_away_costs_what_does_not_bypass_the_weights(documents, bypass, gain):
    found, tests = asked(BuiltModel(bypass=bypass, gain=gain), documents)
    assert tests["look away"].score.score == pytest.approx(1 - bypass, abs=1e-9)
    np.testing.assert_allclose(found.columns["looked_away"], 1 - bypass, atol=1e-6)


@pytest.mark.parametrize(
    ("bypass", "judgement"), [(0.0, "supported"), (0.3, "supported"), (0.6, "contradicted")]
)
def test_a_model_is_decisive_if_most_of_the_decision_takes_the_weights(
    documents, bypass, judgement
):
    _, tests = asked(BuiltModel(bypass=bypass), documents)
    assert tests["look away"].judgement == judgement


def test_where_no_weights_move_the_decision_looking_away_contradicts(documents):
    _, tests = asked(BuiltModel(bypass=1.0), documents)
    assert tests["look away"].judgement == "contradicted"
    assert "could move it by 0.000 on average" in tests["look away"].note


@pytest.mark.parametrize("gain", [0.5, 30.0])
def test_how_sure_a_model_is_does_not_change_its_moves_in_log_odds(documents, gain):
    usual, other = (
        asked(BuiltModel(bypass=0.25, gain=g), documents)[1]["permutation in log-odds"].score
        for g in (4.0, gain)
    )
    assert other.score == pytest.approx(usual.score, abs=1e-9)
    assert other.value == pytest.approx(usual.value * gain / 4, rel=1e-9)


@pytest.mark.parametrize("output", ["linear", "mlp"])
@pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
def test_shortcuts_decide_as_the_weights_themselves_would(planted, output, projection):
    classifier = heedful.Classifier(
        encoder="embedding", embedding_size=4, recipe="standard:epochs=1", output=output,
        projection=projection,
    )  # fmt: skip
    classifier.fit(planted.train.texts, planted.train.labels)
    subject = ClassifierSubject(classifier.trained_)
    reading = subject.read([*planted.train.texts[:5], "word", "two words"])
    rank = np.random.default_rng(0).random(reading.weights.shape).argsort(axis=1)
    most = reading.weights.shape[1]
    found = subject.decide_erased(reading, rank, most)
    np.testing.assert_allclose(
        found, Decides.decide_erased(subject, reading, rank, most), atol=1e-6
    )
    at_words = Decides.decide_at_each_word(subject, reading)
    np.testing.assert_allclose(subject.decide_at_each_word(reading), at_words, atol=1e-6)
