"""Training on a GPU: nothing is asked of it in a step, and recorded steps are those unrecorded."""

import numpy as np
import pytest
import torch

from heedful.model import step_graphs
from heedful.model.build import build_model
from heedful.model.encoders import Pretrained
from heedful.text.batching import Batches
from heedful.text.datasets.planted import Planted
from heedful.text.vocabulary import Encoded
from heedful.training.deletion_penalties import falls
from heedful.training.fit import Watcher
from heedful.training.gpu_steps import PretrainedSteps
from heedful.training.recipe import Material, by_label
from heedful.training.recipes import Faithful
from heedful.training.settings import Settings
from heedful.training.task import Task
from heedful.training.train import train
from tests.model.tiny_pretrained import pieces_of, tiny_source

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    # What PyTorch says of its own instruments, and of streams that a recording lets differ.
    pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning"),
    pytest.mark.filterwarnings("ignore:The AccumulateGrad node:UserWarning"),
]
TASK = Task.from_corpus(Planted(documents=400, neutral_vocabulary=60, evidence_vocabulary=5)(), {})
GPU = torch.device("cuda")


def still_source():
    """A tiny model that drops nothing out."""
    return tiny_source(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def source_with_dropout():
    """A tiny model with dropout."""
    return tiny_source(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)


@pytest.fixture
def at_once(monkeypatch):
    """Every shape is recorded when it first comes; recordings are counted."""
    recorded, plain = [], step_graphs.record

    def counting(body, inputs, is_read, pool):
        recorded.append(tuple(inputs.shape))
        mode = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("default")  # it may take its time
        try:
            return plain(body, inputs, is_read, pool)
        finally:
            torch.cuda.set_sync_debug_mode(mode)

    monkeypatch.setattr(step_graphs, "SEEN_BEFORE", 0)
    monkeypatch.setattr(step_graphs, "record", counting)
    return recorded


class NothingAskedInSteps(Watcher):
    """An epoch's steps may ask nothing of the GPU."""

    def __init__(self) -> None:
        self.left = self.epochs = 0

    def begin_epoch(self, phase, epoch, documents):
        self.left, self.epochs = documents, self.epochs + 1
        torch.cuda.set_sync_debug_mode("error")

    def advance(self, documents):
        self.left -= documents
        if not self.left:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("recipe", ["standard:epochs=2", "faithful:first_epochs=1:epochs=1"])
@pytest.mark.parametrize("encoder", ["pretrained", "bilstm:hidden_size=16", "mlp"])
@pytest.mark.filterwarnings("error:.*CUDA graph:RuntimeWarning")
def test_nothing_is_asked_in_a_step(recipe, encoder, at_once, monkeypatch):
    monkeypatch.setattr(Pretrained, "load", lambda self: source_with_dropout())
    settings = Settings().with_(encoder=encoder, recipe=recipe, embedding_size=16)
    watcher = NothingAskedInSteps()
    try:
        trained = train(TASK, settings, device="cuda", watcher=watcher)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert watcher.epochs == 2
    assert trained.metrics["test"]["documents"] == len(TASK.test)
    assert bool(at_once) == (encoder == "pretrained")


def some_documents(documents=24) -> Batches:
    rng = np.random.default_rng(3)
    starts = np.concatenate([[0], rng.integers(1, 9, documents).cumsum()])
    ids = rng.integers(4, 30, starts[-1])
    encoded = Encoded(ids, starts, pieces=pieces_of(ids))
    return Batches(encoded, np.arange(documents) % 2, batch_size=documents, device=GPU)


def pulled(model, objective, batch, steps):
    """Losses and gradients of one step."""
    model.zero_grad()
    steps.begin_step()
    loss = objective(model, batch, torch.Generator().manual_seed(1))
    loss.backward()
    return [loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize(
    ("recipe", "precision", "close"),
    [("labels", "fp32", 1e-4), ("faithful", "fp32", 1e-4), ("labels", "auto", 0.05)],
)
def test_recorded_steps_pull_as_plain_ones(recipe, precision, close, at_once):
    settings = Settings().with_(encoder="pretrained", dropout=0.0)
    model = build_model(settings.model, 30, 2, seed=1, pretrained=still_source()).to(GPU).train()
    documents = some_documents()
    objective = by_label
    if recipe == "faithful":
        faithful = Faithful(replaced_share=0.0, first_epochs=0, rank_weight=0.0)
        (phase,) = faithful.phases(model, Material(documents, (), classes=2))
        objective = phase.objective
    steps = PretrainedSteps(model, GPU, precision)
    batch = documents.whole()
    plain = pulled(model, objective, batch, steps)
    with steps.under_way():
        for _ in range(3):
            for ours, theirs in zip(pulled(model, objective, batch, steps), plain, strict=True):
                torch.testing.assert_close(ours, theirs, atol=close, rtol=close)
    assert len(at_once) == (1 if recipe == "labels" else 3)


def test_what_is_dropped_out_follows_the_seed_and_changes_from_step_to_step(at_once):
    settings = Settings().with_(encoder="pretrained", dropout=0.0)
    source = tiny_source(hidden_dropout_prob=0.5)
    model = build_model(settings.model, 30, 2, seed=1, pretrained=source).to(GPU).train()
    batch, steps = some_documents().whole(), PretrainedSteps(model, GPU, "fp32")
    found = []
    with steps.under_way():
        for seed in (1, None, 1, None):
            if seed is not None:
                torch.manual_seed(seed)
            steps.begin_step()
            found.append(model(batch).logits.detach().clone())
    assert len(at_once) == 1
    assert not torch.equal(found[0], found[1])
    torch.testing.assert_close(found[2], found[0])
    torch.testing.assert_close(found[3], found[1])


@pytest.mark.parametrize("seen_before", [0, 10**9])
def test_a_whole_training_is_that_of_a_cpu(seen_before, monkeypatch):
    monkeypatch.setattr(Pretrained, "load", lambda self: still_source())
    monkeypatch.setattr(step_graphs, "SEEN_BEFORE", seen_before)
    settings = Settings().with_(
        encoder="pretrained", dropout=0.0, precision="fp32", recipe="standard:epochs=2"
    )
    here, there = (train(TASK, settings, device=device) for device in ("cpu", "cuda"))
    for ours, theirs in zip(here.history, there.history, strict=True):
        assert theirs["train_loss"] == pytest.approx(ours["train_loss"], abs=1e-3)
        assert theirs["dev_accuracy"] == pytest.approx(ours["dev_accuracy"], abs=0.06)


def test_a_training_in_bf16_is_close_to_that_of_a_cpu(monkeypatch):
    monkeypatch.setattr(Pretrained, "load", lambda self: still_source())
    settings = Settings().with_(encoder="pretrained", dropout=0.0, recipe="standard:epochs=2")
    here, there = (train(TASK, settings, device=device) for device in ("cpu", "cuda"))
    losses = [run.history[-1]["train_loss"] for run in (here, there)]
    assert losses[1] == pytest.approx(losses[0], abs=0.02)


def test_falls_are_those_of_a_cpu():
    settings = Settings().with_(encoder="bilstm:hidden_size=8", embedding_size=6, dropout=0.0)
    here = build_model(settings.model, 30, 2, seed=1)
    documents = some_documents().documents
    found = []
    for device in (torch.device("cpu"), GPU):
        batch = Batches(documents, device=device).whole()
        places = torch.arange(3, device=device).expand(len(batch.labels), 3)
        places = places.clamp(max=batch.is_token.shape[1] - 1)
        is_drawn = batch.is_token.gather(1, places)
        model = here.to(device)
        found.append(falls(model, batch, places, is_drawn).cpu())
    torch.testing.assert_close(found[1], found[0], atol=1e-4, rtol=1e-3)
