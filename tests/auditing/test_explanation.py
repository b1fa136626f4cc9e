"""`heedful.explain` of whatever can be audited."""

import captum.attr
import numpy as np
import pytest
import transformers

import heedful
from heedful.auditing.subjects.function import PlainSubject
from heedful.errors import ConfigError, DataError, RunError
from heedful.importance import from_captum_by_deletion
from heedful.report import explanation_page
from heedful.training.trained import WordWeights
from tests.auditing.subjects.test_modules import Wrapped
from tests.readouts.tiny import fine_tuned

TEXT = "Worda wordb GOOD wordc, wordd."
LACKS_INSIDE = (
    "^a Hugging Face model has no contribution, which needs the internals of a heedful "
    "classifier. "
    "Available: attention, leave-one-out, "
)


@pytest.fixture(scope="module")
def pair():
    return fine_tuned()


@pytest.fixture(scope="module")
def classifier(planted):
    made = heedful.Classifier(
        encoder="embedding", embedding_size=8, optimizer="adam:learning_rate=0.05",
        recipe="standard:epochs=3", split="spaces", dropout=0.0,
    )  # fmt: skip
    return made.fit(planted.train.texts, planted.train.labels)


def test_a_pipeline_a_pair_and_a_model_with_its_tokenizer_are_explained_alike(pair):
    model, tokenizer = pair
    pipeline = transformers.TextClassificationPipeline(model=model, tokenizer=tokenizer)
    found = [
        heedful.explain(pipeline, TEXT),
        heedful.explain(pair, TEXT),
        heedful.explain(model, TEXT, tokenizer=tokenizer),
    ]
    for one in found:
        assert one.to_dict() == found[0].to_dict()
    explanation = found[0]
    assert explanation.prediction == pipeline(TEXT)[0]["label"] == "good"
    assert explanation.probabilities.max() == pytest.approx(pipeline(TEXT)[0]["score"], abs=1e-5)
    assert explanation.words == ["Worda", "wordb", "GOOD", "wordc", ",", "wordd", "."]
    assert list(explanation.scores) == ["attention", "gradient-x-input", "leave-one-out"]
    assert explanation.scores["attention"].sum() == pytest.approx(1)
    assert explanation.words[explanation.scores["leave-one-out"].argmax()] == "GOOD"
    assert "GOOD" in explanation_page(explanation)


def test_a_deletion_is_the_prediction_of_the_text_without_those_words(pair):
    model, tokenizer = pair
    pipeline = transformers.TextClassificationPipeline(model=model, tokenizer=tokenizer)
    text = "worda wordb good wordc"
    explanation = heedful.explain(pair, text, ["leave-one-out"])
    assert [len(deletion.words) for deletion in explanation.deletions] == [1, 2, 3]
    for deletion in explanation.deletions:
        shorter = " ".join(word for word in text.split() if word not in deletion.words)
        by_label = {one["label"]: one["score"] for one in pipeline(shorter, top_k=None)}
        assert deletion.probability == pytest.approx(by_label["good"], abs=1e-5)


def test_another_readout_shows_another_attention(pair):
    usual, rollout = (
        heedful.explain(pair, TEXT, ["attention"], readout=readout)
        for readout in ("last-cls", "rollout")
    )
    assert not np.allclose(usual.scores["attention"], rollout.scores["attention"], atol=1e-3)


def test_a_module_behind_an_adapter_is_explained_as_the_classifier_that_it_is(classifier, planted):
    text = planted.test.texts[0]
    ours = heedful.explain(classifier, text, ["attention", "leave-one-out"])
    found = heedful.explain(Wrapped(classifier.trained_), text, ["attention", "leave-one-out"])
    assert found.words == ours.words
    for measure, scores in ours.scores.items():
        np.testing.assert_allclose(found.scores[measure], scores, atol=1e-5)
    for deletion, known in zip(found.deletions, ours.deletions, strict=True):
        assert deletion.words == known.words
        assert deletion.probability == pytest.approx(known.probability, abs=1e-5)


def test_any_function_with_weights_beside_it_is_explained():
    def predict(texts):
        return np.array([[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts])

    def attend(texts):
        return [WordWeights(t, np.array([[0, 1], [2, 6]]), np.array([0.7, 0.3])) for t in texts]

    explanation = heedful.explain(PlainSubject(predict, attend, ["bad", "good"]), "a good")
    assert list(explanation.scores) == ["attention", "leave-one-out"]
    np.testing.assert_allclose(explanation.scores["leave-one-out"], [0, 0.7])
    assert [d.probability for d in explanation.deletions] == pytest.approx([0.9, 0.2])


def test_what_cannot_be_explained_is_refused_in_a_sentence(pair):
    model, _ = pair
    with pytest.raises(ConfigError, match="needs its tokenizer"):
        heedful.explain(model, TEXT)
    with pytest.raises(DataError, match="dict cannot be read: give a fitted heedful"):
        heedful.explain({}, TEXT)
    with pytest.raises(ConfigError, match=LACKS_INSIDE):
        heedful.explain(pair, TEXT, ["contribution"])
    with pytest.raises(ConfigError, match=r"^your own functions .* through .*from_captum"):
        heedful.explain(pair, TEXT, [lambda model, batch, target: None])
    with pytest.raises(DataError, match="contains no words"):
        heedful.explain(pair, "  ")


def test_a_measure_of_ones_own_is_taken_beside_names(pair):
    theirs = from_captum_by_deletion(captum.attr.FeatureAblation, name="theirs")
    scores = heedful.explain(pair, TEXT, ["attention", theirs, "leave-one-out"]).scores
    assert list(scores) == ["attention", "theirs", "leave-one-out"]
    np.testing.assert_allclose(scores["theirs"], scores["leave-one-out"], atol=1e-6)


def test_a_hugging_face_model_is_shown_by_an_audit_of_the_same_reading(pair):
    model, tokenizer = pair
    texts = [f"worda wordb {'GOOD' if n % 2 else 'bad'} wordc number{n}" for n in range(20)]
    audited = heedful.audit(model, texts, asked=["telling"], tokenizer=tokenizer)
    found = heedful.explain(model, TEXT, tokenizer=tokenizer, audit=audited, risk=0.2)
    assert isinstance(found.shown, bool)
    assert found.why
    with pytest.raises(RunError, match="is of another model"):
        heedful.explain(model, TEXT, tokenizer=tokenizer, audit=audited, readout="rollout")
