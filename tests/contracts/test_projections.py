"""Rules that every projection keeps, new ones included."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from heedful.model.projections import projections
from tests.model.strategies import all_tokens, pad, score_rows

every_projection = pytest.mark.parametrize("name", projections)


@every_projection
@given(scores=score_rows())
def test_weights_are_a_distribution(name, scores):
    weights = projections.make(name)(scores, all_tokens(scores))
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(len(scores), dtype=scores.dtype))


@every_projection
@given(scores=score_rows(), padding=st.integers(0, 3))
def test_padding_changes_no_weight(name, scores, padding):
    project = projections.make(name)
    bare = project(scores, all_tokens(scores))
    padded = project(*pad(scores, padding))
    torch.testing.assert_close(padded[:, : scores.shape[1]], bare)
    assert (padded[:, scores.shape[1] :] == 0).all()


@every_projection
@given(scores=score_rows(distinct=True), rng=st.randoms(use_true_random=False))
def test_permuting_tokens_permutes_weights(name, scores, rng):
    order = list(range(scores.shape[1]))
    rng.shuffle(order)
    project = projections.make(name)
    permuted = project(scores[:, order], all_tokens(scores))
    torch.testing.assert_close(permuted, project(scores, all_tokens(scores))[:, order])


@every_projection
@given(scores=score_rows(distinct=True), shift=st.floats(-100, 100))
def test_a_constant_shift_changes_nothing(name, scores, shift):
    project = projections.make(name)
    shifted = project(scores + shift, all_tokens(scores))
    torch.testing.assert_close(shifted, project(scores, all_tokens(scores)), atol=1e-9, rtol=1e-9)


@every_projection
def test_a_row_without_tokens_gets_zeros_and_no_nan_gradient(name):
    scores = torch.randn(2, 4, requires_grad=True)
    is_token = torch.tensor([[True, True, False, False], [False] * 4])
    weights = projections.make(name)(scores, is_token)
    assert weights[1].tolist() == [0.0] * 4
    assert weights[0].sum().item() == pytest.approx(1)
    if weights.requires_grad:
        (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
        assert gradient.isfinite().all()
        assert (gradient[1] == 0).all()


@every_projection
def test_rows_may_have_any_number_of_leading_axes(name):
    scores = torch.randn(2, 3, 4, 5)
    project = projections.make(name)
    flat = project(scores.view(-1, 5), all_tokens(scores.view(-1, 5)))
    torch.testing.assert_close(project(scores, all_tokens(scores)).view(-1, 5), flat)


@every_projection
def test_single_precision_sums_to_one_for_large_scores(name):
    scores = torch.randn(50, 400) * 1000
    weights = projections.make(name)(scores, all_tokens(scores))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(50), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "sparsegen", "entmax"])
@given(scores=score_rows(distinct=True))
def test_first_and_second_derivatives_match_finite_differences(name, scores):
    project = projections.make(name)
    # Steps of at least 0.05 keep small moves from changing the support.
    scores = (scores + torch.linspace(0, 0.013, scores.shape[1])).requires_grad_()
    is_token = all_tokens(scores)
    assume(not _is_near_a_kink(project, scores.detach(), is_token))
    assert torch.autograd.gradcheck(lambda s: project(s, is_token), (scores,))
    assert torch.autograd.gradgradcheck(lambda s: project(s, is_token).square(), (scores,))


def _is_near_a_kink(project, scores, is_token) -> bool:
    """Whether a move of one score by 1e-4 changes which tokens have any weight."""
    support = project(scores, is_token) > 0
    return any(
        not torch.equal(project(scores + 1e-4 * move, is_token) > 0, support)
        for column in torch.eye(scores.shape[1], dtype=scores.dtype)
        for move in (column, -column)
    )
