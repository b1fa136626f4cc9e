import numpy as np
import pytest
import torch

from heedful.model.word_subsets import logits_of_kept
from tests.importance.models import a_batch, a_model

MODELS = [
    {"encoder": "embedding"}, {"encoder": "mlp", "projection": "sparsemax"},
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


def test_a_text_of_which_nothing_is_kept_is_read_like_an_empty_one():
    nothing = np.zeros((2, 4), dtype=bool)
    for encoder in ("embedding", "bilstm:hidden_size=4"):
        model = a_model(encoder=encoder)
        found = logits_of_kept(model, a_batch(4, 2), np.array([0, 1]), nothing)
        torch.testing.assert_close(found[0], found[1])
        assert found.isfinite().all()
