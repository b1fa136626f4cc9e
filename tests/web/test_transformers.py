"""Hugging Face models on the page: each reading a model of its own, asked as an audit asks it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from transformers import AutoModelForSequenceClassification

import heedful
from heedful.auditing.explanation import explain_with, subject_of_any
from heedful.auditing.questions import AuditSettings
from heedful.auditing.run_audit import AuditPlan
from heedful.auditing.subjects.huggingface.audit_readings import audit_readings
from heedful.auditing.subjects.huggingface.loading import load_transformer
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.counterfactual import what_if
from heedful.errors import ConfigError, DataError, UsageError
from heedful.readouts import readouts
from heedful.web import create_app
from heedful.web.store import Gone, Store
from tests.readouts.tiny import fine_tuned, planted_documents, tiny_model, tiny_tokenizer
from tests.web.browsing import serving, visiting

TEXT = "worda a good wordb wordc, wordd is-bad."
# DeBERTa
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
LAST, ROLLOUT = "tiny · last-cls", "tiny · rollout"


def keep(folder: Path, pair: tuple) -> Path:
    for part in pair:
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model that has learnt something, an audit of two of its readings, and the model healed."""
    place = tmp_path_factory.mktemp("served")
    pair = fine_tuned()
    keep(place / "tiny", pair)
    keep(place / "fixed", (tiny_model("DebertaV2"), tiny_tokenizer()))
    loaded = load_transformer(str(place / "tiny"))
    subjects, _ = subjects_of(loaded, ["last-cls", "rollout"])
    plan = AuditPlan(AuditSettings(), ["telling"])
    audit_readings(loaded, subjects, planted_documents(40, seed=5), plan).save(place / "audits")
    healed = heedful.heal(pair, planted_documents(120, seed=3).texts, epochs=3)
    healed.save(place / "healed")
    return place


@pytest.fixture(scope="module")
def client(folder):
    paths = [f"hf:{folder / 'tiny'}", folder / "audits", folder / "healed"]
    with TestClient(create_app(paths), base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.fixture(scope="module")
def model(folder):
    return Store.open([f"hf:{folder / 'tiny'}"]).run(LAST)


def asked(client, path: str, **body) -> dict:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_usual_reading_is_served_with_what_it_can_do(client):
    served = client.get("/api/served").json()
    runs = {run["name"]: run for run in served["runs"]}
    assert list(runs) == ["healed", *(f"tiny · {name}" for name in readouts.audited)]
    reading = runs[LAST]
    assert reading["classes"] == ["bad", "good"]
    assert reading["about"]["architecture"] == "BertForSequenceClassification"
    assert reading["usual_measures"] == [
        "attention", "decomposition", "gradient-x-input", "leave-one-out",
    ]  # fmt: skip
    assert {"alti", "value-zeroing"} <= set(reading["measures"])
    assert not {"contribution", "polarity"} & set(reading["measures"])
    assert reading["counterfactuals"] == ["adversarial", "uniform", "permuted"]
    assert {"alti", "contribution"} <= {one["name"] for one in served["measures"]}
    assert "alti" not in runs["healed"]["measures"]


def test_a_text_is_explained_as_by_the_command(client, folder):
    loaded = load_transformer(str(folder / "tiny"))
    subject = subjects_of(loaded, ["rollout"])[0]["rollout"]
    measures = ["attention", "decomposition", "leave-one-out"]
    expected = explain_with(subject, TEXT, measures)
    found = asked(client, f"/api/runs/{ROLLOUT}/explain", text=TEXT, measures=measures)
    assert found["prediction"] == expected.prediction
    for name in measures:
        np.testing.assert_allclose(found["scores"][name], expected.scores[name], atol=1e-6)


def test_an_audit_of_a_reading_finds_it_and_judges_its_pictures(client):
    served = client.get("/api/served").json()
    of = {audit["name"]: audit["run"] for audit in served["audits"]}
    assert of == {"1-last-cls": LAST, "2-rollout": ROLLOUT}
    found = asked(client, f"/api/runs/{LAST}/explain", text=TEXT)
    assert found["shown"] in (True, False)
    assert found["why"]
    unaudited = asked(client, "/api/runs/tiny · value-norm/explain", text=TEXT)
    assert unaudited["shown"] is None


def test_an_audit_of_another_model_is_of_none_of_them(folder, tmp_path):
    keep(tmp_path / "tiny", (tiny_model("Bert"), tiny_tokenizer()))
    store = Store.open([f"hf:{tmp_path / 'tiny'}", folder / "audits"])
    assert store.run_of(store.audit("1-last-cls")) is None


def test_readings_and_a_healed_run_are_compared(client):
    both = asked(
        client, "/api/compare", text="worda a good wordb wordc", runs=["healed", LAST, ROLLOUT],
        measures=["attention", "contribution", "alti"],
    )  # fmt: skip
    healed, last, rollout = both["runs"]
    assert list(healed["scores"]) == ["attention", "contribution"]  # each what it has
    assert list(last["scores"]) == list(rollout["scores"]) == ["attention", "alti"]
    for one, other in zip(healed["probabilities"], last["probabilities"], strict=True):
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-6)
    assert len(both["agreements"]) == 3


