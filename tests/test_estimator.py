import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import heedful
from heedful.errors import ConfigError, DataError, RunError
from heedful.estimator import as_texts

SMALL = {
    "encoder": "embedding",
    "embedding_size": 16,
    "dropout": 0.0,
    "optimizer": "adam:learning_rate=0.05",
    "recipe": "standard:epochs=3",
    "split": "spaces",
}


@pytest.fixture(scope="module")
def texts_and_labels(planted):
    return planted.train.texts, np.array([int(x == "positive") for x in planted.train.labels])


@pytest.fixture(scope="module")
def fitted(texts_and_labels):
    return heedful.Classifier(**SMALL).fit(*texts_and_labels)


def test_probabilities_predictions_and_score_agree(fitted, planted, texts_and_labels):
    texts, labels = texts_and_labels
    probabilities = fitted.predict_proba(texts)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    assert fitted.classes_.tolist() == [0, 1]
    assert (fitted.predict(texts) == probabilities.argmax(axis=1)).all()
    assert fitted.score(texts, labels) > 0.95
    assert fitted.predict_proba([]).shape == (0, 2)


def test_scikit_learns_tools_work_on_it(texts_and_labels):
    texts, labels = texts_and_labels
    assert cross_val_score(heedful.Classifier(**SMALL), texts, labels, cv=2).min() > 0.9
    grid = GridSearchCV(
        heedful.Classifier(**SMALL), {"projection": ["softmax", "sparsemax"], "seed": [1]}, cv=2
    )
    grid.fit(pandas.Series(texts), labels)
    assert grid.best_params_["projection"] in ("softmax", "sparsemax")
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = Pipeline([("lower", lower), ("classify", heedful.Classifier(**SMALL))])
    assert pipeline.fit(texts, labels).score(texts, labels) > 0.9


def test_clone_and_pickle_keep_what_they_should(fitted, texts_and_labels):
    texts, _ = texts_and_labels
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "trained_")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(texts), fitted.predict_proba(texts))


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7], [False, True]])
def test_labels_come_back_as_they_were_given_also_after_loading(labels, planted, tmp_path: Path):
    texts = planted.train.texts[:200]
    given = [labels[int(x == "positive")] for x in planted.train.labels[:200]]
    classifier = heedful.Classifier(**SMALL).fit(texts, given)
    assert set(classifier.predict(texts).tolist()) <= set(labels)
    classifier.save(tmp_path / "run")
    loaded = heedful.Classifier.load(tmp_path / "run")
    assert loaded.classes_.tolist() == labels
    assert (loaded.predict(texts) == classifier.predict(texts)).all()
    assert loaded.get_params()["embedding_size"] == 16


def test_a_new_process_gives_bit_identical_probabilities(fitted, planted, tmp_path: Path):
    fitted.save(tmp_path / "run")
    texts = planted.test.texts
    code = (
        "import sys, torch, numpy, heedful; torch.set_num_threads(1);"
        "texts = open(sys.argv[2]).read().split('\\n');"
        "numpy.save(sys.argv[3], heedful.Classifier.load(sys.argv[1]).predict_proba(texts))"
    )
    (tmp_path / "texts").write_text("\n".join(texts))
    out = tmp_path / "p.npy"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "run", tmp_path / "texts", out], check=True
    )
    np.testing.assert_array_equal(np.load(out), fitted.predict_proba(texts))


def test_attention_lands_on_the_users_own_words(fitted):
    (attention,) = fitted.attention(["Neutralaaa POSITIVEAAA 🙂 unheard"])
    assert attention.words == ["Neutralaaa", "POSITIVEAAA", "🙂", "unheard"]
    assert attention.weights.sum() == pytest.approx(1)


def test_a_baseline_has_no_attention_to_show(texts_and_labels):
    classifier = heedful.Classifier(**SMALL, pooling="max").fit(*texts_and_labels)
    with pytest.raises(ConfigError, match="no attention: it was built with pooling = 'max'"):
        classifier.attention(["a"])


