"""Rules that every importance measure keeps, new ones included."""

import pytest
import torch

from heedful.importance import Need, importances
from tests.importance.models import a_batch, a_model, predicted

# Readings of layers are of Hugging Face models: tests/importance/test_layers.py.
MEASURES = [name for name in importances if Need.LAYERS not in importances[name].needs]
every_measure = pytest.mark.parametrize("name", MEASURES)
ENCODERS = ["embedding", "bilstm", "transformer"]


def encoder_for(name: str, encoder: str = "bilstm") -> str:
    """The encoder, or a pretrained one for measures that hold its layers."""
    return "pretrained" if Need.HELD_LAYERS in importances[name].needs else encoder


@every_measure
@pytest.mark.parametrize("encoder", ENCODERS)
def test_one_finite_score_per_token_and_zero_on_padding(name, encoder):
    model, batch = a_model(encoder=encoder_for(name, encoder)), a_batch(6, 3, 1)
    scores = importances.make(name)(model, batch, predicted(model, batch))
    assert scores.shape == batch.token_ids.shape
    assert scores.isfinite().all()
    assert (scores[~batch.is_token] == 0).all()
    assert not scores.requires_grad


@every_measure
@pytest.mark.parametrize("encoder", ENCODERS)
def test_neighbours_in_the_batch_change_nothing(name, encoder):
    model, batch = a_model(encoder=encoder_for(name, encoder)), a_batch(6, 3)
    target = predicted(model, batch)
    together = importances.make(name)(model, batch, target)
    alone = a_batch(3)
    object.__setattr__(alone, "token_ids", batch.token_ids[1:, :3])
    object.__setattr__(alone, "piece_ids", batch.piece_ids[1:, :3])
    object.__setattr__(alone, "indices", batch.indices[1:])
    single = importances.make(name)(model, alone, target[1:])
    torch.testing.assert_close(together[1:, :3], single, atol=1e-9, rtol=1e-6)


@every_measure
def test_the_model_is_left_as_it_was(name):
    model, batch = a_model(encoder=encoder_for(name)), a_batch(5, 2)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    for is_training in (True, False):
        model.train(is_training)
        importances.make(name)(model, batch, torch.zeros(2, dtype=torch.long))
        assert model.training == is_training
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


@every_measure
def test_with_two_classes_the_other_target_turns_the_sign(name):
    model, batch = a_model(encoder=encoder_for(name)), a_batch(5, 2)
    ones = torch.ones(2, dtype=torch.long)
    for_one = importances.make(name)(model, batch, ones)
    for_zero = importances.make(name)(model, batch, 1 - ones)
    has_no_sign = name in {"attention", "attention-score", "random"} or name.endswith("norm")
    torch.testing.assert_close(for_zero, for_one if has_no_sign else -for_one)
