import numpy as np
import pytest

import heedful
from heedful.errors import ConfigError, DataError
from heedful.importance import Need, importances
from heedful.importance.explanation import explain


@pytest.fixture(scope="module")
def trained(planted):
    classifier = heedful.Classifier(
        encoder="embedding", embedding_size=16, alignment="dot:scale=1.0", dropout=0.0,
        optimizer="adam:learning_rate=0.05", recipe="standard:epochs=6", split="spaces",
    )  # fmt: skip
    return classifier.fit(planted.train.texts, planted.train.labels).trained_


def test_every_measure_lands_on_the_users_own_words(trained, planted):
    text = planted.test.texts[0].title()
    of_transformers = {Need.HELD_LAYERS, Need.LAYERS}
    measures = [name for name in importances if not importances[name].needs & of_transformers]
    explanation = explain(trained, text, measures)
    assert explanation.words == text.split(" ")
    assert list(explanation.scores) == measures
    assert all(len(scores) == 12 for scores in explanation.scores.values())


def test_the_planted_words_come_out_on_top_and_deleting_them_undoes_the_prediction(
    trained, planted
):
    hits, falls = 0, []
    for document in planted.test[:20]:
        explanation = explain(trained, document.text, ["contribution"])
        marked = {document.text[start:end] for start, end in document.rationale}
        two = next(d for d in explanation.deletions if len(d.words) == 2)
        hits += set(two.words) == marked
        falls.append(explanation.probabilities.max() - two.probability)
    assert hits >= 18
    assert np.mean(falls) > 0.2


def test_a_deletion_is_the_prediction_of_the_shorter_text(trained, planted):
    text = planted.test.texts[1]
    explanation = explain(trained, text)
    target = int(explanation.probabilities.argmax())
    assert explanation.deletions
    for deletion in explanation.deletions:
        shorter = " ".join(word for word in text.split(" ") if word not in deletion.words)
        expected = trained.probabilities([shorter])[0, target]
        assert deletion.probability == pytest.approx(expected, abs=1e-6)


def test_plain_data_holds_everything(trained, planted):
    explanation = explain(trained, planted.test.texts[2])
    plain = explanation.to_dict()
    assert plain["prediction"] == explanation.prediction
    assert sum(plain["probabilities"].values()) == pytest.approx(1)
    weights = [word["attention"] for word in plain["words"]]
    np.testing.assert_allclose(weights, explanation.scores["attention"])
    assert [d["measure"] for d in plain["deletions"]][:3] == ["attention"] * 3


def test_one_word_has_nothing_to_delete_and_none_nothing_to_explain(trained):
    assert explain(trained, "positiveaaa").deletions == ()
    with pytest.raises(DataError, match="contains no words"):
        explain(trained, "  ")


def test_a_model_without_attention_is_refused(planted):
    classifier = heedful.Classifier(encoder="embedding", pooling="mean", recipe="standard:epochs=1")
    classifier.fit(planted.train.texts, planted.train.labels)
    with pytest.raises(ConfigError, match="this classifier has none"):
        classifier.explain("a b")