def test_training_and_dev_documents_are_remembered(fitted, planted, tmp_path: Path):
    fitted.save(tmp_path / "run")
    trained = heedful.Classifier.load(tmp_path / "run").trained_
    every = trained.exposure(planted.train.texts)
    assert every.was_trained_on.sum() == 540
    assert every.chose_epoch.sum() == 60
    assert not every.is_new.any()
    otherwise_written = trained.exposure([text.upper() + " " for text in planted.train.texts])
    assert (otherwise_written.was_trained_on == every.was_trained_on).all()
    assert trained.exposure([*planted.test.texts, "something new"]).is_new.all()


def test_a_given_dev_part_chooses_the_epoch_and_nothing_is_held_out(planted, texts_and_labels):
    dev_labels = [int(label == "positive") for label in planted.dev.labels]
    classifier = heedful.Classifier(**SMALL).fit(
        *texts_and_labels, dev=(planted.dev.texts, dev_labels)
    )
    assert classifier.history_[0]["dev_documents"] == len(planted.dev)
    assert len(classifier.trained_.training_documents) == len(planted.train)


def test_rare_labels_count_more_when_balanced():
    texts = ["good film", "fine film"] * 45 + ["bad film"] * 10
    labels = ["+"] * 90 + ["-"] * 10
    plain = heedful.Classifier(**SMALL, dev_share=0.0, min_documents=1)
    plain.fit(texts, labels)
    balanced = clone(plain).set_params(class_weights="balanced").fit(texts, labels)
    of_rare = [c.predict_proba(["film"])[0, 1] for c in (plain, balanced)]
    assert of_rare[1] > of_rare[0]


@pytest.mark.parametrize(
    ("texts", "labels", "sentence"),
    [
        ("one text", [1], "expected a list of texts, got one string"),
        (["a", 3], [0, 1], "texts should be strings; number 1 is 3"),
        (["a", "b"], [0], "expected one label per text"),
        (["a", "b"], [0, None], "a label should be a word or a number; number 1 is None"),
        (["a", "b"], [0, float("nan")], "number 1 is nan"),
        (["a", "b"], [[0], [1]], "number 0 is [0]"),
        (["a", "b"], [0, "x"], "all words or all numbers"),
        (["a", "b"], [0, 0], "every training document has the same label"),
        (["a", "b"], [0, 1], "no word occurs in at least 2 training documents"),
        (["...", ""], [0, 1], "no word occurs in at least 2"),
    ],
)
def test_what_cannot_be_fitted_is_refused(texts, labels, sentence):
    with pytest.raises(DataError) as error:
        heedful.Classifier(dev_share=0.0).fit(texts, labels)
    assert sentence in str(error.value)


def test_settings_may_be_numbers_of_numpy_and_paths(texts_and_labels, tmp_path: Path):
    classifier = heedful.Classifier(**SMALL)
    classifier.set_params(seed=np.int64(3), dropout=np.float32(0.5))  # as GridSearchCV does
    classifier.fit(*texts_and_labels)
    assert classifier.trained_.settings.training.seed == 3
    with pytest.raises(DataError, match="no file of word vectors"):
        heedful.Classifier(**SMALL, vectors=tmp_path / "none").fit(*texts_and_labels)


@pytest.mark.parametrize("share", [-1.0, 1.0, float("nan")])
def test_an_impossible_share_is_refused(texts_and_labels, share):
    with pytest.raises(DataError, match="leave documents to train on"):
        heedful.Classifier(dev_share=share).fit(*texts_and_labels)


def test_what_is_not_fitted_says_so():
    for method in ("predict", "predict_proba", "attention"):
        with pytest.raises(NotFittedError):
            getattr(heedful.Classifier(), method)(["a"])


