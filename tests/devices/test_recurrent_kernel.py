"""The kernel of `benchmarks/recurrent_kernel.py` finds what the loop of steps finds.

    TRITON_INTERPRET=1 pytest tests/devices/test_recurrent_kernel.py

Only in Triton's interpreter: on a GPU, models of 128 units end with an illegal memory access.
"""

import os

import pytest
import torch

from heedful.importance.recurrent import pairs_without_each_word, recurrent_part
from heedful.model.precision import in_full
from heedful.model.sight import Sight
from tests.importance.models import a_batch, a_model

if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs TRITON_INTERPRET=1", allow_module_level=True)
kernel = pytest.importorskip("benchmarks.recurrent_kernel", exc_type=ImportError)

CLOSE = {True: 1e-5, False: 1e-3}  # in full, rounded
BLOCKS = kernel.Blocks(16, 2, whole_rows=2)  # the interpreter takes no notice of what a GPU needs
LENGTHS = (12, 12, 9, 8, 2, 1, 1)  # neither documents nor words fill their blocks


def a_case(*lengths, **changes):
    """A recurrent model's layers and sight, embedded documents, and which are tokens."""
    model, batch = a_model(**changes).float(), a_batch(*lengths)
    embedded = model.embed(batch).detach()
    encoder = recurrent_part(model)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    # They come sorted by length: not so here.
    return layers, Sight(model), embedded.roll(1, 0), batch.is_token.roll(1, 0)


def of_words(pairs, is_token):
    """Pairs of two different words."""
    others = ~torch.eye(is_token.shape[1], dtype=torch.bool)
    return pairs[is_token.unsqueeze(1) & is_token.unsqueeze(2) & others]


def assert_same(case, is_exact=True, blocks=BLOCKS):
    with torch.no_grad(), in_full():
        expected = of_words(pairs_without_each_word(*case), case[-1])
        found = kernel.pairs_by_kernel(*case, blocks, is_exact)
    assert found.isfinite().all()
    torch.testing.assert_close(of_words(found, case[-1]), expected, atol=CLOSE[is_exact], rtol=0)


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("alignment", ["additive", "dot"])
@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=5", "lstm:hidden_size=16"])
def test_pairs_are_those_of_the_steps(encoder, alignment, is_exact):
    assert_same(a_case(*LENGTHS, encoder=encoder, alignment=alignment), is_exact)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("skip", ["concat", "residual"])
def test_pairs_are_those_of_the_steps_with_embeddings_joined(skip, classes):
    assert_same(a_case(7, 4, classes=classes, encoder=f"bilstm:hidden_size=3:skip={skip}"))


@pytest.mark.parametrize("hidden_size", [1, 17, 20, 128])
def test_any_number_of_units_is_filled_up(hidden_size):
    assert_same(a_case(5, 3, encoder=f"bilstm:hidden_size={hidden_size}"))


@pytest.mark.parametrize("lengths", [(1,), (2,), (1, 1, 1), (3, 9, 1, 5), (9, 8)])
def test_documents_come_in_any_order_and_may_be_one_word(lengths):
    assert_same(a_case(*lengths, encoder="bilstm:hidden_size=4"))


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize(("rows", "documents"), [(16, 1), (16, 4), (32, 2)])
def test_blocks_of_any_size_find_the_same(rows, documents, is_kept):
    blocks = kernel.Blocks(rows, documents, 4, is_kept, whole_rows=4)
    assert_same(a_case(*LENGTHS, encoder="bilstm:hidden_size=4"), blocks=blocks)


def test_words_that_are_remembered_are_found_to_the_end():
    layers, *others = a_case(20, 20, 11, encoder="bilstm:hidden_size=8")
    for layer in layers:
        layer.bias_hh_l0.data[8:16] = 8.0  # its gates keep
        layer.weight_hh_l0.data.mul_(3)
    assert_same((layers, *others))


def test_large_weights_saturate_and_give_finite_numbers():
    layers, *others = a_case(6, 5, encoder="bilstm:hidden_size=4")
    for layer in layers:
        for weight in layer.parameters():
            weight.data.mul_(200)
    assert_same((layers, *others))


def test_what_is_no_number_stays_none():
    layers, *others = a_case(4, 4, encoder="lstm:hidden_size=4")
    layers[0].weight_hh_l0.data[:] = torch.nan
    with torch.no_grad():
        found = kernel.pairs_by_kernel(layers, *others, BLOCKS)
    assert found[0, 0, 2:].isnan().all()


def test_its_check_sees_a_kernel_that_finds_something_else(monkeypatch):
    case = a_case(3, 2, encoder="lstm:hidden_size=4")[:3]
    usual = kernel.pairs_by_kernel

    def small(*given):
        return usual(*given, blocks=BLOCKS)

    with torch.no_grad(), in_full():
        monkeypatch.setattr(kernel, "pairs_by_kernel", small)
        assert kernel.agrees(*case)
        monkeypatch.setattr(kernel, "pairs_by_kernel", lambda *given: small(*given) + 0.01)
        assert not kernel.agrees(*case)
