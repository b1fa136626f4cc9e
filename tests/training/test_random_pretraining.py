from functools import partial

import pytest
import torch

from heedful.training.recipes.random_pretraining import dirichlet, random_subset, softmax_noise

LAWS = {
    "softmax-noise": partial(softmax_noise, spread=3.0),
    "k-subset": partial(random_subset, kept=3),
    "dirichlet": partial(dirichlet, concentration=0.5),
}
LENGTHS = torch.tensor([0, 1, 2, 5, 9])
IS_TOKEN = torch.arange(9) < LENGTHS[:, None]


def rng(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("law", LAWS)
def test_draws_are_points_of_the_simplex_over_real_tokens(law):
    weights = LAWS[law](IS_TOKEN, rng())
    assert bool((weights >= 0).all())
    assert bool((weights[~IS_TOKEN] == 0).all())
    torch.testing.assert_close(weights.sum(dim=1), (LENGTHS > 0).float())


@pytest.mark.parametrize("law", LAWS)
def test_the_generator_decides_the_draw(law):
    assert torch.equal(LAWS[law](IS_TOKEN, rng(1)), LAWS[law](IS_TOKEN, rng(1)))
    assert not torch.equal(LAWS[law](IS_TOKEN, rng(1)), LAWS[law](IS_TOKEN, rng(2)))


@pytest.mark.parametrize("law", LAWS)
def test_no_place_is_favoured(law):
    is_token = torch.ones(4000, 4, dtype=torch.bool)
    mean = LAWS[law](is_token, rng()).mean(dim=0)
    torch.testing.assert_close(mean, torch.full((4,), 0.25), atol=0.03, rtol=0)


def test_a_subset_has_the_wanted_size_or_all_there_is():
    chosen = random_subset(IS_TOKEN, rng(), kept=3) > 0
    assert chosen.sum(dim=1).tolist() == [0, 1, 2, 3, 3]
