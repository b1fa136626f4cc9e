import numpy as np
import pytest
import torch

from heedful.importance.deletion import logits_without_each
from heedful.model.inference_math import _rounded_up, linear
from heedful.model.recurrence import LSTMSteps
from heedful.model.word_subsets import logits_of_kept, logits_of_shortened
from tests.importance.models import a_batch, a_model


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("precision", "spread", "off"), [
    (torch.float64, 1.5, 1e-12),  # gates from closed to open
    (torch.float32, 0.2, 1e-6),
])  # fmt: skip
def test_a_step_written_over_the_state_is_the_step_with_gradients(seed, precision, spread, off):
    torch.manual_seed(seed)
    layer = torch.nn.LSTM(7, 16, dtype=precision)
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, std=spread)
    steps = LSTMSteps(layer)
    rows = int(torch.randint(1, 40, ()))
    inputs = torch.randn(12, rows, 7, dtype=precision)
    state = (torch.zeros(rows, 16, dtype=precision), torch.zeros(rows, 16, dtype=precision))
    with torch.no_grad():
        overwritten = tuple(part.clone() for part in state)
        for product in steps.products(inputs):
            state = steps.step(product, state)
            steps.advance(product, overwritten)
            torch.testing.assert_close(overwritten, state, atol=off, rtol=0)
        expected = layer(inputs)[0][-1]
    torch.testing.assert_close(overwritten[0], expected, atol=off, rtol=0)


SHAPES = [(1,), (31,), (32,), (33,), (400,), (7, 9), (3, 4, 5), (4096,), (4097,)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_the_linear_map_is_pytorchs(shape, has_bias, precision):
    torch.manual_seed(len(shape))
    rows, weight = torch.randn(*shape, 33, dtype=precision), torch.randn(20, 33, dtype=precision)
    bias = torch.randn(20, dtype=precision) if has_bias else None
    expected = torch.nn.functional.linear(rows, weight, bias)
    with torch.no_grad():
        torch.testing.assert_close(linear(rows, weight, bias), expected)
        torch.testing.assert_close(linear(rows[:0], weight, bias), expected[:0])


def test_the_linear_map_of_parts_of_rows_is_pytorchs():
    rows, weight = torch.randn(6, 50, 40)[1:5], torch.randn(16, 40)
    with torch.no_grad():
        for first, second in ((rows[..., 8:], weight[:, 8:]), (rows.transpose(0, 1), weight)):
            expected = torch.nn.functional.linear(first, second)
            torch.testing.assert_close(linear(first, second), expected)


def test_the_linear_map_passes_gradients_on():
    rows, weight = torch.randn(50, 4, requires_grad=True), torch.randn(3, 4)
    linear(rows, weight).sum().backward()
    torch.testing.assert_close(rows.grad, weight.sum(dim=0).expand(50, 4))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=24", "lstm:hidden_size=40"])
@pytest.mark.parametrize("alignment", ["additive", "dot"])
def test_in_single_precision_deleting_words_is_reading_what_is_left(seed, encoder, alignment):
    torch.manual_seed(seed)
    model = a_model(encoder=encoder, alignment=alignment).float()
    batch, rng = a_batch(30, 23, 17, 5, 2), np.random.default_rng(seed)
    document = rng.integers(0, 5, 300)
    is_kept = rng.random((300, 30)) < rng.random((300, 1))
    is_kept &= batch.is_token.numpy()[document]
    is_kept[is_kept.sum(axis=1) == 0, 0] = True
    with torch.no_grad():
        fast = logits_of_kept(model, batch, document, is_kept)
        plain = logits_of_shortened(model, batch, document, is_kept)
        torch.testing.assert_close(fast.softmax(-1), plain.softmax(-1), atol=1e-6, rtol=0)
        rows, places = batch.is_token.nonzero(as_tuple=True)
        without = batch.is_token[rows]
        without[torch.arange(len(rows)), places] = False
        fast = logits_without_each(model, batch)[rows, places]
        plain = logits_of_shortened(model, batch, rows.numpy(), without.numpy())
        torch.testing.assert_close(fast.softmax(-1), plain.softmax(-1), atol=1e-6, rtol=0)


def test_few_numbers_of_rows_are_ever_multiplied():
    found = [_rounded_up(count) for count in range(32, 4097)]
    assert all(count <= up <= 1.25 * count for count, up in enumerate(found, start=32))
    assert len(set(found)) == 29
    assert found[:5] == [32, 40, 40, 40, 40]
