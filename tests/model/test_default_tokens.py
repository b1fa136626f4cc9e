import pytest
import torch

from heedful.errors import ConfigError
from heedful.model.build import build_model
from heedful.model.default_tokens import blindfold
from heedful.model.encoders import encoders
from heedful.model.projections import projections
from heedful.training.settings import Settings
from tests.model.test_classifier import a_batch


def a_model(tokens=4, encoder="embedding", projection="softmax", seed=3, dropout=0.0):
    settings = Settings().with_(encoder=encoder, pooling="mean", embedding_size=8, dropout=dropout)
    ordinary = build_model(settings.model, vocabulary=20, classes=2, seed=seed)
    mask = projections.make(projection)
    return blindfold(ordinary, tokens, settings.model.alignment, mask, seed=seed)


@pytest.mark.parametrize("encoder", [e for e in encoders if e != "pretrained"])
@pytest.mark.parametrize("projection", ["softmax", "k-hot:k=1"])
def test_a_mask_has_one_weight_per_default_token_whatever_the_text(encoder, projection):
    model, batch = a_model(5, encoder, projection), a_batch(6, 3, 1)
    trace = model(batch)
    assert trace.weights.shape == (3, 5) == model.places(batch).shape
    assert model.places(batch).all()
    torch.testing.assert_close(trace.weights.sum(dim=1), torch.ones(3))


def test_nothing_of_the_text_reaches_the_decision_but_the_weights():
    model, batch = a_model(), a_batch(6, 4)
    trace = model(batch)
    assert not torch.equal(trace.weights[0], trace.weights[1])
    assert torch.equal(trace.hidden[0], trace.hidden[1])
    model.decide(trace.hidden, trace.weights.detach()).sum().backward()
    learnt = {name for name, p in model.named_parameters() if p.grad is not None}
    assert learnt == {"values.weight", "output.linear.weight", "output.linear.bias"}


def test_padding_changes_no_mask():
    model = a_model(encoder="bilstm:hidden_size=4")
    both, alone = a_batch(3, 6), a_batch(3)  # longest first
    assert torch.equal(both.token_ids[1:, :3], alone.token_ids)
    torch.testing.assert_close(model(both).weights[1:], model(alone).weights)


def test_attention_and_values_share_no_parameter_and_leave_none_out():
    model = a_model()
    parts = [
        {p for part in parts for p in part.parameters()}
        for parts in (model.attention_parts, model.value_parts)
    ]
    assert not parts[0] & parts[1]
    assert parts[0] | parts[1] == set(model.parameters())


def test_dropout_works_whichever_half_learns():
    model = a_model(dropout=0.5)
    for parts in (model.attention_parts, model.value_parts):
        assert model.dropout in parts


def test_the_same_model_can_be_seen_with_another_projection():
    model, batch = a_model(), a_batch(6, 4)
    other = model.seen_with(projection=projections["uniform"])
    torch.testing.assert_close(other(batch).weights, torch.full((2, 4), 0.25))
    assert set(other.parameters()) == set(model.parameters())
    assert other.dropout is model.dropout


def test_the_seed_decides_every_initial_value():
    first, again, other = a_model(seed=1), a_model(seed=1), a_model(seed=2)
    for name, value in first.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    assert not torch.equal(first.values.weight, other.values.weight)
    assert not torch.equal(first.values.weight, first.keys.weight)


@pytest.mark.parametrize("tokens", [1, 65])
def test_too_few_or_too_many_tokens_are_refused(tokens):
    with pytest.raises(ConfigError, match=f"tokens should be from 2 to below 65, not {tokens}"):
        a_model(tokens)
