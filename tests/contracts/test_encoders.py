"""Rules that every encoder keeps, new ones included."""

import pytest
import torch

from heedful.model.encoders import Pretrained, encoders
from tests.model.tiny_pretrained import tiny_source

EMBEDDING = 12
deep = [f"{name}:layers=2" for name in encoders if "layers" in encoders.options(name)]
every_encoder = pytest.mark.parametrize("name", [*encoders, *deep])


def build(name):
    torch.manual_seed(0)
    settings = encoders.make(name)
    # The pretrained one reads two pieces of 6 numbers per word.
    inputs = tiny_source() if isinstance(settings, Pretrained) else EMBEDDING
    return settings.build(inputs).double().eval()


def rows(*lengths, tokens=7):
    torch.manual_seed(1)
    embedded = torch.randn(len(lengths), tokens, EMBEDDING, dtype=torch.float64)
    is_token = torch.arange(tokens) < torch.tensor(lengths)[:, None]
    return embedded, is_token


@every_encoder
def test_one_state_of_the_promised_size_per_token_and_zero_on_padding(name):
    encoder = build(name)
    embedded, is_token = rows(7, 3)
    hidden = encoder(embedded, is_token)
    assert hidden.shape == (2, 7, encoder.output_size)
    assert (hidden[~is_token] == 0).all()


@every_encoder
def test_neither_padding_nor_neighbours_in_the_batch_change_a_state(name):
    encoder = build(name)
    embedded, is_token = rows(7, 3, 1)
    together = encoder(embedded, is_token)
    for row, length in enumerate((7, 3, 1)):
        alone = encoder(embedded[row : row + 1, :length], is_token[row : row + 1, :length])
        torch.testing.assert_close(together[row, :length], alone[0])


@every_encoder
def test_what_stands_on_padding_is_never_read(name):
    encoder = build(name)
    embedded, is_token = rows(4, 2)
    spoiled = embedded.masked_fill(~is_token.unsqueeze(-1), 1e6)
    torch.testing.assert_close(encoder(spoiled, is_token), encoder(embedded, is_token))


@every_encoder
def test_a_text_without_words_gives_no_nan(name):
    encoder = build(name)
    embedded, is_token = rows(3, 0)
    assert (encoder(embedded, is_token)[1] == 0).all()
    assert encoder(embedded, is_token).isfinite().all()


@every_encoder
def test_reads_context_says_whether_a_word_moves_its_neighbours_state(name):
    encoder = build(name)
    embedded, is_token = rows(6)
    changed = embedded.clone()
    changed[0, 2, 0] += 1.0  # the same for all numbers, and layer norms would not see it
    moved = (encoder(changed, is_token) - encoder(embedded, is_token)).abs().amax(dim=-1)[0] > 1e-9
    assert moved[2] == encoder.reads_words
    others = torch.cat([moved[:2], moved[3:6]])
    assert others.any() == (encoder.reads_context and encoder.reads_words)


@every_encoder
def test_gradients_reach_the_embeddings(name):
    encoder = build(name)
    embedded, is_token = rows(5, 2)
    embedded.requires_grad_()
    (gradient,) = torch.autograd.grad(encoder(embedded, is_token).square().sum(), embedded)
    assert ((gradient[is_token].abs().sum(dim=-1) > 0) == encoder.reads_words).all()
    assert (gradient[~is_token] == 0).all()