def test_odd_documents_train_and_predict():
    texts = ["a", "", "🙂🙂", "\x00", "a a a", "b b"] * 10
    classifier = heedful.Classifier(recipe="standard:epochs=1").fit(texts, [0, 1] * 30)
    assert np.isfinite(classifier.predict_proba([*texts, "never seen", "\ud800"])).all()


def test_it_is_saved_and_loaded_by_the_names_of_hugging_face(fitted, planted, tmp_path: Path):
    fitted.save_pretrained(tmp_path / "run")
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= files
    loaded = heedful.Classifier.from_pretrained(tmp_path / "run", device="cpu")
    texts = planted.test.texts
    np.testing.assert_array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert loaded.explain(texts[0]).words == texts[0].split()
    assert heedful.audit(loaded, texts[:25], asked=["telling"]).answer("telling").tests
    with pytest.raises(RunError, match="already exists"):
        fitted.save_pretrained(tmp_path / "run")


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ("pytorch_model.bin", "are pickled, .* convert it once, .* writes safetensors"),
        ("model.safetensors", "holds a Hugging Face model, .* `heedful audit hf:.*heedful.audit"),
    ],
)
def test_a_folder_of_hugging_face_is_told_where_it_belongs(weights, sentence, tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / weights).write_bytes(b"")
    for load in (heedful.Classifier.from_pretrained, heedful.Classifier.load):
        with pytest.raises(RunError, match=sentence):
            load(tmp_path)


TABLE = pandas.DataFrame({"text": ["a b", "c d", "e f"], "label": [0, 1, 0]})


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (
            TABLE,
            "expected a list of texts, got a table of 2 columns ('text', 'label'). Give one "
            "column, as in frame['text'].",
        ),
        (
            TABLE[["text"]],
            "expected a list of texts, got a table of 1 column ('text'). Give one column, as in "
            "frame['text'].",
        ),
        (
            np.array([["a", "b"], ["c", "d"], ["e", "f"]]),
            "expected a list of texts, got an array of shape (3, 2). Give an array of one axis, "
            "such as one column: array[:, 0].",
        ),
        (
            {"body": ["a b", "c d"], "stars": [1, 2]},
            "expected a list of texts, got a dict with the keys 'body', 'stars'. Give the list "
            "under one of the keys, as in given['body'], or list(given.values()).",
        ),
        ("one text", "expected a list of texts, got one string. Write [text]."),
        (b"one text", "expected a list of texts, got bytes. Write [text]."),
        (
            ["a", None],
            "texts should be strings; number 1 is missing (None). Leave out the documents without "
            "a text, or give them ''.",
        ),
        (
            pandas.Series(["a", float("nan")]),
            "texts should be strings; number 1 is missing (nan). Leave out the documents without "
            "a text, or give them ''.",
        ),
        (
            ["a", b"b"],
            "texts should be strings; number 1 is b'b'. Decode bytes first, as in "
            "text.decode('utf-8').",
        ),
    ],
)
def test_what_is_no_list_of_texts_is_refused_with_the_cause(fitted, texts, sentence):
    for ask in (fitted.predict, fitted.attention, lambda some: fitted.task(some, [0, 1, 0])):
        with pytest.raises(DataError) as refused:
            ask(texts)
        assert str(refused.value) == sentence


def test_what_holds_no_texts_at_all_is_refused():
    with pytest.raises(DataError, match=r"^expected a list of texts, got None\.$"):
        as_texts(None)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (TABLE[["label"]], "expected a list of labels, got a table of 1 column ('label'). Give "),
        (np.eye(3), "expected a list of labels, got an array of shape (3, 3). Give "),
        ("abc", "expected a list of labels, got one string. Write [label]."),
    ],
)
def test_what_is_no_list_of_labels_is_refused_with_the_cause(labels, sentence):
    with pytest.raises(DataError) as refused:
        heedful.Classifier(**SMALL).fit(TABLE["text"], labels)
    assert str(refused.value).startswith(sentence)
