"""The kernel finds what the loop of steps finds: on a GPU, or anywhere in Triton's interpreter.

Without a GPU: `TRITON_INTERPRET=1 pytest tests/devices/test_recurrent_kernel.py`, where Triton is.
"""

import os

import numpy as np
import pytest
import torch

from heedful.importance import recurrent
from heedful.importance.deletion import logits_without_each
from heedful.model.precision import in_full
from heedful.model.recurrent_steps import pairs_by_steps
from heedful.model.sight import Sight
from heedful.model.word_subsets import logits_of_shortened
from tests.importance.models import a_batch, a_model

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
IS_INTERPRETED = DEVICE == "cpu"
if IS_INTERPRETED and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("there is no CUDA device", allow_module_level=True)
kernel = pytest.importorskip("heedful.model.recurrent_kernel", exc_type=ImportError)

pytestmark = pytest.mark.cuda
on_gpu = pytest.mark.skipif(IS_INTERPRETED, reason="there is no CUDA device")
CLOSE = {True: 1e-5, False: 1e-3}  # in full, rounded
# The interpreter takes no notice of what a GPU needs, so its blocks are small.
BLOCKS = kernel.Blocks(16, 2, whole_rows=2) if IS_INTERPRETED else kernel.Blocks()
LENGTHS = (12, 12, 9, 8, 2, 1, 1)  # neither documents nor words fill their blocks


def a_case(*lengths, device=DEVICE, **changes):
    """A recurrent model's layers and sight, embedded documents, and which are tokens."""
    model, batch = a_model(**changes).float().to(device), a_batch(*lengths)
    embedded = model.embed(batch.to(torch.device(device))).detach()
    encoder = recurrent.recurrent_part(model)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    # They come sorted by length: not so here.
    return layers, Sight(model), embedded.roll(1, 0), batch.is_token.roll(1, 0).to(device)


def of_words(pairs, is_token):
    """Pairs of two different words."""
    others = ~torch.eye(is_token.shape[1], dtype=torch.bool, device=is_token.device)
    return pairs[is_token.unsqueeze(1) & is_token.unsqueeze(2) & others]


def assert_same(case, is_exact=True, blocks=BLOCKS):
    with torch.no_grad(), in_full():
        expected = of_words(pairs_by_steps(*case), case[-1])
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


@pytest.mark.parametrize("hidden_size", [1, 17, 20])
def test_any_number_of_units_is_filled_up(hidden_size):
    assert_same(a_case(5, 3, encoder=f"bilstm:hidden_size={hidden_size}"))


@pytest.mark.parametrize("lengths", [(1,), (2,), (1, 1, 1), (3, 9, 1, 5), (9, 8)])
def test_documents_come_in_any_order_and_may_be_one_word(lengths):
    assert_same(a_case(*lengths, encoder="bilstm:hidden_size=4"))


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize(("rows", "documents"), [(16, 1), (16, 4), (32, 2)])
def test_blocks_of_any_size_find_the_same(rows, documents, is_kept):
    if IS_INTERPRETED:
        blocks = kernel.Blocks(rows, documents, 4, is_kept, whole_rows=4)
    else:
        blocks = kernel.Blocks(4 * rows, 4 * documents, 4, is_kept)
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


def test_a_kernel_that_finds_something_else_is_not_used(monkeypatch):
    case = a_case(3, 2, encoder="lstm:hidden_size=4")[:3]
    usual = kernel.pairs_by_kernel

    def small(*given):
        return usual(*given, blocks=BLOCKS)

    monkeypatch.setattr(kernel, "_WORKING", {})
    with torch.no_grad(), in_full():
        monkeypatch.setattr(kernel, "pairs_by_kernel", small)
        assert kernel._works(*case)
        monkeypatch.setattr(kernel, "pairs_by_kernel", lambda *given: small(*given) + 0.01)
        assert kernel._works(*case)  # it was found to work before

        def fails(*given: object) -> None:
            raise RuntimeError("no C compiler")

        for wrong in (kernel.pairs_by_kernel, fails):
            kernel._WORKING.clear()
            monkeypatch.setattr(kernel, "pairs_by_kernel", wrong)
            assert not kernel._works(*case)


OTHERS = (
    {"encoder": "gru:hidden_size=4"},
    {"encoder": "lstm:hidden_size=129"},
    {"encoder": "lstm:hidden_size=4", "alignment": "additive:width=129"},
    {"encoder": "lstm:hidden_size=4", "classes": 65},
)


@pytest.mark.parametrize("changes", OTHERS)
def test_other_models_are_left_to_the_steps(changes):
    assert kernel._fits(*a_case(3, 2, encoder="lstm:hidden_size=4")[:3])
    assert not kernel._fits(*a_case(3, 2, **changes)[:3])


@pytest.mark.parametrize("weight", [2e4, torch.nan])
def test_weights_that_fp16_does_not_hold_are_left_to_the_steps(weight):
    case = a_case(3, 2, encoder="lstm:hidden_size=4")[:3]
    case[0][0].weight_hh_l0.data[0, 0] = weight
    assert not kernel._fits(*case)


@on_gpu
@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=128", "lstm:hidden_size=100"])
@pytest.mark.parametrize("is_exact", [True, False])
def test_large_models_find_the_same_with_and_without_the_kernel(encoder, is_exact, monkeypatch):
    model = a_model(encoder=encoder, embedding_size=50).float().cuda()
    batch = a_batch(*np.random.default_rng(0).integers(1, 60, 37)).to(torch.device("cuda"))
    used = []
    usual = kernel.pairs_by_kernel
    monkeypatch.setattr(kernel, "pairs_by_kernel", lambda *given: used.append(1) or usual(*given))
    is_token = batch.is_token.cpu().numpy()
    rows, places = is_token.nonzero()
    is_kept = is_token[rows]
    is_kept[np.arange(len(rows)), places] = False

    def probabilities(logits):
        return logits.double().softmax(dim=-1)

    with torch.no_grad(), in_full():
        again = probabilities(logits_of_shortened(model, batch, rows, is_kept))
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=not is_exact):
            found = probabilities(logits_without_each(model, batch))[batch.is_token]
        assert used
        monkeypatch.setattr(recurrent, "_kernel", lambda: None)
        steps = probabilities(logits_without_each(model, batch))[batch.is_token]
    torch.testing.assert_close(found, steps, atol=1e-4, rtol=0)
    torch.testing.assert_close(found, again, atol=1e-4, rtol=0)


@on_gpu
def test_models_are_taken_only_where_the_kernel_does_for_them():
    case = a_case(3, 2, encoder="lstm:hidden_size=4")[:3]
    with torch.no_grad(), in_full():
        assert kernel.can_take(*case)
        assert not kernel.can_take(*a_case(3, 2, encoder="lstm:hidden_size=4", device="cpu")[:3])
        with torch.autocast("cuda", torch.bfloat16):
            assert not kernel.can_take(*case)
