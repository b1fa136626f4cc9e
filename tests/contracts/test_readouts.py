"""Rules that every readout keeps, new ones included."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from heedful.readouts import Attended, readouts
from heedful.readouts.pooling import SPECIAL, pool_to_words

DOCUMENTS, LAYERS, HEADS, POSITIONS, SIZE = 2, 3, 4, 5, 8
every_readout = pytest.mark.parametrize("name", readouts)


def a_pass_through_a_model() -> Attended:
    rng = torch.Generator().manual_seed(3)
    square = (DOCUMENTS, HEADS, POSITIONS, POSITIONS)
    layers = [torch.randn(square, generator=rng).softmax(dim=-1) for _ in range(LAYERS)]
    slopes = [torch.randn(square, generator=rng) for _ in range(LAYERS)]
    values = [torch.randn(*square[:3], SIZE, generator=rng) for _ in range(LAYERS)]
    is_read = torch.zeros(DOCUMENTS, POSITIONS, dtype=torch.bool)
    is_read[:, 0] = True
    return Attended(layers, is_read, values, slopes)


def padded(attended: Attended, more: int) -> Attended:
    """The same with positions that nobody attends to and that attend to whatever they like."""

    def wider(layer: Tensor) -> Tensor:
        layer = pad(layer, (0, more, 0, more))
        layer[:, :, -more:] = 1 / layer.shape[-1]
        return layer

    return Attended(
        [wider(layer) for layer in attended.weights],
        pad(attended.is_read, (0, more)),
        [pad(values, (0, 0, 0, more), value=9.0) for values in attended.values],
        [pad(slopes, (0, more, 0, more), value=9.0) for slopes in attended.gradients],
    )


@every_readout
def test_each_position_gets_a_number_of_at_least_0(name):
    found = readouts.make(name)(a_pass_through_a_model())
    assert found.shape == (DOCUMENTS, POSITIONS)
    assert (found >= 0).all()
    assert found.isfinite().all()


@every_readout
def test_weights_of_words_sum_to_1_and_special_positions_have_none(name):
    found = readouts.make(name)(a_pass_through_a_model())
    word_of = torch.tensor([[SPECIAL, 0, 1, 1, SPECIAL], [SPECIAL, 0, SPECIAL, SPECIAL, SPECIAL]])
    words = pool_to_words(found, word_of, 2)
    torch.testing.assert_close(words.sum(dim=1), torch.ones(DOCUMENTS, dtype=torch.float64))
    assert words[1].tolist() == [1.0, 0.0]


@every_readout
def test_padding_gets_nothing_and_changes_nothing(name):
    readout, bare = readouts.make(name), a_pass_through_a_model()
    with_padding = readout(padded(bare, 2))
    torch.testing.assert_close(with_padding[:, :POSITIONS], readout(bare))
    assert (with_padding[:, POSITIONS:] == 0).all()


@every_readout
def test_neighbours_in_the_batch_change_nothing(name):
    readout, both = readouts.make(name), a_pass_through_a_model()
    second = Attended(
        [layer[1:] for layer in both.weights],
        both.is_read[1:],
        [values[1:] for values in both.values],
        [slopes[1:] for slopes in both.gradients],
    )
    torch.testing.assert_close(readout(second), readout(both)[1:])


@every_readout
def test_a_readout_looks_at_layers_and_heads_that_exist_and_at_no_others(name):
    readout, seen = readouts.make(name), a_pass_through_a_model()
    layers, heads = readout.layers(LAYERS), readout.heads(HEADS)
    assert set(layers) <= set(range(LAYERS))
    assert set(heads) <= set(range(HEADS))
    assert layers
    assert heads
    for number in range(LAYERS):
        for head in range(HEADS):
            other = [layer.clone() for layer in seen.weights]
            other[number][:, head] = 1 / POSITIONS
            is_seen = number in layers and head in heads
            same = torch.equal(readout(replace(seen, weights=other)), readout(seen))
            assert same == (not is_seen)


@every_readout
def test_a_readout_says_whether_it_needs_values_and_gradients(name):
    readout, whole = readouts.make(name), a_pass_through_a_model()
    needed = Attended(
        whole.weights,
        whole.is_read,
        whole.values if readout.needs_values else (),
        whole.gradients if readout.needs_gradients else (),
    )
    torch.testing.assert_close(readout(needed), readout(whole))
