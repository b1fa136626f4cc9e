"""Recipes that train in stages or against a finished model."""

import numpy as np
import pytest
import torch

import heedful
from heedful import runs
from heedful.errors import ConfigError
from heedful.model.classifier import attend
from heedful.runs import RunFolder
from heedful.text.batching import Batches
from heedful.text.datasets.planted import Planted
from heedful.text.vocabulary import Encoded
from heedful.training.fit import TrainingSettings, Watcher, fit
from heedful.training.recipe import Material, recipes
from heedful.training.recipes.adversary import Adversary, jsd, kl, tvd
from heedful.training.recipes.imposed import UnderAttentionOf
from heedful.training.recipes.mask_neutral import MaskNeutral
from heedful.training.recipes.random_pretraining import RandomPretraining
from heedful.training.recipes.selector import Selector
from heedful.training.recipes.vat import VAT, Spread, compress
from heedful.training.trained import read_settings
from tests.importance.models import VOCABULARY, a_batch, a_model

TEXTS = ["good fine film", "fine plot good", "bad poor film", "poor plot bad"] * 6
LABELS = ["p", "p", "n", "n"] * 6
SIZES = {"encoder": "lstm:hidden_size=5", "embedding_size": 6, "min_documents": 1}


def fitted(recipe, **options):
    classifier = heedful.Classifier(recipe=recipe, **{**SIZES, "patience": None, **options})
    return classifier.fit(TEXTS, LABELS, dev=(TEXTS, LABELS))


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_documents(count: int = 12) -> Batches:
    draws = np.random.default_rng(0)
    ids = draws.integers(3, VOCABULARY, count * 4)
    labels = np.arange(count) % 2
    return Batches(Encoded(ids, np.arange(0, count * 4 + 1, 4)), labels, batch_size=4)


def moved_in_each_phase(model, recipe, base=None) -> dict[str, set[str]]:
    """Names of the parameters that each phase of a recipe changed."""
    documents = some_documents()
    seen = {}

    class Snapshots(Watcher):
        def __init__(self):
            self.before = {n: p.clone() for n, p in model.state_dict().items()}

        def end_epoch(self, epoch, model):
            now = {n: p.clone() for n, p in model.state_dict().items()}
            moved = {n for n in now if not torch.equal(now[n], self.before[n])}
            seen[epoch.name] = seen.get(epoch.name, set()) | moved
            self.before = now

    fit(
        model.float(), TrainingSettings(recipe=recipe, patience=None),
        Material(documents, (), base), None, watcher=Snapshots(),
    )  # fmt: skip
    return seen


