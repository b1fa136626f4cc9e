"""Where a state comes from, against one backward pass per state."""

import pytest
import torch

from heedful.importance.influence import influence
from tests.importance.models import a_batch, a_model

ENCODERS = [
    "bilstm:hidden_size=4", "lstm:hidden_size=4", "bilstm:hidden_size=3:skip=concat",
    "bilstm:hidden_size=3:skip=residual", "bigru:hidden_size=4", "orthogonal-lstm:hidden_size=4",
    "bilstm:hidden_size=3:layers=2", "transformer:hidden_size=8:heads=2",
    "cnn:filters=3:kernel_sizes=1+3", "affine",
]  # fmt: skip


def one_state_at_a_time(model, batch):
    embedded = model.embedding(batch.token_ids).detach().requires_grad_()
    norms = model.encoder(embedded, batch.is_token).norm(dim=-1)
    matrix = torch.zeros(*norms.shape, norms.shape[1], dtype=norms.dtype)
    for row in range(norms.shape[0]):
        for state in range(int(batch.is_token[row].sum())):
            (gradient,) = torch.autograd.grad(norms[row, state], embedded, retain_graph=True)
            matrix[row, state] = gradient[row].norm(dim=-1)
    return matrix / matrix.sum(dim=-1, keepdim=True).clamp(min=1e-300)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_matrix_equals_one_backward_pass_per_state(encoder):
    model, batch = a_model(encoder=encoder), a_batch(7, 4, 1)
    torch.testing.assert_close(influence(model, batch), one_state_at_a_time(model, batch))


def test_rows_are_shares_and_padding_has_none():
    batch = a_batch(9, 5, 2)
    matrix = influence(a_model(encoder="bilstm:hidden_size=4"), batch)
    torch.testing.assert_close(matrix.sum(dim=-1), batch.is_token.double())
    assert (matrix * ~batch.is_token.unsqueeze(1) == 0).all()


def test_a_state_that_reads_no_context_comes_from_its_own_word_alone():
    batch = a_batch(3, 2)
    matrix = influence(a_model(encoder="embedding"), batch)
    assert torch.equal(matrix[0], torch.eye(3).double())
    assert torch.equal(matrix[1, :2, :2], torch.eye(2).double())


def test_one_way_states_owe_nothing_to_the_words_behind_them():
    matrix = influence(a_model(encoder="lstm:hidden_size=4"), a_batch(6))
    assert (matrix[0].triu(diagonal=1) == 0).all()
    assert (matrix[0].diagonal() > 0).all()


@pytest.mark.parametrize("encoder", ["bilstm:hidden_size=16", "lstm:hidden_size=20"])
def test_in_single_precision_the_matrix_is_the_same(encoder):
    model, batch = a_model(encoder=encoder), a_batch(20, 13, 9, 2)
    expected = influence(model, batch)
    found = influence(model.float(), batch)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=0)
