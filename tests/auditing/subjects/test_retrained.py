"""Questions that need retrained models."""

import json
from dataclasses import replace

import numpy as np
import pytest

import heedful
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.questions.exclusive import FARTHEST, MATCHED_JSD
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.retrained import (
    ITSELF,
    Twins,
    adversary,
    chosen,
    context_free,
    without_attention,
    written,
)
from heedful.counterfactual.adversarial import Adversarial
from heedful.errors import DataError
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Document, Documents
from heedful.training.settings import Settings
from heedful.training.trained import Trained

pytestmark = pytest.mark.workers

QUICK = AuditSettings(
    search=Adversarial(steps=5), sampled_documents=30, adversary_weights=(0.1, 1.0), seeds=2
)
SIZES = {"embedding_size": 8, "split": "spaces", "min_documents": 1, "dropout": 0.0}


@pytest.fixture(scope="module")
def corpus():
    return Planted(documents=400)()


def fitted(corpus, **options) -> ClassifierSubject:
    classifier = heedful.Classifier(
        **{
            "encoder": "embedding", "recipe": "standard:epochs=12", "patience": None, **SIZES,
            "optimizer": "adam:learning_rate=0.02", **options,
        }
    )  # fmt: skip
    dev = (corpus.dev.texts, corpus.dev.labels)
    return ClassifierSubject(
        classifier.fit(corpus.train.texts, corpus.train.labels, dev=dev).trained_
    )


@pytest.fixture(scope="module")
def subject(corpus) -> ClassifierSubject:
    return fitted(corpus)


@pytest.fixture(scope="module")
def uniform(corpus) -> ClassifierSubject:
    return fitted(corpus, projection="uniform")


def columns_of(question, subject, corpus, twins, settings=QUICK):
    return audit(subject, corpus.test, settings, [question], twins=Twins(twins))


def test_without_twins_they_are_not_asked_and_the_reason_says_how(subject, corpus):
    result = audit(subject, corpus.test, QUICK, ["needed", "stable"])
    for name in ("needed", "stable"):
        assert result.answer(name).judgement is None
        assert "--deep" in result.answer(name).reason


def test_a_twin_that_failed_is_the_reason(subject, corpus):
    twins = Twins({}, {"seed-2": "the disk is full."})
    result = audit(subject, corpus.test, QUICK, ["stable"], twins=twins)
    assert "the disk is full" in result.answer("stable").reason


def test_the_same_attention_under_another_seed_is_stable_and_another_is_not(subject, corpus):
    same = columns_of("stable", subject, corpus, {"seed-2": subject, "seed-3": subject})
    assert same.answer("stable").tests[0].score.score == pytest.approx(1)
    np.testing.assert_allclose(same.columns["seed_jsd"], 0, atol=1e-9)
    np.testing.assert_allclose(same.columns["seed_tvd"], 0, atol=1e-9)
    other = columns_of("stable", subject, corpus, {"seed-2": fitted(corpus, seed=7)})
    assert (other.columns["seed_jsd"] > 0).any()
    assert other.answer("stable").tests[0].score.score < 1


def test_gain_over_uniform_is_zero_for_a_twin_like_the_model(subject, uniform, corpus):
    alike = columns_of("needed", subject, corpus, {"uniform-seed-1": subject})
    test = alike.answer("needed").tests[0]
    assert test.score.value == test.score.floor
    assert test.judgement == "contradicted"
    assert "gain +0.0 points" in test.note
    assert "1 seed" in test.note
    beside = columns_of("needed", subject, corpus, {"uniform-seed-1": uniform})
    right = np.mean(
        uniform.trained.probabilities(corpus.test.texts).argmax(axis=1) == labels(corpus)
    )
    assert beside.answer("needed").tests[0].score.floor == pytest.approx(right)


def labels(corpus):
    return np.array([int(label == "positive") for label in corpus.test.labels])


def test_imposed_weights_are_the_models_own(subject, uniform, corpus):
    twins = {"uniform-seed-1": uniform, "mlp-imposed": uniform}
    result = columns_of("needed", subject, corpus, twins)
    texts = corpus.test.texts
    shown, twin = subject.read(texts), uniform.read(texts)
    expected = uniform.decide(twin, shown.weights[:, None])[:, 0].argmax(axis=1) == labels(corpus)
    np.testing.assert_array_equal(result.columns["right_mlp_imposed"], expected)