def test_the_own_weights_change_nothing_and_others_do(client):
    own = asked(client, f"/api/runs/{LAST}/attend", text=TEXT)
    assert sum(own["own"]) == pytest.approx(1)
    again = asked(client, f"/api/runs/{LAST}/attend", text=TEXT, weights=own["own"])
    assert again["tvd"] == pytest.approx(0, abs=1e-5)
    assert again["jsd"] == pytest.approx(0, abs=1e-9)
    one = [0.0] * len(own["own"])
    one[0] = 1.0
    moved = asked(client, f"/api/runs/{LAST}/attend", text=TEXT, weights=one)
    assert moved["jsd"] > 0.1


@pytest.mark.parametrize("by", ["uniform", "permuted", "adversarial"])
def test_other_attentions_can_be_tried(client, by):
    found = asked(client, f"/api/runs/{LAST}/replace", text=TEXT, by=by, deleted=[1])
    assert sum(found["weights"]) == pytest.approx(1)
    if by == "uniform":
        assert np.ptp(found["weights"]) == pytest.approx(0, abs=1e-9)


def test_those_that_need_the_inside_of_a_run_are_refused(client):
    answer = client.post(f"/api/runs/{LAST}/replace", json={"text": TEXT, "by": "frozen"})
    assert answer.status_code == 422
    assert "is not available for a Hugging Face model" in answer.json()["message"]


def test_a_deleted_word_is_left_out_of_the_text(model):
    words = [TEXT[start:end] for start, end in model.read(TEXT, []).offsets.tolist()]
    found = model.read(TEXT, [words.index("good")])
    left = model.read("worda a wordb wordc, wordd is-bad.", [])
    np.testing.assert_allclose(found.probabilities, left.probabilities, atol=1e-6)
    np.testing.assert_allclose(found.own, left.own, atol=1e-6)


def test_words_that_grow_together_share_what_the_new_one_has(model):
    words = [TEXT[start:end] for start, end in model.read(TEXT, []).offsets.tolist()]
    assert words[-4:] == ["is", "-", "bad", "."]
    found = model.read(TEXT, [words.index("-")])  # … isbad.
    left = model.read("worda a good wordb wordc, wordd isbad.", [])
    assert len(left.own) == len(found.own) - 1
    new = left.own[-2]
    np.testing.assert_allclose(found.own[-3:], [new / 2, new / 2, left.own[-1]], atol=1e-9)
    np.testing.assert_allclose(what_if.decide(found, found.own).tvd, 0, atol=1e-5)
    even = what_if.decide(left, np.ones(len(left.own)))
    imposed = np.ones(len(found.own))
    imposed[-3:-1] = 0.5
    np.testing.assert_allclose(
        what_if.decide(found, imposed).probabilities, even.probabilities, atol=1e-6
    )


def test_bad_requests_get_sentences(model):
    with pytest.raises(DataError, match=r"no word 99"):
        model.read(TEXT, [99])
    with pytest.raises(DataError, match=r"the text contains no words"):
        model.read(" ", [])


