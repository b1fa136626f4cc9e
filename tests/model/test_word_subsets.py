from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.importance.deletion import logits_without_each
from heedful.model import word_subsets
from heedful.model.shared_steps import beginnings
from heedful.model.word_subsets import logits_of_kept, logits_of_shortened, logits_of_variants
from tests.importance.models import a_batch, a_model

MODELS = [
    {"encoder": "embedding"}, {"encoder": "mlp", "projection": "sparsemax"},
    {"encoder": "affine:hidden_size=5", "output": "mlp"},
    {"encoder": "embedding", "query": "text"}, {"encoder": "embedding", "keys": "separate"},
    {"encoder": "bilstm:hidden_size=4"}, {"encoder": "gru:hidden_size=3", "projection": "entmax"},
    {"encoder": "orthogonal-lstm:hidden_size=4"}, {"encoder": "bilstm:hidden_size=3:skip=concat"},
    {"encoder": "bilstm:hidden_size=3:layers=2"}, {"encoder": "gru:hidden_size=3:layers=3"},
    {"encoder": "transformer:hidden_size=8:heads=2"}, {"encoder": "votes", "keys": "gru"},
]  # fmt: skip


@pytest.mark.parametrize("options", MODELS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_each_variant_is_read_as_if_the_other_words_had_never_been_there(options, classes):
    model, batch = a_model(classes=classes, **options), a_batch(6, 4, 1)
    rng = np.random.default_rng(1)
    document = np.array([2, 0, 1, 0, 0])
    is_kept = rng.random((5, 6)) < 0.6
    is_kept[:, 0] = True
    found = logits_of_kept(model, batch, document, is_kept)
    for row, (number, kept) in enumerate(zip(document, is_kept, strict=True)):
        words = torch.from_numpy(kept) & batch.is_token[number]
        embedded = model.embedding(batch.token_ids[number, words]).unsqueeze(0)
        alone = model.read(embedded, torch.ones(1, int(words.sum()), dtype=torch.bool))
        torch.testing.assert_close(found[row], alone.logits[0].detach())


@pytest.mark.parametrize("encoder", ["embedding", "mlp", "affine:hidden_size=5"])
def test_the_states_of_a_pass_that_was_made_are_not_computed_again(encoder, monkeypatch):
    model, batch = a_model(encoder=encoder), a_batch(6, 4, 1)
    trace = model(batch)
    is_kept = np.random.default_rng(2).random((3, 6)) < 0.5
    expected = logits_of_kept(model, batch, np.arange(3), is_kept)
    deleted = logits_without_each(model, batch)
    monkeypatch.setattr(model, "read", None)
    found = logits_of_kept(model, batch, np.arange(3), is_kept, trace=trace)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(logits_without_each(model, batch, trace), deleted)


@pytest.mark.parametrize("options", MODELS, ids=str)
@pytest.mark.parametrize("at_once", [1, 13, 10_000])
def test_variants_chosen_on_a_device_are_read_alike(options, at_once, monkeypatch):
    monkeypatch.setitem(word_subsets.TOKENS_AT_ONCE, "cpu", at_once)
    model, batch = a_model(**options), a_batch(6, 4, 1)
    document = torch.tensor([0, 1, 2, 0, 0, 1])
    is_kept = batch.is_token[document]
    is_kept[3, 2] = is_kept[4, 0] = is_kept[5, 3] = False
    expected = logits_of_kept(model, batch, document.numpy(), is_kept.numpy())
    for some in (batch, replace(batch, sizes=None)):
        found = logits_of_variants(model, some, document, is_kept)
        torch.testing.assert_close(found, expected)


def test_a_text_of_which_nothing_is_kept_is_read_like_an_empty_one():
    nothing = np.zeros((2, 4), dtype=bool)
    for encoder in ("embedding", "bilstm:hidden_size=4"):
        model = a_model(encoder=encoder)
        found = logits_of_kept(model, a_batch(4, 2), np.array([0, 1]), nothing)
        torch.testing.assert_close(found[0], found[1])
        assert found.isfinite().all()


@pytest.mark.parametrize("output", ["linear", "mlp"])
@pytest.mark.parametrize("rows_at_once", [7, 400])
def test_variants_that_share_beginnings_are_read_as_if_each_were_alone(
    output, rows_at_once, monkeypatch
):
    monkeypatch.setattr(word_subsets, "ROWS_AT_ONCE", rows_at_once)
    model, batch = a_model(encoder="bilstm:hidden_size=4", output=output), a_batch(9, 5, 3)
    rng = np.random.default_rng(0)
    document = rng.integers(0, 3, 60)
    is_kept = rng.random((60, 9)) < rng.random((60, 1))
    is_kept[10:20] = is_kept[0]  # asked for again
    is_kept &= batch.is_token.numpy()[document]
    is_kept[is_kept.sum(axis=1) == 0, 0] = True
    found = logits_of_kept(model, batch, document, is_kept)
    with torch.no_grad():
        expected = logits_of_shortened(model, batch, document, is_kept)
    torch.testing.assert_close(found, expected)


def test_each_different_beginning_is_one_node():
    document = np.array([0, 0, 0, 1])
    is_kept = np.array([[1, 1, 0, 1], [1, 1, 1, 0], [1, 1, 0, 1], [1, 1, 0, 1]], dtype=bool)
    found = beginnings(document, is_kept)
    # of document 0: a, ab, abc, abd; of document 1 as many as it has words
    assert found.total == 4 + 3
    ends = beginnings(document, is_kept, is_backwards=True)
    assert ends.total == 6 + 3  # of document 0: d, db, dba, c, cb, cba
    assert found.node[0].tolist() == found.node[2].tolist() != found.node[3].tolist()
