import pytest
import torch

from heedful.errors import ConfigError
from heedful.model.build import ModelSettings, build_model
from heedful.training.settings import Settings
from tests.model.tiny_pretrained import tiny_source


def built(**changes):
    settings = Settings().with_(embedding_size=8, **changes).model
    return build_model(settings, 30, 3, seed=1, pretrained=tiny_source())


@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=20", "orthogonal-lstm:hidden_size=20"])
@pytest.mark.parametrize("output", ["linear", "mlp", "bottleneck"])
def test_weights_start_within_their_bound_and_word_vectors_keep_theirs(encoder, output):
    model = built(encoder=encoder, output=output, weight_bound=0.3, embedding_bound=2.0)
    for name, weights in model.named_parameters():
        bound = 2.0 if name.startswith("embedding") else 0.3
        assert float(weights.detach().abs().max()) <= bound, name
        if weights.numel() > 200:  # uniform: the middle half holds about half of the values
            assert float((weights.detach().abs() < bound / 2).double().mean()) == pytest.approx(
                0.5, abs=0.15
            ), name


def test_what_was_pretrained_and_what_normalises_keeps_its_values():
    plain, bound = (built(encoder="pretrained", weight_bound=b) for b in (None, 0.01))
    for name, weights in plain.encoder.named_parameters():
        torch.testing.assert_close(bound.encoder.get_parameter(name), weights)
    assert max(float(p.detach().abs().max()) for p in bound.alignment.parameters()) <= 0.01
    transformer = built(encoder="transformer:hidden_size=8:heads=2", weight_bound=0.01)
    norms = [m for m in transformer.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert norms
    assert all((norm.weight == 1).all() for norm in norms)


def test_a_bound_of_weights_is_above_0():
    with pytest.raises(ConfigError, match="weight_bound should be greater than 0, not 0"):
        ModelSettings(weight_bound=0.0)
