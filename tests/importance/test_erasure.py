import captum.attr
import pytest
import torch

from heedful.importance import erasure, importances, recurrent
from heedful.importance.deletion import logits_without_each
from heedful.importance.inside import Inside
from heedful.model.alignments import alignments
from heedful.model.encoders import encoders
from heedful.model.projections import projections
from tests.importance.models import a_batch, a_model, predicted, without

RECURRENT = [name for name in encoders if name.endswith(("rnn", "gru", "lstm"))]


def assert_exact(model, batch):
    """The fast logits equal those of re-reading each shortened text."""
    with torch.no_grad():
        fast = logits_without_each(model, batch)
        for row, length in enumerate(batch.is_token.sum(dim=1).tolist()):
            for place in range(length):
                naive = model(without(batch, row, place)).logits[0]
                torch.testing.assert_close(fast[row, place], naive, atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("encoder", encoders)
@pytest.mark.parametrize("projection", projections)
@pytest.mark.parametrize("classes", [2, 3])
def test_deletion_equals_reading_the_shortened_text(encoder, projection, classes):
    model = a_model(classes, encoder=encoder, projection=projection)
    assert_exact(model, a_batch(7, 4, 2, 1))


@pytest.mark.parametrize("alignment", alignments)
@pytest.mark.parametrize("encoder", ["embedding", "bilstm", "lstm"])
@pytest.mark.parametrize("output_bias", [True, False])
def test_deletion_is_exact_for_every_alignment(alignment, encoder, output_bias):
    model = a_model(encoder=encoder, alignment=alignment, output_bias=output_bias)
    assert_exact(model, a_batch(6, 3, 1))


@pytest.mark.parametrize("encoder", RECURRENT)
@pytest.mark.parametrize("skip", ["concat", "residual"])
def test_deletion_is_exact_with_the_words_own_embedding_joined(encoder, skip):
    directions = 2 if encoder.startswith("bi") else 1
    size = 6 // directions
    model = a_model(encoder=f"{encoder}:hidden_size={size}:skip={skip}")
    assert_exact(model, a_batch(5, 2))


@pytest.mark.parametrize("encoder", RECURRENT)
@pytest.mark.parametrize("skip", ["none", "concat"])
def test_deletion_is_exact_through_several_layers(encoder, skip):
    model = a_model(encoder=f"{encoder}:hidden_size=4:layers=2:skip={skip}")
    assert_exact(model, a_batch(6, 3, 1))


@pytest.mark.parametrize("changes", [{"keys": "separate"}, {"query": "text"}])
@pytest.mark.parametrize("encoder", ["embedding", "bigru"])
def test_deletion_is_exact_where_no_shortcut_applies(changes, encoder):
    assert_exact(a_model(encoder=encoder, **changes), a_batch(5, 3, 1))


@pytest.mark.parametrize("encoder", ["bilstm", "gru"])
@pytest.mark.parametrize("rows_at_once", [1, 8, 14])
def test_deletion_is_the_same_however_many_texts_travel_together(
    encoder, rows_at_once, monkeypatch
):
    monkeypatch.setattr(recurrent, "ROWS_AT_ONCE", rows_at_once)
    model, batch = a_model(encoder=encoder), a_batch(7, 6, 4, 2, 2)
    assert_exact(model, batch)
    assert logits_without_each(model, batch).shape == (5, 7, 2)


def test_deletion_is_exact_for_an_alignment_that_is_not_known_to_begin_linearly():
    class Longest(torch.nn.Module):
        def forward(self, keys, query=None):
            return keys.norm(dim=-1)

    model = a_model(encoder="bilstm")
    model.alignment = Longest()
    assert_exact(model, a_batch(5, 3, 1))


def test_the_rank_one_change_survives_a_weight_of_almost_one():
    model = a_model(encoder="embedding", alignment="dot:scale=0.01")
    batch = a_batch(8, 5)
    assert model(batch).weights.max() > 1 - 1e-6
    assert_exact(model, batch)


def test_leave_one_out_is_the_fall_of_the_probability():
    model, batch = a_model(encoder="bilstm"), a_batch(5, 3)
    target = predicted(model, batch)
    scores = importances["leave-one-out"](model, batch, target)
    with torch.no_grad():
        whole = model(batch).logits.softmax(dim=-1)[1, target[1]]
        shorter = model(without(batch, 1, 2)).logits.softmax(dim=-1)[0, target[1]]
    torch.testing.assert_close(scores[1, 2], whole - shorter)


@pytest.mark.parametrize("encoder", ["embedding", "bilstm", "transformer"])
def test_ablation_equals_captums_feature_ablation(encoder):
    model, batch = a_model(encoder=encoder), a_batch(6, 4)
    target = predicted(model, batch)

    def probability(embedded, is_token):
        return model.read(embedded, is_token).logits.softmax(dim=-1)

    embedded = model.embedding(batch.token_ids).detach()
    groups = torch.arange(embedded.shape[1]).view(1, -1, 1).expand_as(embedded)
    theirs = captum.attr.FeatureAblation(probability).attribute(
        embedded, target=target, additional_forward_args=(batch.is_token,), feature_mask=groups
    )[..., 0]
    ours = importances["ablation"](model, batch, target)
    torch.testing.assert_close(ours, (theirs * batch.is_token).to(ours.dtype), atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("output", ["linear", "mlp"])
@pytest.mark.parametrize("projection", ["softmax", "sparsemax", "uniform"])
@pytest.mark.parametrize("encoder", ["embedding", "affine:hidden_size=5", "mlp"])
def test_a_zeroed_word_changes_only_its_own_state_in_a_model_that_reads_words_alone(
    encoder, projection, output, monkeypatch
):
    model = a_model(encoder=encoder, projection=projection, output=output, classes=3)
    batch = a_batch(7, 5, 1)
    target = predicted(model, batch)
    found = importances["ablation"](model, batch, target)
    monkeypatch.setattr(erasure, "_other_state", erasure._read_again)
    torch.testing.assert_close(found, importances["ablation"](model, batch, target))
    assert (found[1:, 5:] == 0).all()


@pytest.mark.parametrize("measure", ["attention-score", "polarity", "contribution", "ablation"])
def test_what_an_audit_has_read_is_not_read_again(measure, monkeypatch):
    model, batch = a_model(encoder="mlp"), a_batch(6, 4)
    target, trace = predicted(model, batch), model(batch)
    expected = importances[measure](model, batch, target)
    monkeypatch.setattr(model, "read", None)
    found = importances[measure].of(Inside(model, batch, target, trace=trace))
    torch.testing.assert_close(found, expected)


def test_leaving_a_state_out_shares_its_weight_among_the_others():
    model, batch = a_model(encoder="bilstm"), a_batch(5, 3)
    target = predicted(model, batch)
    scores = importances["leave-one-out-states"](model, batch, target)
    with torch.no_grad():
        trace = model(batch)
        weights = trace.weights.clone()
        weights[:, 1] = 0
        weights = weights / weights.sum(dim=1, keepdim=True)
        other = model.decide(trace.hidden, weights).softmax(dim=-1)
        whole = trace.logits.softmax(dim=-1)
    fall = (whole - other).gather(1, target.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(scores[:, 1], fall)
