import torch

from heedful.model.outputs import Bottleneck, divergence_from_standard, outputs


def test_the_divergence_is_that_of_torch():
    rng = torch.Generator().manual_seed(0)
    mean = torch.randn(7, 5, generator=rng, dtype=torch.float64)
    spread = torch.rand(7, 5, generator=rng, dtype=torch.float64) + 0.1
    ours = divergence_from_standard(mean, spread)
    codes, standard = torch.distributions.Normal(mean, spread), torch.distributions.Normal(0.0, 1.0)
    theirs = torch.distributions.kl_divergence(codes, standard).sum(dim=-1)
    torch.testing.assert_close(ours, theirs)
    none = divergence_from_standard(torch.zeros(1, 3), torch.ones(1, 3))
    torch.testing.assert_close(none, torch.zeros(1))


def test_a_bottleneck_reads_the_mean_code_and_its_spread_is_above_0():
    output = Bottleneck(width=6, code_size=4).build(5, classes=3, has_bias=True)
    context = torch.randn(8, 5, generator=torch.Generator().manual_seed(1)) * 50
    mean, spread = output.encode(context)
    assert mean.shape == spread.shape == (8, 4)
    assert float(spread.detach().min()) > 0
    torch.testing.assert_close(output(context), output.decoder(mean))
    assert output.learner(context).shape == (8, 3)


def test_an_mlp_is_the_head_of_vats_learner():
    mlp = outputs.make("mlp:width=4").build(5, classes=2, has_bias=True)
    learner = Bottleneck(width=4).build(5, classes=2, has_bias=True).learner
    assert str(mlp) == str(learner)
    context = torch.randn(8, 5, generator=torch.Generator().manual_seed(1))
    mlp.load_state_dict(learner.state_dict())
    torch.testing.assert_close(mlp(context), learner(context))
