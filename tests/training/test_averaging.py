import pytest
import torch
from torch import nn

from heedful.training.averaging import WeightAverage


def learner() -> nn.Linear:
    return nn.Linear(3, 2).double()


def walk(module: nn.Linear, average: WeightAverage, steps: int) -> list[torch.Tensor]:
    """Change the weights step by step, averaging as in training; what they were after each."""
    rng = torch.Generator().manual_seed(0)
    seen = []
    for _ in range(steps):
        with torch.no_grad():
            module.weight.copy_(torch.randn(2, 3, generator=rng, dtype=torch.float64))
        average.update()
        seen.append(module.weight.detach().clone())
    return seen


@pytest.mark.parametrize("steps", [5.0, 50.0])
def test_up_to_its_length_the_average_is_the_plain_mean(steps):
    module = learner()
    average = WeightAverage(module, steps)
    seen = walk(module, average, 5)
    torch.testing.assert_close(average.average["weight"], torch.stack(seen).mean(dim=0))


def test_an_average_over_one_step_is_the_last_step():
    module = learner()
    average = WeightAverage(module, 1.0)
    seen = walk(module, average, 4)
    torch.testing.assert_close(average.average["weight"], seen[-1])


def test_beyond_its_length_earlier_steps_fade():
    # 1/2 each after two steps; then average + (now - average) / 2
    module = learner()
    average = WeightAverage(module, 2.0)
    seen = walk(module, average, 4)
    first, second, third, fourth = seen
    expected = (first + second) / 8 + third / 4 + fourth / 2
    torch.testing.assert_close(average.average["weight"], expected)


def test_the_weights_are_the_average_only_while_it_is_in_place():
    module = learner()
    average = WeightAverage(module, 10.0)
    seen = walk(module, average, 3)
    with average.in_place():
        torch.testing.assert_close(module.weight, torch.stack(seen).mean(dim=0), check_dtype=False)
    torch.testing.assert_close(module.weight.detach(), seen[-1])
    average.adopt()
    torch.testing.assert_close(module.weight.detach(), torch.stack(seen).mean(dim=0))


def test_what_does_not_learn_is_not_averaged():
    module = learner()
    module.bias.requires_grad_(False)
    assert set(WeightAverage(module, 10.0).average) == {"weight"}
