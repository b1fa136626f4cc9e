"""Kernels give the numbers of the plain maps: on a GPU, or anywhere in Triton's interpreter.

Without a GPU: `TRITON_INTERPRET=1 pytest tests/devices/test_sparse_kernels.py`, where Triton is.
"""

import os

import pytest
import torch

from heedful.model import projections

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
IS_INTERPRETED = DEVICE == "cpu"
if IS_INTERPRETED and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("there is no CUDA device", allow_module_level=True)
kernels = pytest.importorskip("heedful.model.sparse_kernels", exc_type=ImportError)

pytestmark = pytest.mark.cuda
SHAPES = [(1, 1), (7, 20), (3, 5, 17), (5, 256), (3, 512), (2, 700), (2, 3000)]
CLOSE = {torch.float32: 1e-6, torch.float64: 1e-10}
STRETCHES = (1.0, 2.0, 0.3)


def rows(shape, spread, dtype, device=DEVICE):
    """Scores and tokens; the first row is empty, the last is whole."""
    rng = torch.Generator().manual_seed(len(shape) + shape[-1])
    scores = spread * torch.randn(shape, generator=rng, dtype=dtype)
    is_token = torch.rand(shape, generator=rng) < 0.8
    is_token[0], is_token[-1] = False, True
    return scores.to(device), is_token.to(device)


def plain_sparsemax(scores, is_token, stretch):
    return projections._Sparsemax.apply(scores, is_token, stretch)


@pytest.fixture
def plain_entmax(monkeypatch):
    """The map without kernels, on any device."""

    def entmax(scores, is_token):
        with monkeypatch.context() as patch:
            patch.setattr(projections, "_kernels_for", lambda scores: None)
            return projections.entmax(scores, is_token)

    return entmax


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 3.0, 100.0])
def test_kernels_give_the_weights_of_the_plain_maps(shape, spread, dtype, plain_entmax):
    scores, is_token = rows(shape, spread, dtype)
    pairs = [
        (kernels.sparsemax(scores, is_token, s), plain_sparsemax(scores, is_token, s))
        for s in STRETCHES
    ]
    pairs.append((kernels.entmax(scores, is_token), plain_entmax(scores, is_token)))
    for found, expected in pairs:
        torch.testing.assert_close(found, expected, atol=CLOSE[dtype], rtol=0)
        assert (found[~is_token] == 0).all()
        is_full = is_token.any(dim=-1)
        torch.testing.assert_close(found.sum(dim=-1), is_full.to(dtype), atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_kernels_give_the_gradients_of_the_plain_maps(shape, plain_entmax):
    scores, is_token = rows(shape, 1.0, torch.float32)
    upstream = torch.randn_like(scores)
    for ours, plain in (
        (
            lambda s: kernels.sparsemax(s, is_token, 2.0),
            lambda s: plain_sparsemax(s, is_token, 2.0),
        ),
        (lambda s: kernels.entmax(s, is_token), lambda s: plain_entmax(s, is_token)),
    ):
        gradients = []
        for project in (ours, plain):
            leaf = scores.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(project(leaf), leaf, upstream)
            gradients.append(gradient)
        torch.testing.assert_close(*gradients, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["sparsemax", "stretched", "entmax"])
def test_kernels_can_be_differentiated_twice(name):
    scores, is_token = rows((4, 6), 1.0, torch.float64)
    is_token[1, 4:] = False
    project = {
        "sparsemax": lambda s: kernels.sparsemax(s, is_token, 1.0),
        "stretched": lambda s: kernels.sparsemax(s, is_token, 0.3),
        "entmax": lambda s: kernels.entmax(s, is_token),
    }[name]
    leaf = scores.requires_grad_()
    assert torch.autograd.gradcheck(project, leaf)
    assert torch.autograd.gradgradcheck(project, leaf)


def test_rows_may_be_one_row_again_and_lie_apart():
    scores, is_token = rows((2, 6, 9), 1.0, torch.float32)
    wide = scores.transpose(0, 1)  # rows that do not follow each other
    tokens = is_token.transpose(0, 1)
    expected = kernels.sparsemax(wide.contiguous(), tokens.contiguous(), 1.0)
    torch.testing.assert_close(kernels.sparsemax(wide, tokens, 1.0), expected, atol=0, rtol=0)
    one = scores[1, :1].expand(6, -1)
    same = kernels.sparsemax(one, is_token[1], 1.0)
    torch.testing.assert_close(
        same, kernels.sparsemax(one.contiguous(), is_token[1], 1.0), atol=0, rtol=0
    )
    across = scores[0].t()  # words do not follow each other
    torch.testing.assert_close(
        kernels.entmax(across, torch.ones_like(across, dtype=torch.bool)),
        kernels.entmax(across.contiguous(), torch.ones_like(across, dtype=torch.bool)),
    )


def test_what_is_no_number_stays_none():
    scores, is_token = rows((2, 5), 1.0, torch.float32)
    is_token[:] = True
    scores[0, 2] = torch.nan
    for found in (kernels.sparsemax(scores, is_token, 1.0), kernels.entmax(scores, is_token)):
        assert found[0].isnan().all()
        assert not found[1].isnan().any()


def test_kernels_that_find_something_else_are_not_used(monkeypatch):
    device = torch.device(DEVICE)
    works = kernels._works_on.__wrapped__  # not from the cache
    assert works(device)
    usual = kernels._forward
    monkeypatch.setattr(kernels, "_forward", lambda *given: usual(*given) + 0.01)
    assert not works(device)

    def fails(*given: object) -> None:
        raise RuntimeError("no C compiler")

    monkeypatch.setattr(kernels, "_forward", fails)
    assert not works(device)


@pytest.mark.skipif(IS_INTERPRETED, reason="there is no CUDA device")
def test_projections_use_kernels_where_they_can(monkeypatch):
    used = []
    for name in ("sparsemax", "entmax"):
        whole = getattr(kernels, name)
        monkeypatch.setattr(
            kernels, name, lambda *given, w=whole, n=name: used.append(n) or w(*given)
        )
    for shape, dtype in (
        ((3, 8), torch.float32),
        ((3, 8), torch.bfloat16),
        ((0, 8), torch.float32),
        ((1, kernels.LONGEST + 1), torch.float32),
    ):
        scores = torch.randn(shape, device=DEVICE).to(dtype)
        is_token = torch.ones(shape, dtype=torch.bool, device=DEVICE)
        for name in ("sparsemax", "sparsegen", "entmax"):
            weights = projections.projections.make(name)(scores, is_token)
            assert weights.dtype == dtype
    assert used == ["sparsemax", "sparsemax", "entmax"]  # of fp32 rows that are there and fit
