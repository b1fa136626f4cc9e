"""The same numbers on a GPU as on the CPU. Skipped where there is no CUDA device."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.analysis.instruments.shortcuts import Shortcuts, probe_shortcuts
from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings
from heedful.auditing.run_audit import AuditPlan
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.subjects.huggingface.audit_readings import audit_readings
from heedful.auditing.subjects.huggingface.loading import of_pair
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.importance import importances
from heedful.importance.explanation import explain
from heedful.model.encoders import Pretrained, encoders
from heedful.model.precision import in_full
from heedful.text.datasets.planted import Planted
from heedful.text.documents import Documents
from heedful.training.optimizers import optimizers
from heedful.training.recipes import recipes
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import train
from heedful.training.trained import Trained
from tests.model.tiny_pretrained import tiny_source
from tests.readouts.tiny import fine_tuned, planted_documents

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
ENCODERS = ["bilstm:hidden_size=16", "gru:hidden_size=16", "mlp", "cnn", "transformer"]
CLOSE = 1e-4  # largest difference, in fp32, of what a test finds
# Of a correlation within one document, where small differences are divided by each other: only of a
# GRU were they seen to be larger, by 2.7e-4.
CLOSE_OF_ONE = {"gru:hidden_size=16": 1e-3}
CORPUS = Planted(documents=400, neutral_vocabulary=60, evidence_vocabulary=5)()


def a_run(encoder="bilstm:hidden_size=16", device="cpu", **changes) -> Trained:
    changes = {"recipe": "standard:epochs=2", "embedding_size": 16, **changes}
    settings = Settings().with_(encoder=encoder, **changes)
    return train(Task.from_corpus(CORPUS, {}), settings, device=device)


def on_gpu(trained: Trained) -> Trained:
    """A copy; the one on the CPU stays there."""
    return replace(trained, model=copy.deepcopy(trained.model).cuda().eval())


@pytest.fixture
def tiny(monkeypatch) -> None:
    """`minilm` is a tiny random model here."""
    monkeypatch.setattr(Pretrained, "load", lambda self: tiny_source())


def assert_same_numbers(ours: dict, theirs: dict, close_of_one: float = CLOSE) -> None:
    for name, column in ours.items():
        close = close_of_one if name.startswith("pearson") else CLOSE
        np.testing.assert_allclose(
            np.asarray(theirs[name], float), np.asarray(column, float), atol=close, err_msg=name
        )


@pytest.mark.parametrize("encoder", [*ENCODERS, "pretrained"])
def test_audits_agree(encoder, tiny):
    trained = a_run(encoder)
    settings = AuditSettings()
    documents = Documents(CORPUS.test[:40])
    here, there = (
        audit(ClassifierSubject(run, precision="fp32"), documents, settings)
        for run in (trained, on_gpu(trained))
    )
    assert here.predictions == there.predictions
    assert_same_numbers(here.columns, there.columns, CLOSE_OF_ONE.get(encoder, CLOSE))
    for mine, other in zip(here.answers, there.answers, strict=True):
        for test, same in zip(mine.tests, other.tests, strict=True):
            # k-means may put a state that stands between two clusters into either.
            close = 0.01 if test.name == "mutual information" else CLOSE
            other_value = pytest.approx(same.score.value, abs=close, nan_ok=True)
            assert test.score.value == other_value, (mine.question, test.name)


@pytest.mark.parametrize("measure", importances)
@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=16", "pretrained"])
def test_importance_agrees_and_leaves_the_model_in_its_mode(measure, encoder, tiny):
    trained = a_run(encoder)
    other = on_gpu(trained)
    for text in CORPUS.test.texts[:5]:
        with in_full():
            here, there = (
                explain(run, text, [measure]).scores[measure] for run in (trained, other)
            )
        np.testing.assert_allclose(there, here, atol=CLOSE)
    assert not any(part.training for part in other.model.modules())


@pytest.mark.parametrize("recipe", [name for name in recipes if name != "all-of"])
def test_every_recipe_trains_there(recipe):
    sizes = {"encoder": "bilstm:hidden_size=8", "embedding_size": 16}
    trained = a_run(device="cuda", recipe=recipe, **sizes)
    assert trained.device.type == "cuda"
    assert trained.metrics["test"]["documents"] == len(CORPUS.test)


@pytest.mark.parametrize("optimizer", optimizers)
def test_every_optimizer_trains_there(optimizer):
    settings = {"embedding_size": 16, "recipe": "standard:epochs=1"}
    assert a_run("embedding", device="cuda", optimizer=optimizer, **settings).device.type == "cuda"


@pytest.mark.parametrize("recipe", ["standard", "vat", "random-pretraining", "mask-neutral"])
def test_a_pretrained_encoder_trains_there(recipe, tiny):
    assert a_run("pretrained", device="cuda", recipe=recipe).device.type == "cuda"


@pytest.mark.parametrize("encoder", encoders)
def test_a_run_saved_there_is_read_here(encoder, tmp_path, tiny):
    trained = a_run(encoder, device="cuda", recipe="standard:epochs=1")
    trained.save(tmp_path / "run")
    here = Trained.load(tmp_path / "run", "cpu")
    texts = CORPUS.test.texts[:20]
    np.testing.assert_allclose(here.probabilities(texts), trained.probabilities(texts), atol=CLOSE)


def test_changed_texts_are_read_in_bf16_only_after_a_look(tiny):
    subject = ClassifierSubject(on_gpu(a_run("pretrained")))
    reading = subject.read(CORPUS.test.texts[:8])
    rows = np.arange(8)
    is_kept = reading.is_token.copy()
    is_kept[:, 0] = False
    rounded = subject.predict_kept(reading, rows, is_kept)
    exact = ClassifierSubject(subject.trained, precision="fp32")
    np.testing.assert_allclose(rounded, exact.predict_kept(reading, rows, is_kept), atol=0.02)
    assert ["bf16 changed probabilities" in note for note in subject.notes] == [True]
    assert not exact.notes


def test_memory_that_runs_short_is_shared_out(tiny):
    subject = ClassifierSubject(on_gpu(a_run("pretrained")), precision="fp32")
    reading = subject.read(CORPUS.test.texts[:8])
    rows = np.repeat(np.arange(8), 200)
    is_kept = reading.is_token[rows]
    calm = subject.predict_kept(reading, rows, is_kept)
    _, total = torch.cuda.mem_get_info()
    used = torch.cuda.memory_allocated()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((used + 6 * 2**20) / total)
    try:
        pressed = subject.predict_kept(reading, rows, is_kept)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    np.testing.assert_allclose(pressed, calm, atol=1e-6)
    assert any("memory ran short" in note for note in subject.notes)


def test_the_probe_runs_there():
    task = Task.from_corpus(CORPUS, {})
    settings = Shortcuts(seeds=(1,), epochs=1)
    assert probe_shortcuts(task, settings, device="cuda").arms


def test_readings_of_a_transformer_agree():
    documents = planted_documents(24)
    model, tokenizer = fine_tuned()
    reports = []
    for device in ("cpu", "cuda"):
        loaded = of_pair(copy.deepcopy(model).to(device), tokenizer, precision="fp32")
        loaded, matched, _ = loaded.with_labels_of(documents)
        subjects, _ = subjects_of(loaded, ["last-cls", "rollout", "attention-x-gradient"])
        # Not agreeing: this model is so sure that what most words add is rounding, whose ranks no
        # two machines agree on.
        asked = ["decisive", "telling"]
        reports.append(audit_readings(loaded, subjects, matched, AuditPlan(questions=asked)))
    here, there = reports
    for name, found in here.audits.items():
        assert_same_numbers(found.columns, there.audits[name].columns)
