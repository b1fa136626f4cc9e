"""The callback, called as the Trainer calls it: by its own CallbackHandler."""

import pytest
import torch
from transformers import TrainerControl, TrainerState
from transformers.trainer_callback import CallbackHandler

from heedful.errors import ConfigError
from heedful.integrations.trainer import FaithfulnessCallback
from tests.integrations.test_metrics import Wandb
from tests.readouts.tiny import planted_documents, tiny_model, tiny_tokenizer

KEYS = {"heedful/decisive/permutation", "heedful/telling/comprehensiveness"}


def epoch_ended(callback, model, tokenizer, state):
    handler = CallbackHandler([callback], model, tokenizer, None, None)
    return handler.on_epoch_end(None, state, TrainerControl())


@pytest.fixture(scope="module")
def model():
    return tiny_model("Bert")


def test_permutation_and_comprehensiveness_are_logged_after_each_epoch(model):
    tracker, state = Wandb(), TrainerState(epoch=1.0, global_step=7)
    callback = FaithfulnessCallback(planted_documents(24), sample=24, tracker=tracker)
    model.train()
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    epoch_ended(callback, model, tiny_tokenizer(), state)
    assert torch.equal(torch.rand(2), expected)  # the training's random numbers are its own
    assert model.training
    (logged,) = state.log_history
    assert set(logged) >= KEYS
    assert logged["step"] == 7
    assert callback.history == [{k: v for k, v in logged.items() if k != "step"}]
    assert tracker.seen == [(7, {k: v for k, v in logged.items() if k.startswith("heedful/")})]
    epoch_ended(callback, model, tiny_tokenizer(), state)
    first, second = state.log_history
    assert first == second  # the same documents, the same model


def test_without_a_tokenizer_the_callback_says_what_it_needs(model):
    callback = FaithfulnessCallback(planted_documents(2))
    with pytest.raises(ConfigError, match="Give the callback the model's tokenizer"):
        epoch_ended(callback, model, None, TrainerState())
