"""Leave-one-out by kernels finds what the loop of steps finds.

Without a GPU: `make test-kernels`, in Triton's interpreter.
"""

import os

import pytest
import torch

from heedful.importance import recurrent
from heedful.importance.deletion import logits_without_each
from heedful.importance.recurrent import pairs_without_each_word, recurrent_part
from heedful.model.precision import in_full
from heedful.model.sight import Sight
from tests.importance.models import a_batch, a_model

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
IS_INTERPRETED = DEVICE.type == "cpu"
if IS_INTERPRETED and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("there is no CUDA device; `make test-kernels` needs none", allow_module_level=True)
kernels = pytest.importorskip("heedful.model.recurrent_launches", exc_type=ImportError)

pytestmark = pytest.mark.cuda
CLOSE = {True: 1e-5, False: 2e-3}  # in full, rounded
SMALL = kernels.Blocks(*[kernels.Block(16, 16, 16, warps=4) for _ in range(3)])
LENGTHS = (12, 12, 9, 8, 2, 1, 1)  # neither documents nor words fill their blocks


def a_case(*lengths, **changes):
    """A recurrent model's layers and sight, embedded documents, and which are tokens."""
    model, batch = a_model(**changes).float().to(DEVICE), a_batch(*lengths).to(DEVICE)
    embedded = model.embed(batch).detach()
    encoder = recurrent_part(model)
    layers = [layer for layer in (encoder.forwards, encoder.backwards) if layer is not None]
    # They come sorted by length: not so here.
    return layers, Sight(model), embedded.roll(1, 0), batch.is_token.roll(1, 0)


def of_words(pairs, is_token):
    """Pairs of two different words."""
    others = ~torch.eye(is_token.shape[1], dtype=torch.bool, device=pairs.device)
    return pairs[is_token.unsqueeze(1) & is_token.unsqueeze(2) & others]


def assert_same(case, is_exact=True, blocks=kernels.USUAL, close=None):
    with torch.no_grad(), in_full():
        expected = of_words(pairs_without_each_word(*case), case[-1])
        found = kernels.pairs_without_each_word(*case, is_exact=is_exact, blocks=blocks)
    assert found.isfinite().all()
    torch.testing.assert_close(
        of_words(found, case[-1]), expected, atol=close or CLOSE[is_exact], rtol=0
    )


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("alignment", ["additive", "additive:width=150", "dot"])
@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=5", "lstm:hidden_size=16"])
def test_pairs_are_those_of_the_loop(encoder, alignment, is_exact):
    assert_same(a_case(*LENGTHS, encoder=encoder, alignment=alignment), is_exact)


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("skip", ["concat", "residual"])
def test_pairs_are_those_of_the_loop_with_embeddings_joined(skip, classes):
    assert_same(a_case(7, 4, classes=classes, encoder=f"bilstm:hidden_size=3:skip={skip}"))


@pytest.mark.parametrize("hidden_size", [1, 17, 50, 128, 256])
def test_any_number_of_units_is_filled_up(hidden_size):
    assert_same(a_case(5, 3, encoder=f"bilstm:hidden_size={hidden_size}"))


@pytest.mark.parametrize("lengths", [(1,), (2,), (1, 1, 1), (3, 9, 1, 5), (9, 8)])
def test_documents_come_in_any_order_and_may_be_one_word(lengths):
    assert_same(a_case(*lengths, encoder="bilstm:hidden_size=4"))


def test_a_document_may_be_empty():
    layers, sight, embedded, is_token = a_case(5, 4, 3, encoder="bilstm:hidden_size=4")
    is_token[1] = False
    assert_same((layers, sight, embedded, is_token))


