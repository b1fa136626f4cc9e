from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from heedful.errors import TrainingDiverged
from heedful.model.build import build_model
from heedful.text.batching import Batch, Batches
from heedful.text.tokenize import Tokenizer
from heedful.training import fit as fit_module
from heedful.training.evaluate import evaluate
from heedful.training.fit import TrainingSettings, Watcher, fit
from heedful.training.optimizers import optimizers
from heedful.training.recipe import Material, Penalised, Phase, Recipe, cross_entropy
from heedful.training.recipes import VAT, Faithful, MaskNeutral, RandomPretraining, Standard
from heedful.training.settings import Settings


class Killed(Exception):
    """Stands for kill -9."""


class Memory:
    """Keeps checkpoints as a folder would; may die when one is written."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.saved = {}
        self.writes = 0
        self.dies_at = dies_at

    def read_checkpoint(self, name):
        return self.saved.get(name)

    def write_checkpoint(self, name, tensors, facts):
        self.writes += 1
        self.saved[name] = ({k: v.clone() for k, v in tensors.items()}, dict(facts))
        if self.writes == self.dies_at:
            raise Killed


@dataclass(frozen=True)
class TwoStages(Recipe):
    """First everything but attention, then attention with a helper of its own."""

    epochs: int = 2

    def phases(self, model, material) -> Iterator[Phase]:
        yield Phase(self.objective, learns=[model.encoder, model.output], epochs=self.epochs)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self_made = nn.Linear(model.encoder.output_size, 2)

        def with_helper(model, batch, rng):
            trace = model(batch)
            helped = self_made((trace.weights.unsqueeze(1) @ trace.hidden).squeeze(1))
            noise = torch.rand(1, generator=rng).item()
            loss = nn.functional.cross_entropy(helped, batch.labels)
            return loss * (0.5 + noise) + cross_entropy(trace, batch)

        yield Phase(with_helper, learns=[model.alignment, self_made], epochs=self.epochs)

    def objective(self, model, batch, rng):
        return cross_entropy(model(batch), batch)


@pytest.fixture(scope="module")
def data(planted):
    settings = Settings().with_(split="spaces", min_documents=1)
    tokenizer = Tokenizer.learn(planted.train.texts, settings.text)

    def batches(part):
        labels = np.array([int(label == "positive") for label in part.labels])
        return Batches(tokenizer.encode(part.texts), labels, batch_size=32)

    return batches(planted.train), batches(planted.dev), len(tokenizer.words)


def trained(data, keeper=None, watcher=None, **changes):
    train, dev, vocabulary = data
    settings = Settings().with_(
        encoder="lstm:hidden_size=6", embedding_size=6, patience=None, **changes
    )
    model = build_model(settings.model, vocabulary, 2, seed=1)
    history = fit(
        model, settings.training, Material(train, ()), dev, keeper=keeper, watcher=watcher
    )
    return model, history


def states_equal(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_planted_evidence_is_learnt(data):
    train, dev, vocabulary = data
    settings = Settings().with_(
        encoder="embedding",
        dropout=0.0,
        recipe=Standard(epochs=12),
        optimizer="adam:learning_rate=0.02",
    )
    model = build_model(settings.model, vocabulary, 2, seed=1)
    fit(model, settings.training, Material(train, ()), dev)
    assert evaluate(model, dev).accuracy > 0.95


def test_the_same_seed_gives_the_same_weights_whatever_the_global_state(data):
    torch.manual_seed(1)
    one, _ = trained(data)
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    same, _ = trained(data)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert states_equal(one, same)
    other, _ = trained(data, seed=2)
    assert not states_equal(one, other)


RESUMED = [
    *((recipe, name) for recipe in (Standard(epochs=4), TwoStages()) for name in optimizers),
    (VAT(iterations=2, epochs=1, warm_epochs=1), "amsgrad"),
    (MaskNeutral(epochs=3), "amsgrad"),
    (Faithful(epochs=3), "amsgrad"),
    (Faithful(epochs=3, final_rate_share=0.0), "amsgrad"),
    (RandomPretraining(epochs=2), "amsgrad"),
]


@pytest.mark.parametrize(
    ("recipe", "optimizer", "averaging"),
    [*((recipe, name, 0.0) for recipe, name in RESUMED), (TwoStages(), "amsgrad", 1.5)],
)
@pytest.mark.parametrize("dies_at", [1, 3])
def test_a_killed_training_resumes_to_the_same_weights_and_history(
    data, recipe, optimizer, averaging, dies_at, monkeypatch
):
    monkeypatch.setattr(fit_module, "SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    train, dev, vocabulary = data
    base = Settings().with_(
        encoder="lstm:hidden_size=6", embedding_size=6, patience=None, optimizer=optimizer,
        **recipe.wants(()),
    )  # fmt: skip
    settings = TrainingSettings(
        recipe=recipe, optimizer=base.training.optimizer, patience=None, batch_size=32,
        averaging=averaging,
    )  # fmt: skip

    def fresh():
        return build_model(base.model, vocabulary, 2, seed=1)

    whole = fresh()
    expected = fit(whole, settings, Material(train, ()), dev)
    memory = Memory(dies_at=dies_at)
    with pytest.raises(Killed):
        fit(fresh(), settings, Material(train, ()), dev, keeper=memory)
    memory.dies_at = None
    resumed = fresh()
    history = fit(resumed, settings, Material(train, ()), dev, keeper=memory)
    assert states_equal(whole, resumed)
    without_time = [{k: v for k, v in row.items() if k != "seconds"} for row in history]
    assert without_time == [{k: v for k, v in row.items() if k != "seconds"} for row in expected]


def test_only_what_a_phase_names_learns_and_the_rest_does_not_drift(data):
    train, dev, vocabulary = data
    settings = Settings().with_(encoder="lstm:hidden_size=6", embedding_size=6).model
    model = build_model(settings, vocabulary, 2, seed=1)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    fit(model, TrainingSettings(recipe=TwoStages(), patience=None), Material(train, ()), dev)
    moved = {
        name for name, value in model.state_dict().items() if not torch.equal(value, start[name])
    }
    assert "embedding.weight" not in moved
    assert {
        "encoder.forwards.weight_hh_l0",
        "alignment.outer.weight",
        "output.linear.weight",
    } <= moved
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert not model.training


@dataclass(frozen=True)
class Slowing(Recipe):
    """Pulls evenly at one number, ever more slowly."""

    epochs: int = 3
    final_rate_share: float = 0.0

    def phases(self, model, material) -> Iterator[Phase]:
        def objective(model, batch, rng):
            return model.output.linear.bias.sum()

        yield Phase(
            objective,
            [model.output],
            self.epochs,
            keep="last",
            final_rate_share=self.final_rate_share,
        )


@pytest.mark.parametrize("final_rate_share", [0.0, 0.4, 1.0])
def test_the_learning_rate_falls_evenly_to_the_share_that_a_phase_names(data, final_rate_share):
    train, dev, vocabulary = data
    settings = Settings().with_(encoder="embedding", optimizer="sgd:learning_rate=0.5")
    model = build_model(settings.model, vocabulary, 2, seed=1)
    before = float(model.output.linear.bias.detach())
    recipe, optimizer = Slowing(final_rate_share=final_rate_share), settings.training.optimizer
    fit(model, TrainingSettings(recipe, optimizer, patience=None), Material(train, ()), dev)
    # Each step has a gradient of 1, so what was moved is the sum of the rates.
    sizes = [len(batch.indices) for batch in train.shuffled(torch.Generator())]
    steps = len(sizes)
    mean_left = 1 - (1 - final_rate_share) / 2
    moved = before - float(model.output.linear.bias.detach())
    # The first step of each epoch has the rate at its beginning: a little more than the mean.
    excess = 0.5 * (1 - final_rate_share) / 2
    assert moved == pytest.approx(0.5 * recipe.epochs * steps * mean_left + excess, rel=0.02)


@dataclass(frozen=True)
class Chosen(Recipe):
    """Learns, and ends with the best epoch by a score of its own."""

    epochs: int = 8
    select_by: str | None = None

    def phases(self, model, material) -> Iterator[Phase]:
        def objective(model, batch, rng):
            return cross_entropy(model(batch), batch)

        yield Phase(objective, [model], self.epochs, select_by=self.select_by)


@pytest.mark.parametrize("select_by", [None, "accuracy", "loss"])
@pytest.mark.parametrize("of_training", ["accuracy", "loss"])
def test_a_phase_may_choose_its_epoch_by_another_score_than_the_training(
    data, select_by, of_training, monkeypatch
):
    train, dev, vocabulary = data
    dev_scores = iter([(0.5, 0.9), (0.3, 0.8), (0.6, 0.7)])  # loss and accuracy, epoch by epoch
    real = evaluate

    def told(model, batches):
        loss, accuracy = next(dev_scores)
        return replace(real(model, batches), loss=loss, accuracy=accuracy)

    monkeypatch.setattr(fit_module, "evaluate", told)
    model = build_model(Settings().with_(encoder="embedding").model, vocabulary, 2, seed=1)
    recipe = Chosen(epochs=3, select_by=select_by)
    settings = TrainingSettings(recipe, patience=None, select_by=of_training)
    history = fit(model, settings, Material(train, ()), dev)
    is_by_loss = (select_by or of_training) == "loss"
    assert [row["is_best"] for row in history] == [True, is_by_loss, False]


@dataclass(frozen=True)
class Holding(Recipe):
    """Learns everything but the embeddings, and notes which parts are in training mode."""

    epochs: int = 1

    def phases(self, model, material) -> Iterator[Phase]:
        def objective(model, batch, rng):
            in_training.update({"held": model.embedding.training, "else": model.output.training})
            return cross_entropy(model(batch), batch)

        yield Phase(objective, [model], self.epochs, holds=[model.embedding])


in_training: dict[str, bool] = {}


@pytest.mark.parametrize("averaging", [0.0, 1.0])
def test_what_a_phase_holds_does_not_change_and_is_not_in_training_mode(data, averaging):
    train, dev, vocabulary = data
    settings = Settings().with_(encoder="lstm:hidden_size=6", embedding_size=6).model
    model = build_model(settings, vocabulary, 2, seed=1)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    fit(model, TrainingSettings(recipe=Holding(), averaging=averaging), Material(train, ()), dev)
    same = {name for name, value in model.state_dict().items() if torch.equal(value, start[name])}
    assert same == {"embedding.weight"}
    assert in_training == {"held": False, "else": True}
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_best_epoch_on_dev_is_kept(data):
    _, dev, _ = data
    model, history = trained(data, recipe=Standard(epochs=6), optimizer="adam:learning_rate=0.05")
    best = max(history, key=lambda row: (row["dev_accuracy"], -row["dev_loss"]))
    assert evaluate(model, dev).accuracy == best["dev_accuracy"]
    assert [row["is_best"] for row in history].count(True) >= 1


def test_training_stops_when_dev_stops_improving(data):
    train, dev, vocabulary = data
    settings = Settings().with_(
        encoder="embedding",
        recipe=Standard(epochs=50),
        patience=2,
        optimizer="adam:learning_rate=0.1",
    )
    model = build_model(settings.model, vocabulary, 2, seed=1)
    history = fit(model, settings.training, Material(train, ()), dev)
    assert len(history) < 50
    assert [row["is_best"] for row in history[-3:]] == [True, False, False]


def test_without_dev_the_last_epoch_stands(data):
    train, _, vocabulary = data
    settings = Settings().with_(encoder="embedding", recipe=Standard(epochs=2))
    model = build_model(settings.model, vocabulary, 2, seed=1)
    history = fit(model, settings.training, Material(train, ()), None)
    assert [row["epoch"] for row in history] == [1, 2]
    assert "dev_accuracy" not in history[0]


def test_without_dev_the_average_of_all_steps_stands(data):
    train, _, vocabulary = data
    settings = Settings().with_(encoder="embedding", recipe="standard:epochs=2", averaging=100)
    averaged = build_model(settings.model, vocabulary, 2, seed=1)
    fit(averaged, settings.training, Material(train, ()), None)
    last = build_model(settings.model, vocabulary, 2, seed=1)
    fit(last, settings.with_(averaging=0).training, Material(train, ()), None)
    first = build_model(settings.model, vocabulary, 2, seed=1)
    moved = [(model.embedding.weight - first.embedding.weight).norm() for model in (averaged, last)]
    assert 0 < moved[0] < moved[1]


def test_a_loss_that_is_no_number_ends_in_a_sentence(data):
    with pytest.raises(TrainingDiverged, match=r"the loss became .* A lower learning rate"):
        trained(data, optimizer="sgd:learning_rate=1e30", gradient_clip=None)


def test_frozen_vectors_never_move(data):
    train, dev, vocabulary = data
    settings = Settings().with_(
        encoder="embedding", freeze_vectors=True, recipe="standard:epochs=1"
    )
    model = build_model(settings.model, vocabulary, 2, seed=1)
    before = model.embedding.weight.clone()
    fit(model, settings.training, Material(train, ()), dev)
    assert torch.equal(model.embedding.weight, before)


def test_attention_gets_no_weight_decay(data):
    train, _, vocabulary = data
    settings = Settings().with_(
        encoder="embedding",
        projection="uniform",
        optimizer="sgd:weight_decay=0.5",
        recipe="standard:epochs=1",
    )
    model = build_model(settings.model, vocabulary, 2, seed=1)
    alignment = {name: value.clone() for name, value in model.alignment.state_dict().items()}
    fit(model, settings.training, Material(train, ()), None)
    for name, value in model.alignment.state_dict().items():
        assert torch.equal(value, alignment[name])


def test_the_watcher_hears_of_every_document(data):
    class Counting(Watcher):
        documents = 0
        epochs = 0

        def advance(self, documents):
            self.documents += documents

        def end_epoch(self, epoch, model):
            self.epochs += 1

    watcher = Counting()
    trained(data, watcher=watcher, recipe=Standard(epochs=3))
    assert (watcher.documents, watcher.epochs) == (3 * len(data[0]), 3)


class RightInEpochTwo(nn.Module):
    """Answers by the label in its second epoch, and by the other one else."""

    def __init__(self, documents: int) -> None:
        super().__init__()
        self.documents, self.epochs, self.seen = documents, 0, 0

    def forward(self, batch: Batch) -> SimpleNamespace:
        self.epochs += int(self.seen == 0)
        self.seen = (self.seen + len(batch.labels)) % self.documents
        is_right = batch.labels if self.epochs == 2 else 1 - batch.labels
        return SimpleNamespace(logits=9.0 * nn.functional.one_hot(is_right, 2).float())


@dataclass(frozen=True)
class Counted(Penalised):
    documents: int
    epochs: int = 3

    def penalty(self, model, batch, trace, prepared, rng):
        return trace.logits.new_zeros(())

    def counted_too(self, model):
        return {"other": RightInEpochTwo(self.documents)}


def test_what_counts_too_has_a_say_in_the_best_epoch_and_stands_in_the_history(data):
    train, dev, vocabulary = data
    settings = Settings().with_(encoder="embedding", embedding_size=6)
    model = build_model(settings.model, vocabulary, 2, seed=1)
    training = TrainingSettings(recipe=Counted(len(dev)), patience=None)
    history = fit(model, training, Material(train, ()), dev)
    assert [row["notes"]["dev_accuracy_other"] for row in history] == [0.0, 1.0, 0.0]
    assert [row["is_best"] for row in history] == [True, True, False]
