"""Rules that every optimiser keeps, new ones included."""

import pytest
import torch
from torch import nn

from heedful.errors import ConfigError
from heedful.training.optimizers import ParameterGroup, optimizers

every_optimizer = pytest.mark.parametrize("name", optimizers)


def a_parameter() -> nn.Parameter:
    return nn.Parameter(torch.tensor([2.0, -1.0, 0.5]))


def after_steps(name: str, steps: int, **group: object) -> torch.Tensor:
    """Where a few steps lead that minimise the sum of squares."""
    parameter = a_parameter()
    optimizer = optimizers.make(name).build([ParameterGroup([parameter], **group)])
    for _ in range(steps):
        optimizer.zero_grad()
        parameter.square().sum().backward()
        optimizer.step()
    return parameter.detach()


@every_optimizer
def test_every_step_goes_downhill_on_a_quadratic(name):
    heights = [after_steps(name, steps).square().sum().item() for steps in range(6)]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == len(heights)


@every_optimizer
def test_the_same_steps_lead_to_the_same_place(name):
    assert torch.equal(after_steps(name, 5), after_steps(name, 5))


@every_optimizer
def test_the_first_step_is_as_long_as_the_learning_rate_and_the_speed_say(name):
    def step(spec: str, speed: float = 1.0) -> torch.Tensor:
        return after_steps(f"{spec}:weight_decay=0", 1, speed=speed) - a_parameter().detach()

    one = step(f"{name}:learning_rate=0.01")
    torch.testing.assert_close(step(f"{name}:learning_rate=0.02"), 2 * one, rtol=1e-4, atol=1e-7)
    faster = step(f"{name}:learning_rate=0.01", speed=3.0)
    torch.testing.assert_close(faster, 3 * one, rtol=1e-4, atol=1e-7)


@every_optimizer
def test_weight_decay_pulls_only_on_what_is_decayed(name):
    pulled, left = a_parameter(), a_parameter()
    settings = optimizers.make(f"{name}:weight_decay=0.1")
    groups = [ParameterGroup([pulled]), ParameterGroup([left], is_decayed=False)]
    optimizer = settings.build(groups)
    (0 * pulled + 0 * left).sum().backward()
    optimizer.step()
    torch.testing.assert_close(left.detach(), a_parameter().detach())
    assert (pulled.abs() < a_parameter().abs()).all()


@every_optimizer
def test_a_learning_rate_that_does_not_learn_is_refused(name):
    with pytest.raises(ConfigError, match="learning_rate"):
        optimizers.make(f"{name}:learning_rate=0")
