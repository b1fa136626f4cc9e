"""Readings that are no attention: judged by their pictures, random weights, and their sums."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

import heedful
from heedful.auditing.audit import audit as run
from heedful.auditing.questions import AuditSettings
from heedful.auditing.questions.base import Findings, Measured
from heedful.auditing.questions.other_readings import chosen_elsewhere, reading_facts
from heedful.auditing.questions.telling import TRUE_PICTURES
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.verdict import judge_check, reading_verdict
from heedful.importance import Importance, Need, Seen
from heedful.importance.base import Complete
from heedful.model.randomised import randomised
from heedful.text.datasets.planted import Planted
from tests.auditing.doubles import a_subject
from tests.readouts.tiny import fine_tuned, planted_documents

MANY_STEPS = "integrated-gradients:steps=150"
SETTINGS = AuditSettings(sampled_documents=60, replaced_documents=40)


@dataclass(frozen=True)
class Blind(Importance):
    """Counts letters: the same whatever the model is."""

    needs = frozenset({Need.TEXTS})
    name: str = "letters"

    def of(self, seen: Seen) -> Tensor:
        found = torch.zeros(seen.is_token.shape, dtype=torch.float64)
        for row, (text, offsets) in enumerate(zip(seen.texts, seen.offsets, strict=True)):
            lengths = [len(text[a:b]) + 0.01 * ord(text[a]) for a, b in offsets.tolist()]
            found[row, : len(lengths)] = torch.tensor(lengths, dtype=torch.float64)
        return found * seen.is_token


@dataclass(frozen=True)
class Lacking(Complete):
    """Says that its scores sum to 1, and they sum to half of it."""

    needs = frozenset({Need.TEXTS})
    name: str = "lacking"

    def of(self, seen: Seen) -> Tensor:
        return 0.5 * seen.is_token / seen.is_token.sum(dim=1, keepdim=True)

    def expected_sum(self, seen: Seen) -> Tensor:
        return torch.ones(len(seen.texts), dtype=torch.float64)


@pytest.fixture(scope="module")
def found():
    return heedful.audit(
        fine_tuned(), planted_documents(80, seed=7), SETTINGS, ["telling"],
        measures=[Blind(), Lacking(), MANY_STEPS],
    )  # fmt: skip


def row_of(audit, measure):
    return next(row for row in audit.evidence["measures"] if row["measure"] == measure)


def test_a_reading_that_is_the_same_for_a_model_with_random_weights_may_not_be_shown(found):
    blind = row_of(found, "letters")
    assert blind["random_model"] == pytest.approx(1.0)
    assert blind["random_model_judgement"] == "contradicted"
    assert blind["verdict"] == "may-not"


def test_readings_that_look_at_the_model_change_with_its_weights(found):
    for measure in ("leave-one-out", "gradient-x-input", "decomposition", "integrated-gradients"):
        row = row_of(found, measure)
        assert row["random_model"] < 0.4, measure
        assert row["random_model_judgement"] == "supported", measure


def test_scores_that_do_not_add_up_to_what_they_should_may_not_be_shown(found):
    lacking, complete = row_of(found, "lacking"), row_of(found, MANY_STEPS)
    assert lacking["incompleteness"] == pytest.approx(0.5)
    assert lacking["incompleteness_judgement"] == "contradicted"
    assert lacking["verdict"] == "may-not"
    assert complete["incompleteness"] < 0.05
    assert complete["incompleteness_judgement"] == "supported"
    # The usual 20 steps are too few for a model that bends as much as this one.
    assert row_of(found, "integrated-gradients")["incompleteness_judgement"] == "contradicted"
    assert row_of(found, "leave-one-out")["incompleteness"] is None  # they sum to nothing known


def test_a_reading_that_passes_everything_may_be_shown_and_attention_has_its_own_verdict(found):
    row = row_of(found, "leave-one-out")
    assert (row["judgement"], row["verdict"]) == ("supported", "may")
    assert row_of(found, "attention")["verdict"] is None
    (chosen,) = found.evidence["instead"]
    assert chosen["judgement"] == "supported"
    assert "letters" not in chosen["measure"]


def test_uniform_attention_may_not_be_shown_and_may_be_with_the_sign_of_its_words():
    """Even weights rank nothing; each word's own side, times the weight, is all that decides."""
    corpus = Planted(documents=1500, evidence_words=3, opposing_words=1, neutral_words=8)()
    made = heedful.Classifier(
        encoder="embedding", embedding_size=16, projection="uniform", dropout=0.0, split="spaces",
        optimizer="adam:learning_rate=0.02", recipe="standard:epochs=8",
    )  # fmt: skip
    classifier = made.fit(corpus.train.texts, corpus.train.labels)
    found = heedful.audit(classifier, corpus.test, SETTINGS, ["telling"])
    signed = row_of(found, "contribution")
    assert found.verdict == "may-not"
    assert signed["verdict"] == "may"
    assert signed["false_high"] < 0.15
    assert "Attention with a sign (contribution" in found.instead
    assert all("contribution" in shown.scores for shown in found.shown)
    assert all("contribution" not in shown.unsigned for shown in found.shown)