@pytest.mark.parametrize("blocks", [kernels.USUAL, SMALL])
@pytest.mark.parametrize(
    "encoder",
    [
        "bilstm:hidden_size=16",
        "bilstm:hidden_size=50",
        "lstm:hidden_size=16",
        "lstm:hidden_size=128",
    ],
)
def test_whole_texts_are_read_as_pytorch_reads_them(encoder, blocks):
    lengths = [9, 9, 7, *[3] * 10, 2, 2, 1, 1, 1, 0, 0]  # the last programs have less to do
    layers, _, embedded, _ = a_case(*lengths[:-2], 1, 1, encoder=encoder)
    tokens = torch.tensor(lengths, device=DEVICE).int()
    with torch.no_grad(), in_full():
        texts = kernels._Texts(kernels._Weights(layers), embedded, tokens)
        texts.read_whole(blocks.whole)
        for way, layer in enumerate(layers):
            for number, length in enumerate(lengths):
                hidden = texts.hidden()[way, number]
                if length:
                    text = embedded[number, :length]
                    expected = layer(text.flip(0))[0].flip(0) if way else layer(text)[0]
                    torch.testing.assert_close(hidden[:length], expected, atol=1e-5, rtol=0)
                assert (hidden[length:] == 0).all()


@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=40", "lstm:hidden_size=40"])
def test_small_blocks_find_the_same(encoder):
    assert_same(a_case(*LENGTHS, encoder=encoder), blocks=SMALL)


def test_words_that_are_remembered_are_found_to_the_end():
    layers, *others = a_case(20, 20, 11, encoder="bilstm:hidden_size=8")
    for layer in layers:
        layer.bias_hh_l0.data[8:16] = 8.0  # its gates keep
        layer.weight_hh_l0.data.mul_(3)
    assert_same((layers, *others))


@pytest.mark.filterwarnings("ignore:overflow")  # the interpreter warns of infinities
def test_large_weights_saturate_and_give_finite_numbers():
    layers, *others = a_case(6, 5, encoder="bilstm:hidden_size=4")
    for layer in layers:
        for weight in layer.parameters():
            weight.data.mul_(200)
    assert_same((layers, *others), close=1e-3)


def test_nan_weights_give_nan():
    layers, *others = a_case(4, 4, encoder="lstm:hidden_size=4")
    layers[0].weight_hh_l0.data[:] = torch.nan
    with torch.no_grad():
        found = kernels.pairs_without_each_word(layers, *others)
    assert found[0, 0, 2:].isnan().all()


@pytest.mark.parametrize("sizes", [(2, 5, 5, 1), (1, 16, 0, 3)])
def test_kernels_that_find_something_else_are_not_used(sizes, monkeypatch):
    works = kernels._works_on.__wrapped__  # not from the cache
    sizes = kernels._Sizes(*sizes)
    usual = kernels.pairs_without_each_word
    with in_full():
        assert works(DEVICE, sizes, True, pairs_without_each_word)
        monkeypatch.setattr(
            kernels, "pairs_without_each_word", lambda *of, **how: usual(*of, **how) + 0.01
        )
        assert not works(DEVICE, sizes, True, pairs_without_each_word)

    def fails(*given: object, **how: object) -> None:
        raise RuntimeError("no C compiler")

    monkeypatch.setattr(kernels, "pairs_without_each_word", fails)
    assert not works(DEVICE, sizes, True, pairs_without_each_word)


@pytest.mark.skipif(IS_INTERPRETED, reason="there is no CUDA device")
@pytest.mark.parametrize(
    ("encoder", "is_taken"),
    [("bilstm:hidden_size=16", True), ("lstm:hidden_size=8", True), ("gru:hidden_size=8", False)],
)
def test_leave_one_out_uses_kernels_where_they_are_made_for_it(encoder, is_taken, monkeypatch):
    used = []
    usual = kernels.pairs_without_each_word
    model, batch = a_model(encoder=encoder).float().to(DEVICE), a_batch(9, 7, 1).to(DEVICE)
    with torch.no_grad(), in_full():
        found = logits_without_each(model, batch)  # the check is over
        monkeypatch.setattr(
            kernels, "pairs_without_each_word", lambda *of, **how: used.append(1) or usual(*of)
        )
        again = logits_without_each(model, batch)
        monkeypatch.setattr(recurrent, "_kernels", lambda: None)
        expected = logits_without_each(model, batch)
    assert bool(used) == is_taken
    torch.testing.assert_close(again, found, atol=1e-6, rtol=0)
    torch.testing.assert_close(found[batch.is_token], expected[batch.is_token], atol=1e-5, rtol=0)