def test_an_adversary_like_the_model_stays_at_the_origin(subject, uniform, corpus):
    result = columns_of(
        "exclusive", subject, corpus, {"adversary-0.1": subject, "adversary-1": uniform}
    )
    np.testing.assert_allclose(result.columns["adversary_jsd_0.1"], 0, atol=1e-9)
    np.testing.assert_allclose(result.columns["adversary_tvd_0.1"], 0, atol=1e-9)
    assert (result.columns["adversary_jsd_1"] > 0).all()
    rows = result.evidence["frontier"]
    assert [row["adversary_weight"] for row in rows] == [0.1, 1.0]
    area = next(fact for fact in result.evidence["facts"] if "area" in fact["name"])
    assert area["low"] <= area["mean"] <= area["high"]


def test_what_adversaries_pay_is_also_told_at_matched_distances(subject, uniform, corpus):
    result = columns_of(
        "exclusive", subject, corpus, {"adversary-0.1": subject, "adversary-1": uniform}
    )
    jsd, tvd = (result.columns[f"adversary_{kind}_1"].mean() for kind in ("jsd", "tvd"))
    rows = result.evidence["matched"]
    assert [row["at_jsd"] for row in rows] == [at for at in MATCHED_JSD if at <= jsd]
    assert rows
    for row in rows:  # on the line from the origin to the one adversary that looks elsewhere
        assert row["model"] == "this model"
        assert row["tvd"] == pytest.approx(tvd * row["at_jsd"] / jsd)


def test_the_accuracy_of_a_trained_adversary_stands_beside_what_it_pays(subject, uniform, corpus):
    twins = {"adversary-0.1": subject, "adversary-1": uniform}
    alike, other = columns_of("exclusive", subject, corpus, twins).evidence["frontier"]
    own, even = (
        np.mean(one.trained.probabilities(corpus.test.texts).argmax(axis=1) == labels(corpus))
        for one in (subject, uniform)
    )
    assert alike["accuracy"] == pytest.approx(own)
    assert alike["accuracy_drop"] == pytest.approx(0)
    assert other["accuracy"] == pytest.approx(even)
    assert other["accuracy_drop"] == pytest.approx(own - even)


def test_weights_far_away_on_the_fixed_model_are_scored_by_their_accuracy(subject, corpus):
    def accuracies(**options):
        search = Adversarial(steps=100, learning_rate=0.1, **options)
        settings = replace(QUICK, search=search, epsilon=1.0)
        result = audit(subject, corpus.test, settings, ["exclusive"])
        facts = {fact["name"]: fact["mean"] for fact in result.evidence["facts"]}
        return [facts[f"accuracy under {which}"] for which in ("its own weights", FARTHEST)]

    own, held = accuracies(tolerance=0.0)
    assert held == pytest.approx(own, abs=0.05)  # the search keeps predictions
    same, free = accuracies(tolerance=1.0)
    assert same == own
    assert free < own - 0.2  # nothing holds it


def test_without_labels_an_adversary_has_no_accuracy(subject, corpus):
    texts = Documents(Document(text) for text in corpus.test.texts)
    result = audit(subject, texts, QUICK, ["exclusive"], twins=Twins({"adversary-1": subject}))
    assert not [fact for fact in result.evidence["facts"] if "accuracy" in fact["name"]]
    assert np.isnan(result.evidence["frontier"][0]["accuracy"])


def test_what_could_not_be_trained_or_reached_is_said(subject, uniform, corpus):
    near = Twins({"adversary-0.1": subject, "mlp-trained": uniform, "mlp-against-0.1": uniform},
                 {"adversary-1": "the disk is full."})  # fmt: skip
    result = audit(subject, corpus.test, QUICK, ["exclusive"], twins=near)
    notes = {fact["name"]: fact["note"] for fact in result.evidence["facts"]}
    assert "the disk is full" in notes["twin adversary-1"]
    assert "not every frontier reaches it" in notes["TVD at JSD 0.4"]