def test_a_model_that_attends_only_as_it_does_says_so_and_lets_words_be_deleted(folder):
    store = Store.open([f"hf:{folder / 'fixed'}"], readouts=["last-cls"])
    fixed = store.run("fixed · last-cls")
    assert "DebertaV2ForSequenceClassification" in fixed.why_fixed
    assert fixed.counterfactuals == []
    text = fixed.read("a good film", [0])
    assert what_if.decide(text).tvd == 0
    with pytest.raises(ConfigError, match=r"Words can be deleted\.$"):
        what_if.decide(text, [1.0, 0.0])


def test_a_model_that_changes_is_read_again(folder, tmp_path):
    own = Path(shutil.copytree(folder / "tiny", tmp_path / "own"))
    store = Store.open([f"hf:{own}"], readouts=["last-cls", "mean-layers"])
    first = store.run("own · last-cls")
    assert store.run("own · last-cls") is first
    changed = AutoModelForSequenceClassification.from_pretrained(own)
    with torch.no_grad():
        changed.classifier.weight.neg_()
        changed.classifier.bias.neg_()
    changed.save_pretrained(own)
    second = store.run("own · last-cls")
    assert second.subject.model is store.run("own · mean-layers").subject.model
    one, other = (m.read(TEXT, []).probabilities for m in (first, second))
    np.testing.assert_allclose(one, other[::-1], atol=1e-6)
    (own / "config.json").unlink()
    with pytest.raises(Gone, match=r"contained config\.json when the server started"):
        store.run("own · last-cls")


def test_what_cannot_be_served_is_refused_at_once(folder, tmp_path):
    with pytest.raises(UsageError, match=r"no such folder: /nowhere"):
        Store.open(["hf:/nowhere"])
    with pytest.raises(UsageError, match=r"--readout needs hf:FOLDER_OR_NAME"):
        Store.open([folder / "healed"], readouts=["rollout"])
    with pytest.raises(UsageError, match=r"no readout named 'rolout'. Did you mean 'rollout'?"):
        Store.open([f"hf:{folder / 'tiny'}"], readouts=["rolout"])


def test_two_models_of_one_name_get_two_names(folder, tmp_path):
    other = shutil.copytree(folder / "tiny", tmp_path / "tiny")
    store = Store.open([f"hf:{folder / 'tiny'}", f"hf:{other}"], readouts=["last-cls"])
    assert list(store.runs) == ["tiny · last-cls", "tiny-2 · last-cls"]


def test_any_subject_can_be_asked_what_if(folder):
    from heedful.auditing.what_if import read_with

    pair = tiny_model("GPT2"), tiny_tokenizer()
    found = read_with(subject_of_any(pair), "a good film is old", [1])
    assert len(found.own) == 4
    assert what_if.decide(found, [1.0, 0.0, 0.0, 0.0]).weights.tolist() == [1, 0, 0, 0]


@pytest.mark.browser
def test_the_page_serves_readings(folder, browser):
    sources = [f"hf:{folder / 'tiny'}", f"hf:{folder / 'fixed'}", folder / "healed"]
    with serving(*sources) as address, visiting(browser, address) as visit:
        visit.open("explain", run=LAST, text=TEXT)
        visit.see("#explanation .agreement")
        assert "decomposition" in visit.see("#explanation").text_content()
        visit.open("whatif", run=LAST, text=TEXT)
        visit.see(".slider")
        visit.page.get_by_role("button", name="Uniform").click()
        visit.until("() => location.hash.includes('weights=')")
        visit.open("compare", runs=f"healed,{LAST},{ROLLOUT}", text="a good film")
        visit.see(".between")
        visit.open("whatif", run="fixed · last-cls", text="a good film")
        visit.until_told("#fixed", "Words can be deleted.")
        slider = visit.see(".slider")
        slider.press("Home")  # does nothing
        slider.press("Delete")
        visit.until("() => document.querySelector('.column.gone')")
        assert visit.complaints == visit.strangers == []