def test_a_plain_function_has_no_weights_to_replace_so_the_check_is_left_out():
    subject = a_subject({"good": 2.0, "bad": -2.0})
    audit = run(subject, planted_documents(40, seed=3), SETTINGS, ["telling"])
    row = row_of(audit, "leave-one-out")
    assert row["random_model"] is None
    assert row["verdict"] == "may"


def test_a_model_at_chance_supports_no_reading():
    documents = planted_documents(60, seed=4)
    swapped = [d.label if n % 2 else None for n, d in enumerate(documents)]
    labels = ["good" if label == "bad" else "bad" for label in swapped if label is not None]
    texts = [d.text for n, d in enumerate(documents) if n % 2]
    model, tokenizer = fine_tuned()
    wrong = heedful.audit(model, texts, SETTINGS, ["telling"], labels=labels, tokenizer=tokenizer)
    assert wrong.chance
    assert {row["verdict"] for row in wrong.evidence["measures"]} <= {None, "not-safe", "may-not"}


def test_weights_are_shuffled_in_a_copy_the_same_way_every_time():
    model = torch.nn.Linear(5, 7)
    before = {name: numbers.clone() for name, numbers in model.state_dict().items()}
    one, other = randomised(model), randomised(model)
    for name, numbers in model.state_dict().items():
        assert torch.equal(numbers, before[name])
        assert torch.equal(one.state_dict()[name], other.state_dict()[name])
        assert not torch.equal(one.state_dict()[name], numbers)
        assert torch.equal(one.state_dict()[name].flatten().sort()[0], numbers.flatten().sort()[0])


def test_a_run_is_compared_with_itself_shuffled(planted):
    made = heedful.Classifier(encoder="embedding", recipe="standard:epochs=1", embedding_size=8)
    classifier = made.fit(planted.train.texts[:60], planted.train.labels[:60])
    subject = ClassifierSubject(classifier.trained_)
    texts = planted.test.texts[:3]
    reading, other = subject.read(texts), subject.randomised.read(texts)
    assert not np.allclose(reading.probabilities, other.probabilities)
    assert np.array_equal(reading.is_token, other.is_token)
    target = 1 - other.prediction
    for_other = subject.randomised.importance(other, "leave-one-out", target)
    own = subject.randomised.importance(other, "leave-one-out")
    np.testing.assert_allclose(for_other, -own, atol=1e-7)  # of two classes: what one gains


@pytest.mark.parametrize(
    ("interval", "documents", "judgement"),
    [
        ((0.1, 0.4), 30, "supported"),
        ((0.6, 0.9), 30, "contradicted"),
        ((0.4, 0.6), 30, "undecided"),
        ((0.1, 0.4), 19, "undecided"),
    ],
)
def test_a_check_is_supported_if_its_mean_surely_lies_below_the_cut(interval, documents, judgement):
    assert judge_check(interval, 0.5, documents) == judgement


def test_a_reading_may_be_shown_only_if_its_pictures_are_true_and_no_check_refuses():
    assert reading_verdict("supported", None, None) == "may"
    assert reading_verdict("supported", "supported", None) == "may"
    assert reading_verdict("supported", "undecided") == "not-safe"
    assert reading_verdict("undecided", "supported") == "not-safe"
    assert reading_verdict("supported", "contradicted") == "may-not"
    assert reading_verdict("contradicted", "supported") == "may-not"


def test_the_best_of_many_readings_that_guess_is_not_best_on_the_documents_it_is_judged_on():
    # Forty readings whose pictures are true by the toss of a coin: the best of them looks better
    # than half; chosen on other documents it does not.
    rng = np.random.default_rng(1)
    names = [f"guess{n}" for n in range(40)]
    tosses = {f"is_true_{name}": (rng.random(60) < 0.5).astype(float) for name in names}
    subject = a_subject({}).with_measures([Blind(name) for name in names])
    prediction = np.zeros(60, dtype=np.int64)
    findings = Findings(
        "telling", subject, Measured(tosses), prediction - 1, prediction, np.full(60, np.nan), 60,
        AuditSettings(),
    )  # fmt: skip
    unchecked = {"random_model_judgement": None, "incompleteness_judgement": None}
    rows = tuple({"measure": name, "verdict": "not-safe", **unchecked} for name in names)
    (chosen,) = chosen_elsewhere(findings, rows, TRUE_PICTURES)
    best = max(column.mean() for column in tosses.values())
    assert best > 0.62
    assert 1 - chosen["false_pictures"] < 0.58


def test_a_reading_that_was_not_measured_is_not_taken_for_false():
    columns = {f"fall_{name}": np.ones(20) for name in ("best", "random", "mine")}
    labels = np.zeros(20, dtype=np.int64)
    found = Findings(
        "telling", a_subject({}), Measured(columns), labels, labels, np.zeros(20), 20,
        AuditSettings(),
    )  # fmt: skip
    mine, by_chance = (reading_facts(found, m, TRUE_PICTURES) for m in ("mine", "random"))
    assert np.isnan(mine["false_pictures"])
    assert mine["verdict"] == "not-safe"
    assert by_chance["false_pictures"] == 1.0