def test_a_gain_over_twins_of_another_recipe_is_not_judged(subject, corpus):
    twins = Twins({"uniform-seed-1": subject}, otherwise="by the standard recipe, unlike the run")
    test = audit(subject, corpus.test, QUICK, ["needed"], twins=twins).answer("needed").tests[0]
    assert test.judgement == "reported"
    assert "standard recipe" in test.note


@pytest.mark.parametrize("encoder", ["bilstm", "votes"])  # votes brings keys, no ways to train
def test_context_free_twins_learn_as_long_as_the_run(encoder):
    run = Settings().with_(encoder=encoder, recipe="standard:epochs=40")
    assert run.with_(**context_free(run)).training.recipe.epochs == 40
    assert run.with_(**context_free(run, "imposed")).training.recipe.epochs == 40


def test_chosen_words_have_the_most_weight_and_never_none():
    weights = np.array([[0.5, 0.2, 0.3, 0.0], [1.0, 0.0, 0.0, 0.0]])
    is_token = np.array([[True] * 4, [True, True, False, False]])
    marks = chosen(weights, is_token, 2)
    assert marks.tolist() == [[True, False, True, False], [True, False, False, False]]
    offsets = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    assert written("a b c d", offsets, marks[0]) == ("a c", "b d")


def test_agreement_of_the_judge_and_of_models_that_learnt_from_the_same_words(subject, corpus):
    approximators = {"approximator-chosen": subject, "approximator-others": subject}
    result = columns_of("leak-free", subject, corpus, approximators)
    facts = {fact["name"]: fact for fact in result.evidence["facts"]}
    assert {"FS-M", "FU-M", "FS-A", "FU-A", "FS-A minus FS-M"} <= set(facts)
    # The model itself as approximator reads the same words as the judge does.
    np.testing.assert_array_equal(result.columns["fs_m"], result.columns["fs_a"])
    assert facts["FS-A minus FS-M"]["mean"] == 0
    assert facts["FS-M"]["mean"] > facts["FU-M"]["mean"]


def test_a_judge_like_the_model_judges_as_the_model_does(subject, corpus):
    same = audit(subject, corpus.test, QUICK, ["telling"], twins=Twins(judge=subject))
    np.testing.assert_array_equal(same.columns["is_true_trained"], same.columns["is_true_replaced"])
    tests = {test.name: test for test in same.answer("telling").tests}
    trained = tests["true pictures, judge trained on masked texts"]
    assert trained.note == (
        "words replaced by a placeholder (unknown) for a judge trained on such texts"
    )
    assert trained.judgement == tests["true pictures, words replaced"].judgement != "reported"


def test_where_the_judge_decides_otherwise_no_picture_is_judged(subject, corpus):
    class Contrary(ClassifierSubject):
        def predict_texts(self, texts):
            return super().predict_texts(texts)[:, ::-1]

    twins = Twins(judge=Contrary(subject.trained))
    found = audit(subject, corpus.test, QUICK, ["telling"], twins=twins)
    assert np.isnan(found.columns["is_true_trained"]).all()
    assert not any("trained on masked" in test.name for test in found.answer("telling").tests)


def test_why_there_is_no_judge_is_said(subject, corpus):
    twins = Twins({}, {"masked-judge": "the disk is full."}, why_no_judge="nothing to learn from")
    found = audit(subject, corpus.test, QUICK, ["telling"], twins=twins)
    notes = {fact["name"]: fact["note"] for fact in found.evidence["facts"]}
    assert "the disk is full" in notes["twin masked-judge"]
    assert notes["judge trained on masked texts"] == "nothing to learn from"