def parts(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def test_vat_freezes_attention_while_it_learns_and_states_while_it_compresses():
    model = a_model(output="bottleneck:width=4:code_size=3", **SIZES_OF_MODEL)
    moved = moved_in_each_phase(model, VAT(iterations=2, epochs=1, warm_epochs=1))
    assert list(moved) == ["warm start", "learner 1", "compressor 1", "learner 2", "compressor 2"]
    assert parts(moved["warm start"]) == {"embedding", "encoder", "alignment", "output"}
    for number in (1, 2):
        learner, compressor = moved[f"learner {number}"], moved[f"compressor {number}"]
        assert parts(learner) == {"embedding", "encoder", "output"}
        assert {n.split(".")[1] for n in learner if n.startswith("output")} == {"learner"}
        assert parts(compressor) == {"alignment", "output"}
        heads = {n.split(".")[1] for n in compressor if n.startswith("output")}
        assert heads == {"mean", "spread", "decoder"}


SIZES_OF_MODEL = {"encoder": "lstm:hidden_size=5"}


@pytest.mark.parametrize(
    ("recipe", "model"),
    [
        ("standard", {}),
        ("vat:iterations=3:epochs=2:warm_epochs=1", {"output": "bottleneck:width=4:code_size=3"}),
        ("vat:iterations=2:warm_epochs=0", {"output": "bottleneck:width=4:code_size=3"}),
        ("random-pretraining:epochs=3", {"keys": "separate"}),
        ("faithful:first_epochs=2:epochs=3", {}),
        ("faithful:first_epochs=0", {}),
        ("diversity,faithful", {}),
    ],
)
def test_each_phase_knows_how_many_epochs_are_to_come(recipe, model):
    material = Material(some_documents(), (), classes=2)
    phases = list(recipes.make(recipe).phases(a_model(**SIZES_OF_MODEL, **model), material))
    to_come = [sum(later.epochs for later in phases[n + 1 :]) for n in range(len(phases))]
    assert [phase.epochs_to_come for phase in phases] == to_come


def gradients_of_the_learner(recipe: VAT) -> tuple[torch.Tensor, list[torch.Tensor | None], float]:
    """Gradient of the first encoder weights, those of attention, and the true slope of the first.

    The slope is that of the loss in one encoder weight, by finite differences.
    """
    model, batch = a_model(output="bottleneck:width=4:code_size=3", **SIZES_OF_MODEL), a_batch(3, 5)
    phases = recipe.phases(model, Material(some_documents(), ()))
    phase = next(phase for phase in phases if phase.name == "learner 1")
    model.requires_grad_(False)
    for part in phase.learns:
        part.requires_grad_(True)
    phase.objective(model, batch, rng()).backward()
    weights = model.encoder.forwards.weight_ih_l0
    losses = []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            weights[0, 0] += step
            losses.append(float(phase.objective(model, batch, rng())))
    attention = [parameter.grad for parameter in model.alignment.parameters()]
    return weights.grad, attention, (losses[0] - losses[1]) / 2e-6


def test_vats_learner_teaches_the_encoder_through_attention_whose_parameters_are_held():
    gradient, attention, slope = gradients_of_the_learner(VAT())
    assert float(gradient[0, 0]) == pytest.approx(slope, rel=1e-5)
    assert attention == [None] * len(attention)


def test_vats_learner_may_hold_the_weights_instead():
    gradient, attention, slope = gradients_of_the_learner(VAT(learner_holds="weights"))
    assert float(gradient[0, 0]) != pytest.approx(slope, rel=1e-3)
    assert attention == [None] * len(attention)


@pytest.mark.parametrize("holds", ["parameters", "weights"])
def test_a_run_says_what_its_learner_held_also_one_from_before_there_was_a_choice(tmp_path, holds):
    recipe = VAT(iterations=1, epochs=1, warm_epochs=1, learner_holds=holds)
    fitted(recipe).trained_.save(tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    assert read_settings(folder).training.recipe == recipe
    config = folder.read_json(runs.CONFIG)
    del config["training"]["recipe"]["learner_holds"]
    folder.write_json(runs.CONFIG, config)
    assert read_settings(folder).training.recipe.learner_holds == "weights"


def test_random_pretraining_holds_attention_first_and_all_else_then():
    model = a_model(keys="separate", **SIZES_OF_MODEL)
    moved = moved_in_each_phase(model, RandomPretraining(epochs=1))
    assert parts(moved["random weights"]) == {"embedding", "encoder", "output"}
    assert parts(moved["attention"]) == {"key_encoder", "alignment"}


def test_without_a_penalty_or_noise_the_compressor_fits_the_labels():
    model = a_model(output="bottleneck:width=4:code_size=3", **SIZES_OF_MODEL)
    batch = a_batch(3, 5)
    trace = model(batch)
    context = attend(trace.hidden, trace.weights)
    with torch.no_grad():
        for layer in model.output.spread:
            for numbers in getattr(layer, "parameters", list)():
                numbers.zero_()
        model.output.spread[-1].bias.fill_(-50.0)  # no noise
        plain = torch.nn.functional.cross_entropy(model.output(context), batch.labels)
        free, weighed = (float(compress(w, Spread())(model, batch, rng())) for w in (0.0, 1.0))
    assert free == pytest.approx(float(plain), rel=1e-3)
    assert weighed > free


def test_vat_says_how_even_attention_is_and_scores_both_heads():
    classifier = fitted(VAT(iterations=1, epochs=1, warm_epochs=1))
    names = [row["name"] for row in classifier.history_]
    assert names == ["warm start", "learner 1", "compressor 1"]
    assert all(0 <= row["notes"]["attention_entropy"] <= 1 + 1e-6 for row in classifier.history_)
    assert all("dev_accuracy" in row for row in classifier.history_)
    assert "learner" in classifier.trained_.metrics["dev"]


def test_vat_of_fewer_iterations_is_the_beginning_of_vat_of_more():
    few, more = (fitted(VAT(iterations=n, epochs=1, warm_epochs=1)).history_ for n in (1, 2))
    seen = ("name", "train_loss", "dev_accuracy", "dev_loss")
    rows = [[{name: row[name] for name in seen} for row in history] for history in (few, more)]
    assert len(few) == 3
    assert rows[0] == rows[1][: len(few)]


def test_annealing_goes_from_the_first_weight_to_the_last():
    recipe = VAT(compression_weight=0.1, annealed_from=1.0, iterations=4)
    assert [round(recipe._weight(n), 6) for n in range(4)] == [1.0, 0.7, 0.4, 0.1]


def test_neutral_weights_leave_attention_its_own_gradient_unless_asked():
    model, batch = a_model(), a_batch(3, 5, 4)
    counted = torch.tensor([0.5, 2.0, 1.3], dtype=torch.float64)

    def gradients(recipe, weights):
        model.zero_grad()
        recipe.loss(model, batch, weights).backward()
        return (
            model.alignment.outer.weight.grad.clone(),
            model.output.linear.weight.grad.clone(),
        )

    ones = torch.ones_like(counted)
    held = MaskNeutral()
    attention, output = gradients(held, counted)
    plain_attention, plain_output = gradients(held, ones)
    torch.testing.assert_close(attention, plain_attention)
    assert not torch.allclose(output, plain_output)
    weighed = MaskNeutral(weighs_attention=True)
    assert not torch.allclose(gradients(weighed, counted)[0], plain_attention)
    torch.testing.assert_close(gradients(weighed, counted)[1], output)


def test_mask_neutral_notes_how_many_documents_the_weights_are_worth():
    history = fitted("mask-neutral:epochs=2").history_
    assert all(0 < row["notes"]["effective_documents"] <= len(TEXTS) + 1e-6 for row in history)


def test_the_adversary_is_measured_as_the_audit_measures():
    from heedful.auditing.metrics.divergence import js_divergence, kl_divergence

    with torch.no_grad():
        ours, theirs = (a_model(seed=s)(a_batch(4, 6, 2)) for s in (1, 2))
    one, other = ours.weights.numpy(), theirs.weights.numpy()
    for found, expected in ((jsd, js_divergence), (kl, kl_divergence)):
        distance = found(ours.weights, theirs.weights)
        np.testing.assert_allclose(distance, expected(one, other), atol=1e-8)
    difference = (ours.logits.softmax(-1) - theirs.logits.softmax(-1)).abs().sum(-1) / 2
    torch.testing.assert_close(tvd(ours, theirs), difference)
    assert float(tvd(ours, ours).max()) == 0
    assert float(kl(ours.weights, ours.weights).abs().max()) < 1e-12


def test_an_adversary_answers_alike_and_looks_elsewhere():
    recipe = Adversary(adversary_weight=0.05, epochs=40)
    corpus = Planted(documents=400)()
    options = {
        **SIZES, "dropout": 0.0, "split": "spaces", "optimizer": "adam:learning_rate=0.02"
    }  # fmt: skip
    classifier = heedful.Classifier(recipe=recipe, **options)
    classifier.fit(corpus.train.texts, corpus.train.labels)
    first, last = (classifier.history_[n]["notes"] for n in (0, -1))
    assert last["jsd"] > 0.05
    assert last["jsd"] > first["jsd"]
    assert last["tvd"] < 0.2
    assert classifier.trained_.metrics["dev"]["jsd_from_base"] > 0.05
    # a weight of nothing leaves only imitation
    imitator = heedful.Classifier(recipe=Adversary(adversary_weight=0.0, epochs=40), **options)
    imitator.fit(corpus.train.texts, corpus.train.labels)
    assert imitator.history_[-1]["notes"]["jsd"] < last["jsd"]


def test_a_selector_chooses_k_words_and_learns_the_answers_of_its_base():
    classifier = fitted(Selector(epochs=8), projection="k-hot:k=2", dropout=0.0)
    for found in classifier.attention(TEXTS[:4]):
        assert (found.weights > 0).sum() == 2
    assert 0 <= classifier.trained_.metrics["dev"]["agreement_with_base"] <= 1
    with pytest.raises(ConfigError, match="chooses k words"):
        fitted(Selector(epochs=1), projection="sparsemax")


def test_a_model_under_anothers_attention_has_its_weights():
    base, model, batch = a_model(seed=1), a_model(seed=2, encoder="mlp"), a_batch(3, 5)
    trace = UnderAttentionOf(base, model)(batch)
    torch.testing.assert_close(trace.weights, base(batch).weights)
    torch.testing.assert_close(trace.logits, model.decide(model(batch).hidden, trace.weights))


def test_what_a_recipe_wants_holds_unless_the_user_says_otherwise(tmp_path):
    from heedful.training.settings import Settings

    assert Settings().with_(recipe="random-pretraining").model.keys == "separate"
    assert Settings().with_(recipe="random-pretraining", keys="shared").model.keys == "shared"
    shared = Settings().with_(recipe="random-pretraining", keys="shared")
    assert shared.with_(recipe="random-pretraining:epochs=2").model.keys == "shared"
    with pytest.raises(ConfigError, match="needs its own encoder"):
        a_fit(Settings().with_(recipe="random-pretraining", keys="shared", **SIZES))
    with pytest.raises(ConfigError, match="bottleneck"):
        a_fit(Settings().with_(recipe="vat", output="linear", **SIZES))


def test_whoever_chooses_sizes_keeps_them():
    from heedful.training.settings import Settings, profiles

    assert Settings().with_(recipe="tying").model.embedding_size == 300
    chosen = Settings().with_(recipe="tying", encoder="lstm:hidden_size=100")
    assert chosen.model.embedding_size == 100
    assert profiles["sun-lu"]().with_(recipe="tying").model == profiles["sun-lu"]().model


def a_fit(settings):
    from heedful.training.task import Labelled, Task
    from heedful.training.train import train

    numbers = np.array([int(label == "p") for label in LABELS])
    part = Labelled(TEXTS, numbers)
    nothing = Labelled([], np.empty(0, np.int64))
    return train(Task(("n", "p"), part, part, nothing, {"name": "here"}), settings)


def test_a_base_of_another_vocabulary_is_refused(tmp_path):
    other = heedful.Classifier(**SIZES).fit(["one two", "three four"] * 10, ["p", "n"] * 10)
    other.save(tmp_path / "other")
    with pytest.raises(ConfigError, match="another vocabulary"):
        fitted(Adversary(base=str(tmp_path / "other"), epochs=1))


@pytest.mark.parametrize("looks_there", [False, True])
def test_deceptive_looks_away_from_the_given_words_or_at_nothing_else(looks_there):
    from heedful.training.recipes.deceptive import Deceptive

    classifier = fitted(
        Deceptive(
            words=("film", "plot"), deception_weight=3.0, looks_there=looks_there, epochs=25
        ),
        dropout=0.0, optimizer="adam:learning_rate=0.05",
    )  # fmt: skip
    mass = [
        sum(w for word, w in zip(a.words, a.weights, strict=True) if word in ("film", "plot"))
        for a in classifier.attention(TEXTS[:4])
    ]
    assert min(mass) > 0.9 if looks_there else max(mass) < 0.1
    with pytest.raises(ConfigError, match="cannot avoid 'zebra'"):
        fitted(Deceptive(words=("zebra",), epochs=1))


def test_tying_notes_the_lengths_of_states_and_embeddings():
    history = fitted("tying:epochs=2", encoder="lstm:hidden_size=6").history_
    assert all(row["notes"].keys() == {"hidden_norm", "embedded_norm"} for row in history)
    assert all(value > 0 for row in history for value in row["notes"].values())
