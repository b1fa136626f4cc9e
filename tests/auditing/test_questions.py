"""Each question on models whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

import heedful
from heedful.auditing.alternatives import what_instead
from heedful.auditing.audit import audit
from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.measuring import mean_rationale_words
from heedful.auditing.questions import AuditSettings
from heedful.auditing.questions.base import Findings, Measured
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.cli import show
from heedful.counterfactual.adversarial import Adversarial
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject

QUICK = AuditSettings(search=Adversarial(steps=5), state_words=4000)


@pytest.fixture(scope="module")
def corpus():
    return Planted(documents=2000)()


def trained(corpus, **options):
    settings = {"embedding_size": 16, "split": "spaces", "min_documents": 1} | options
    classifier = heedful.Classifier(optimizer="adam:learning_rate=0.02", patience=None, **settings)
    classifier.fit(corpus.train.texts, corpus.train.labels)
    return ClassifierSubject(classifier.trained_)


@pytest.fixture(scope="module")
def words_only(corpus):
    subject = trained(corpus, encoder="embedding", recipe="standard:epochs=12")
    return audit(subject, corpus.test, QUICK)


def the(found, question, test):
    (result,) = [t for t in found.answer(question).tests if t.name == test]
    return result


def test_states_without_context_are_as_grounded_as_can_be(words_only):
    assert the(words_only, "grounded", "own influence").score.value == 1
    information = the(words_only, "grounded", "mutual information").score
    assert information.score == pytest.approx(1, abs=0.02)
    assert information.spread_interval[0] > 0.1


def test_the_spread_of_the_entropy_of_influence_is_over_all_states(corpus):
    subject = trained(corpus, encoder="bilstm:hidden_size=8", recipe="standard:epochs=2")
    found = audit(subject, corpus.test, QUICK, asked=["grounded"])
    facts = {fact["name"]: fact for fact in found.evidence["facts"]}
    spread = facts["sd of the entropy of influence"]
    shares = subject.influence(subject.read(found.texts))
    one_by_one = []
    for text, matrix in zip(found.texts, shares, strict=True):
        n = len(text.split())
        rows = matrix[:n, :n]
        entropy = -np.where(rows > 0, rows * np.log(np.maximum(rows, 1e-300)), 0).sum(axis=1)
        one_by_one.append(entropy / np.log(n))
    is_asked = ~np.isnan(found.columns["influence_entropy"])
    by_state = np.concatenate([e for e, asked in zip(one_by_one, is_asked, strict=True) if asked])
    assert spread["mean"] == pytest.approx(by_state.std(), rel=1e-6)  # texts of equal length
    assert spread["low"] < spread["mean"] < spread["high"]


def test_costly_measures_of_sampled_documents_are_those_of_an_audit_that_samples_all(corpus):
    subject = trained(corpus, encoder="gru:hidden_size=4", recipe="standard:epochs=1")
    documents, settings = corpus.test.take(range(40)), replace(QUICK, replaced_documents=10)
    every = audit(subject, documents, settings, asked=["telling", "grounded"])
    few = audit(
        subject, documents, replace(settings, sampled_documents=15), asked=["telling", "grounded"]
    )
    is_sampled = ~np.isnan(few.columns["own_influence"])
    assert is_sampled.sum() == 15
    for name in (
        "own_influence", "influence_entropy", "fall_integrated-gradients",
        "comprehensiveness_ablation", "is_true_state-gradient-norm", "gap_integrated-gradients",
        "random_model_ablation", "fall_greedy erasure",
    ):  # fmt: skip
        found, expected = few.columns[name], every.columns[name]
        assert np.isnan(found[~is_sampled]).all(), name
        np.testing.assert_allclose(found[is_sampled], expected[is_sampled], atol=1e-6, err_msg=name)


def test_states_of_a_recurrent_encoder_are_less_grounded(corpus):
    subject = trained(corpus, encoder="bilstm:hidden_size=8", recipe="standard:epochs=4")
    found = audit(subject, corpus.test, QUICK, asked=["grounded"])
    own = the(found, "grounded", "own influence").score
    assert 1 / 12 < own.value < 0.9
    assert the(found, "grounded", "mutual information").score.score < 0.9
    names = {fact["name"] for fact in found.evidence["facts"]}
    assert {"mutual information, untrained", "entropy of influence", "conicity"} <= names


def test_planted_words_have_higher_attention_scores_than_neutral_ones(words_only):
    test = the(words_only, "discerning", "attention-score AUC")
    assert test.score.value > 0.8
    kinds = {row["kind"] for row in words_only.evidence["words"]}
    assert kinds == {"negative", "positive", "neutral"}
    mean = {
        kind: np.mean([r["polarity"] for r in words_only.evidence["words"] if r["kind"] == kind])
        for kind in kinds
    }
    assert mean["negative"] < mean["neutral"] < mean["positive"]


@pytest.fixture(scope="module")
def plain_documents():
    rng = np.random.default_rng(0)
    texts = [
        " ".join(["great" if n % 2 else "awful", *rng.choice(["a", "b", "c", "d"], 6)])
        for n in range(300)
    ]
    return Documents(
        Document(text, "good" if "great" in text else "bad") for text in rng.permutation(texts)
    )


POINTS = {"great": 3.0, "awful": -3.0}


def test_a_label_written_into_the_weights_is_read_off_them(plain_documents):
    # The weights say nothing of which word matters, but their shape is the label.
    leaky = a_subject(POINTS, lambda word: {"great": 20.0, "awful": 0.1}.get(word, 1.0))
    leak = the(audit(leaky, plain_documents, QUICK), "leak-free", "mask-only accuracy")
    assert leak.score.value > 0.95
    assert leak.score.score < 0.2
    tight = a_subject(POINTS, lambda word: 5.0 if word in POINTS else 1.0)
    found = audit(tight, plain_documents, QUICK)
    none = the(found, "leak-free", "mask-only accuracy")
    assert none.score.value < 0.65
    assert none.score.score > 0.7
    (told,) = [f for f in found.evidence["facts"] if f["question"] == "leak-free"]
    assert told["low"] < 0.05


def why_no_mask_only_accuracy(found):
    assert [test.name for test in found.answer("leak-free").tests] == ["word choice"]
    (why,) = [fact for fact in found.evidence["facts"] if fact["name"] == "mask-only accuracy"]
    return why["note"]


def test_leaks_are_not_asked_for_where_the_model_knows_no_more_than_the_length(plain_documents):
    found = audit(a_subject({}), plain_documents, QUICK)
    assert (
        "not asked: the model is not better than a classifier that sees only lengths"
        in why_no_mask_only_accuracy(found)
    )
    unlabelled = Documents(Document(text) for text in plain_documents.texts[:40])
    found = audit(a_subject(POINTS), unlabelled, QUICK)
    assert why_no_mask_only_accuracy(found) == "not asked: no audited document has a label"


def test_the_four_cells_of_erased_weights_hold_every_document(words_only, corpus):
    cells = words_only.evidence["flips"]
    assert sum(cell["documents"] for cell in cells) == len(corpus.test)
    flips = {(c["top_flips"], c["other_flips"]): c["documents"] for c in cells}
    assert flips[True, False] >= flips[False, True]


def test_curves_fall_faster_for_attention_than_for_chance(words_only):
    rows = {(r["measure"], r["k"]): r for r in words_only.evidence["curves"]}
    for k in (1, 2, 3):
        ours, chance = rows["attention", k], rows["random", k]
        assert ours["probability_drop"] > chance["probability_drop"]
        assert ours["kept_own"] > chance["kept_own"]
        assert ours["accuracy_drop"] >= chance["accuracy_drop"]
    assert ("attention", 20) not in rows  # no document is that long


def test_k_is_the_mean_length_of_rationales():
    documents = [Document("a b c d", None, ((0, 3), (4, 5))), Document("a b", None, ((0, 1),))]
    assert mean_rationale_words(Documents(documents)) == 2
    assert mean_rationale_words(Documents([Document("a b")])) == 1


def test_token_f1_and_iou_f1_are_there_where_people_marked_words(words_only):
    names = [test.name for test in words_only.answer("plausible").tests]
    assert names == ["auprc", "token_f1", "iou_f1"]
    assert the(words_only, "plausible", "token_f1").score.value > 0.6


def row(measure, false, over=(0.0, 0.0), verdict="may"):
    """A measure that is false on a share of the documents, give or take 5 points."""
    ends = {"false_low": max(false - 0.05, 0.0), "false_high": false + 0.05}
    gain = {"over_attention_low": over[0], "over_attention_high": over[1]}
    judged = {"judgement": "supported" if verdict == "may" else "contradicted", "verdict": verdict}
    return {"measure": measure, "false_pictures": false, **ends, **gain, **judged}


def test_what_may_be_shown_instead_is_said_in_a_sentence():
    chance, attention = row("random", 0.9, verdict=None), row("attention", 0.4, verdict=None)
    better, level = row("leave-one-out", 0.05, (0.2, 0.3)), row("ablation", 0.08, (0.2, 0.3))
    ranked, chosen = (better, level, attention, chance), (row("leave-one-out", 0.06),)
    sentence = what_instead(ranked, chosen, "may-not", 0.15)
    assert sentence == (
        "What may be shown instead: leave-one-out (also passed: ablation): chosen on other "
        "documents, its picture is false on 6% of the documents (1% to 11%), where attention's is "
        "false on 40%. It was tested only by deleting words."
    )
    assert "also" not in what_instead((better, attention, chance), chosen, "may-not", 0.15)
    longer = (row("leave-one-out-held or ablation", 0.06),)
    assert "(also passed: leave-one-out)" in what_instead(ranked, longer, "may-not", 0.15)
    nothing = what_instead(ranked, (), "may-not", 0.05)
    assert nothing.startswith("No measure of importance may be shown instead: none is")
    by_chance = (row("leave-one-out", 0.2, verdict="may-not"),)
    assert what_instead(ranked, by_chance, "may-not", 0.15).startswith("No measure of importance")
    allowed = what_instead((better, attention, chance), chosen, "may", 0.15)
    assert allowed.startswith("Attention may be shown; the decision falls somewhat more without ")
    assert "the top words of leave-one-out (its picture is false on" in allowed
    worse = row("ablation", 0.1, (-0.1, 0.1))
    found = what_instead((worse, attention, chance), chosen, "may", 0.15)
    assert found.startswith("No other measure does clearly better than attention")
    assert what_instead((), (), "may", 0.15) == ""


def test_where_attention_may_not_be_shown_attention_with_a_sign_has_a_sentence():
    attention, signed = row("attention", 0.4, verdict=None), row("contribution", 0.05)
    best, chosen = row("leave-one-out", 0.04), (row("leave-one-out", 0.04),)
    sentence = what_instead((best, signed, attention), chosen, "may-not", 0.15)
    assert sentence.endswith(
        "Attention with a sign (contribution: weight × polarity, with words for the decision first "
        "and words against it last) may be shown: its picture is false on 5% of the documents (0% "
        "to 10%)."
    )
    refused = {**signed, "verdict": "may-not"}
    assert " may not be shown either: its picture" in what_instead(
        (best, refused, attention), chosen, "not-safe", 0.15
    )
    assert "with a sign" not in what_instead((best, signed, attention), chosen, "may", 0.15)
    assert "with a sign" not in what_instead((best, attention), chosen, "may-not", 0.15)


def test_a_reading_with_true_pictures_that_fails_a_check_is_named_as_such():
    failing = {**row("leave-one-out", 0.05), "verdict": "may-not"}
    ranked = (failing, row("attention", 0.4, verdict=None))
    sentence = what_instead(ranked, (), "may-not", 0.15)
    assert sentence.endswith("of the documents, or it fails a check (leave-one-out).")


def test_heat_maps_show_attention_beside_what_told_most(words_only):
    ranked = [row["measure"] for row in words_only.evidence["measures"]]
    best = next(m for m in ranked if m not in ("attention", "leave-one-out", "random"))
    for document in words_only.shown:
        assert list(document.scores) == ["attention", "leave-one-out", best]
        assert all(len(s) == len(document.offsets) for s in document.scores.values())
    assert {document.why for document in words_only.shown} >= {"drawn at random"}


def test_a_value_clearly_beyond_its_ceiling_has_no_score_and_says_that_the_control_failed():
    documents = Documents(Document(f"one two three number{n}", None) for n in range(40))
    reading = a_subject({})
    measured = Measured({"beyond": np.linspace(0.7, 0.8, 40), "near": np.full(40, 0.41)})
    prediction = np.zeros(40, dtype=np.int64)
    found = Findings(
        "telling", reading, measured, prediction - 1, prediction, np.full(40, np.nan),
        len(documents), AuditSettings(),
    )  # fmt: skip
    test = AuditTest("some test", "higher", "A paper", "0", "1")
    failed, fine = (
        found.test(test, measured.columns[name], 0.0, np.linspace(0.39, 0.41, 40), note="a note")
        for name in ("beyond", "near")
    )
    assert np.isnan(failed.score.score)
    assert failed.note == "control failed: the value lies beyond the ceiling, at 1.88; a note"
    assert failed.score.value == pytest.approx(0.75)
    assert fine.score.score == pytest.approx(1.025)
    assert fine.note == "a note"
    assert "no score, the control failed" in show._test_line(failed)
