"""The encoder `votes`: words speak for themselves, and the whole text decides who is heard."""

import pytest
import torch

import heedful
from heedful.errors import ConfigError
from heedful.model.encoders import encoders
from heedful.training.settings import Settings
from tests.importance.models import a_batch, a_model

SIZES = {"encoder": "votes:votes=3:filters=5", "keys": "bilstm:hidden_size=4"}


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_logits_are_the_sum_of_weight_times_vote_plus_the_bias(classes):
    model, batch = a_model(classes=classes, **SIZES), a_batch(6, 3, 1)
    trace = model(batch)
    linear = model.output.linear
    of_each = trace.hidden @ linear.weight.t()  # what each word says, before it is weighed
    said = (trace.weights.unsqueeze(-1) * of_each).sum(dim=1) + linear.bias
    expected = torch.cat([-said, said], dim=1) / 2 if classes == 2 else said
    torch.testing.assert_close(trace.logits, expected)


@pytest.mark.parametrize(("widths", "reach"), [("1", 0), ("3", 1), ("1+5", 2)])
def test_a_vote_depends_on_the_words_of_its_window_and_no_others(widths, reach):
    model, batch = a_model(encoder=f"votes:kernel_sizes={widths}"), a_batch(9)
    embedded = model.embed(batch).detach()
    changed = embedded.clone()
    changed[0, 4] += 1.0
    before, after = (model.read(words, batch.is_token) for words in (embedded, changed))
    moved = (after.hidden - before.hidden).abs().amax(dim=-1)[0] > 1e-12
    assert moved.nonzero().flatten().tolist() == list(range(4 - reach, 5 + reach))
    assert ((after.scores - before.scores).abs()[0] > 1e-12).all()  # the keys have read all words


def test_neighbours_may_turn_a_vote_and_do_not_cast_it():
    model, batch = a_model(encoder="votes"), a_batch(5)
    encoder = model.encoder
    with torch.no_grad():
        encoder.vote.bias.zero_()
        encoder.own.convolutions[0].bias.zero_()
        words = model.embed(batch).detach()
        mute = words.index_fill(1, torch.tensor([2]), 0.0)  # a word that has nothing to say
        assert not encoder(mute, batch.is_token)[0, 2].any()
        encoder.turn.bias.fill_(-1e3)
        turned = encoder(words, batch.is_token)
        encoder.turn.bias.fill_(1e3)
        torch.testing.assert_close(encoder(words, batch.is_token), -turned)


def test_no_vote_is_louder_than_one():
    torch.manual_seed(0)
    encoder = encoders.make("votes").build(4)
    words = 1e4 * torch.randn(2, 5, 4)
    assert encoder(words, torch.ones(2, 5, dtype=torch.bool)).abs().max() <= 1


def test_it_brings_keys_that_have_read_the_text_unless_others_are_given():
    assert Settings().with_(encoder="votes").model.keys == "bilstm"
    for keys in ("shared", "separate", "gru:hidden_size=8"):
        assert Settings().with_(encoder="votes", keys=keys).model.keys == keys
    assert Settings().with_(encoder="votes").with_(encoder="mlp") == Settings().with_(encoder="mlp")


@pytest.mark.parametrize("wrong", ["votes=0", "filters=0", "kernel_sizes=2", "kernel_sizes="])
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(ConfigError, match=wrong.partition("=")[0]):
        encoders.make(f"votes:{wrong}")


@pytest.mark.parametrize("recipe", ["standard", "faithful", "vat", "random-pretraining"])
def test_it_trains_and_a_saved_run_answers_and_explains_alike(tmp_path, recipe):
    texts = ["good fine film", "bad poor film", "some other film"] * 8
    labels = ["p", "n", "o"] * 8
    classifier = heedful.Classifier(
        encoder="votes:votes=3:filters=8", keys="bilstm:hidden_size=4", embedding_size=8,
        recipe=f"{recipe}:epochs=2", min_documents=1, patience=None,
    )  # fmt: skip
    classifier.fit(texts, labels, dev=(texts, labels))
    classifier.save(tmp_path / "run")
    loaded = heedful.Classifier.load(tmp_path / "run")
    assert loaded.predict_proba(texts[:3]) == pytest.approx(classifier.predict_proba(texts[:3]))
    ours, theirs = (c.explain(texts[0]).to_dict() for c in (classifier, loaded))
    assert ours == theirs
