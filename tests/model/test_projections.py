import entmax as yardstick
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import ConfigError
from heedful.model.projections import (
    KHot,
    Sparsegen,
    entmax,
    frozen,
    softmax,
    sparsemax,
    uniform,
)
from tests.model.strategies import all_tokens, score_rows


def test_sparsemax_by_hand():
    # (0.6 - t) + (0.5 - t) = 1  ->  t = 0.05; the third score lies below it
    weights = sparsemax(torch.tensor([[0.6, 0.5, 0.0]]), torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(weights, torch.tensor([[0.55, 0.45, 0.0]]))


def test_entmax_by_hand():
    # equal scores share equally; (0/2 - t)^2 * 2 = 1 -> t = -1/sqrt(2)
    weights = entmax(torch.tensor([[0.0, 0.0, -9.0]]), torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(weights, torch.tensor([[0.5, 0.5, 0.0]]))


@given(scores=score_rows())
def test_sparsemax_equals_the_entmax_package(scores):
    ours = sparsemax(scores, all_tokens(scores))
    torch.testing.assert_close(ours, yardstick.sparsemax(scores, dim=-1), atol=1e-9, rtol=0)


@given(scores=score_rows())
def test_entmax_equals_the_entmax_package(scores):
    ours = entmax(scores, all_tokens(scores))
    torch.testing.assert_close(ours, yardstick.entmax15(scores, dim=-1), atol=1e-7, rtol=0)


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 30.0])
def test_sparse_maps_and_their_gradients_equal_the_entmax_package_on_long_rows(spread):
    torch.manual_seed(0)
    rows = torch.randn(64, 512, dtype=torch.float64) * spread
    upstream = torch.randn_like(rows)
    for ours, theirs in ((sparsemax, yardstick.sparsemax), (entmax, yardstick.entmax15)):
        mine, other = rows.clone().requires_grad_(), rows.clone().requires_grad_()
        weights, expected = ours(mine, all_tokens(mine)), theirs(other, dim=-1)
        torch.testing.assert_close(weights, expected, atol=1e-9, rtol=0)
        (ours_back,) = torch.autograd.grad((weights * upstream).sum(), mine)
        (theirs_back,) = torch.autograd.grad((expected * upstream).sum(), other)
        torch.testing.assert_close(ours_back, theirs_back, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("sparsity", [-1.0, 0.0, 0.5])
def test_derivatives_of_sparsegen_equal_the_entmax_packages_of_stretched_scores(spread, sparsity):
    torch.manual_seed(0)
    rows = spread * torch.randn(32, 200, dtype=torch.float64)
    upstream, direction = torch.randn_like(rows).requires_grad_(), torch.randn_like(rows)
    results = []
    for project in (
        lambda scores: Sparsegen(sparsity)(scores, all_tokens(scores)),
        lambda scores: yardstick.sparsemax(scores / (1 - sparsity), dim=-1),
    ):
        scores = rows.clone().requires_grad_()
        (once,) = torch.autograd.grad(project(scores), scores, upstream, create_graph=True)
        (twice,) = torch.autograd.grad(once, upstream, direction, create_graph=True)
        loss = (project(scores).square() * upstream.detach()).sum()
        (first,) = torch.autograd.grad(loss, scores, create_graph=True)
        results.append((once, twice, torch.autograd.grad(first.square().sum(), scores)[0]))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-6)


def test_no_gradient_reaches_padding_or_passes_through_it():
    scores = torch.randn(3, 6, dtype=torch.float64)
    is_token = torch.arange(6) < torch.tensor([[6], [2], [0]])
    padded, bare = scores.clone().requires_grad_(), scores[1:2, :2].clone().requires_grad_()
    upstream = torch.randn_like(scores)
    weights = sparsemax(padded, is_token)
    (gradient,) = torch.autograd.grad(weights, padded, upstream)
    (expected,) = torch.autograd.grad(sparsemax(bare, all_tokens(bare)), bare, upstream[1:2, :2])
    torch.testing.assert_close(gradient[1:2, :2], expected)
    assert (gradient[~is_token] == 0).all()


def test_rows_of_equal_scores_share_equally_and_the_search_for_the_support_ends():
    scores = torch.full((4, 1000), 0.1).cumsum(dim=0)  # rounding may move the threshold
    torch.testing.assert_close(
        sparsemax(scores, all_tokens(scores)), torch.full_like(scores, 1e-3), atol=1e-6, rtol=0
    )


@given(scores=score_rows(), sparsity=st.floats(-50, 0.95))
def test_sparsegen_is_sparsemax_of_stretched_scores(scores, sparsity):
    ours = Sparsegen(sparsity)(scores, all_tokens(scores))
    expected = yardstick.sparsemax(scores / (1 - sparsity), dim=-1)
    torch.testing.assert_close(ours, expected, atol=1e-9, rtol=0)


@given(scores=score_rows(), lower=st.floats(-20, 0.9), step=st.floats(0.0, 0.09))
def test_more_sparsity_never_widens_the_support(scores, lower, step):
    wide = Sparsegen(lower)(scores, all_tokens(scores)) > 1e-12
    narrow = Sparsegen(lower + step)(scores, all_tokens(scores)) > 1e-12
    assert (narrow.sum(dim=-1) <= wide.sum(dim=-1)).all()


def test_sparsegen_goes_from_uniform_to_one_token():
    scores = torch.tensor([[0.3, 0.1, 0.2]])
    torch.testing.assert_close(
        Sparsegen(-1e6)(scores, all_tokens(scores)), torch.full((1, 3), 1 / 3), atol=1e-5, rtol=0
    )
    one = Sparsegen(0.99)(scores, all_tokens(scores))
    torch.testing.assert_close(one, torch.tensor([[1.0, 0.0, 0.0]]))
    assert (one > 0).tolist() == [[True, False, False]]


@pytest.mark.parametrize("sparsity", [1.0, 2.0, float("nan")])
def test_sparsity_of_one_or_more_is_refused(sparsity):
    with pytest.raises(ConfigError, match="sparsity should be less than 1"):
        Sparsegen(sparsity)


def test_uniform_looks_at_no_score():
    scores = torch.tensor([[5.0, -5.0, 0.0]])
    is_token = torch.tensor([[True, True, False]])
    assert uniform(scores, is_token).tolist() == [[0.5, 0.5, 0.0]]


def test_frozen_is_softmax_without_a_gradient():
    scores = torch.randn(2, 3, requires_grad=True)
    weights = frozen(scores, all_tokens(scores))
    torch.testing.assert_close(weights, softmax(scores, all_tokens(scores)))
    assert not weights.requires_grad


def test_k_hot_picks_the_highest_and_passes_softmax_gradients():
    scores = torch.tensor([[0.1, 2.0, 1.0, -1.0]], dtype=torch.float64, requires_grad=True)
    weights = KHot(2)(scores, all_tokens(scores))
    torch.testing.assert_close(weights, torch.tensor([[0.0, 0.5, 0.5, 0.0]], dtype=torch.float64))
    (hard,) = torch.autograd.grad((weights * torch.arange(4.0)).sum(), scores)
    soft = (softmax(scores, all_tokens(scores)) * torch.arange(4.0)).sum()
    torch.testing.assert_close(hard, torch.autograd.grad(soft, scores)[0])


def test_k_hot_of_a_short_text_shares_among_its_words():
    scores = torch.tensor([[1.0, 2.0, 0.0]])
    is_token = torch.tensor([[True, True, False]])
    assert KHot(5)(scores, is_token).tolist() == [[0.5, 0.5, 0.0]]