def test_a_deep_audit_trains_a_judge_on_masked_texts_and_searches_for_both_limits(corpus, tmp_path):
    classifier = heedful.Classifier(
        encoder="embedding", recipe="standard:epochs=8", patience=None, **SIZES,
        optimizer="adam:learning_rate=0.02",
    )  # fmt: skip
    training = (corpus.train.texts, corpus.train.labels)
    classifier.fit(*training)
    found = heedful.audit(
        classifier, corpus.test, QUICK, ["telling"], deep=tmp_path / "deep", training=training
    )
    tests = {test.name: test for test in found.answer("telling").tests}
    assert tests["true pictures, judge trained on masked texts"].score.documents >= 20
    judge = ClassifierSubject(Trained.load(tmp_path / "deep" / "masked-judge"))
    assert "unknown" in judge.vocabulary  # it has met the placeholder for other words
    facts = {fact["name"]: fact for fact in found.evidence["facts"]}
    of_attention = facts["normalised comprehensiveness of attention"]
    of_random = facts["normalised comprehensiveness of random rankings"]
    assert 0 <= of_random["mean"] < of_attention["mean"] <= 1
    sampled = ~np.isnan(found.columns["fall_beam search"])
    assert sampled.sum() == QUICK.sampled_documents
    worst, shown = (
        found.columns[f"comprehensiveness_{name}"][sampled] for name in ("worst order", "attention")
    )
    assert (worst <= shown + 1e-9).mean() > 0.9
    beam, greedy = (
        found.columns[f"fall_{name}"][sampled] for name in ("beam search", "greedy erasure")
    )
    assert (beam >= greedy - 1e-9).mean() > 0.9


def test_adversaries_carry_the_penalty_of_the_run():
    run = Settings().with_(recipe="tying:tie_weight=2.0")
    assert "tying:tie_weight=2.0" in adversary(0.1, 5, run).changes["recipe"]["regulariser"]
    both = Settings().with_(recipe="tying,diversity")
    assert adversary(0.1, 5, both).changes["recipe"]["regulariser"] == "tying,diversity"
    assert "regulariser" not in adversary(0.1, 5, Settings()).changes["recipe"]
    assert adversary(0.1, 5, run).base == ITSELF


def test_from_python_twins_are_trained_in_a_folder_and_left_when_done(corpus, tmp_path):
    classifier = heedful.Classifier(
        encoder="mlp:hidden_size=4", recipe="standard:epochs=1", **SIZES
    )
    training = (corpus.train.texts, corpus.train.labels)
    classifier.fit(*training)
    ask = (classifier, corpus.test, QUICK, ["stable"])
    first = heedful.audit(*ask, deep=tmp_path / "deep", training=training)
    assert first.answer("stable").tests[0].name == "JSD between seeds"
    made = (tmp_path / "deep" / "seed-2" / "model.safetensors").stat().st_mtime_ns
    again = heedful.audit(*ask, deep=tmp_path / "deep", training=training)
    assert (tmp_path / "deep" / "seed-2" / "model.safetensors").stat().st_mtime_ns == made
    np.testing.assert_array_equal(again.columns["seed_jsd"], first.columns["seed_jsd"])
    with pytest.raises(DataError, match="fingerprint"):
        heedful.audit(*ask, deep=tmp_path / "deep", training=(corpus.dev.texts, corpus.dev.labels))
    other = heedful.Classifier(
        encoder="mlp:hidden_size=4", recipe="standard:epochs=2", **SIZES
    ).fit(*training)
    with pytest.raises(DataError, match="another classifier"):
        heedful.audit(other, *ask[1:], deep=tmp_path / "deep", training=training)
    with pytest.raises(DataError, match="`training`"):
        heedful.audit(*ask, deep=tmp_path / "deep")


@pytest.mark.parametrize(
    "recipe",
    ["standard", "tying", "vat", "random-pretraining", "selector", "faithful", "faithful,tying"],
)
def test_the_twins_of_every_question_can_be_made_of_any_run(recipe):
    run = Settings().with_(recipe=recipe)
    names = {}
    for question in map(questions.make, questions):
        for twin in question.twins(AuditSettings(), run):
            settings = run.with_(**twin.changes)
            assert json.dumps(settings.plain())
            assert names.setdefault(twin.name, twin) == twin
    bases = {twin.base for twin in names.values()} - {None, ITSELF}
    assert bases <= set(names)
    assert len(names) == 22


def test_twins_with_uniform_weights_are_taught_by_no_recipe_that_teaches_attention():
    for recipe, expected in (
        ("tying", "Tying"),
        ("faithful", "Standard"),
        ("faithful,tying", "Standard"),
    ):
        run = Settings().with_(recipe=recipe)
        settings = run.with_(**without_attention(run))
        assert type(settings.training.recipe).__name__ == expected
        assert (
            settings.plain()["model"]["projection"]
            == Settings().with_(projection="uniform").plain()["model"]["projection"]
        )
