import numpy as np
import pytest
import torch
from torch import nn

from heedful.errors import ConfigError
from heedful.model.build import ModelSettings, build_model
from heedful.model.classifier import AttentionClassifier
from heedful.model.encoders import encoders
from heedful.model.outputs import Output
from heedful.model.projections import projections
from heedful.text.batching import Batches
from heedful.text.vectors import WordVectors
from heedful.text.vocabulary import Encoded
from heedful.training.settings import Settings
from tests.model.tiny_pretrained import pieces_of, tiny_source


def settings(**changes) -> ModelSettings:
    return Settings().with_(embedding_size=8, dropout=0.0, **changes).model


def a_batch(*lengths, vocabulary=20):
    rng = np.random.default_rng(0)
    ids = rng.integers(3, vocabulary, sum(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return next(Batches(Encoded(ids, starts, pieces=pieces_of(ids))).by_length())


def model(classes=2, **changes):
    return build_model(settings(**changes), 20, classes, seed=3, pretrained=tiny_source())


@pytest.mark.parametrize("encoder", encoders)
@pytest.mark.parametrize("projection", projections)
def test_every_encoder_and_projection_go_together(encoder, projection):
    batch = a_batch(5, 3, 1)
    trace = model(classes=3, encoder=encoder, projection=projection)(batch)
    assert trace.logits.shape == (3, 3)
    assert trace.logits.isfinite().all()
    torch.testing.assert_close(trace.weights.sum(dim=1), torch.ones(3))


def test_decide_with_its_own_weights_gives_the_models_own_logits():
    classifier, batch = model(), a_batch(5, 2)
    trace = classifier(batch)
    torch.testing.assert_close(classifier.decide(trace.hidden, trace.weights), trace.logits)


def test_decide_with_other_weights_answers_what_if():
    classifier, batch = model(), a_batch(5, 2)
    trace = classifier(batch)
    on_first = torch.zeros_like(trace.weights)
    on_first[:, 0] = 1.0
    expected = classifier.output(trace.hidden[:, 0])
    torch.testing.assert_close(classifier.decide(trace.hidden, on_first), expected)


def test_two_classes_share_one_vector_whose_sigmoid_is_the_probability():
    output = Output(4, classes=2, has_bias=True)
    context = torch.randn(3, 4)
    score = output.linear(context).squeeze(-1)
    logits = output(context)
    torch.testing.assert_close(logits.softmax(dim=-1)[:, 1], score.sigmoid())
    torch.testing.assert_close(logits[:, 0], -logits[:, 1])


@pytest.mark.parametrize("keys", ["shared", "separate"])
def test_separate_keys_come_from_an_encoder_of_their_own(keys):
    trace = model(keys=keys)(a_batch(4))
    assert torch.equal(trace.keys, trace.hidden) == (keys == "shared")


def test_keys_may_come_from_another_encoder_of_another_size():
    classifier = model(encoder="places:hidden_size=5", keys="bilstm:hidden_size=3", query="text")
    trace = classifier(a_batch(4, 2))
    assert trace.hidden.shape[-1] == 5
    assert trace.keys.shape[-1] == 6
    assert trace.logits.isfinite().all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"keys": "seperate"}, "no keys named 'seperate'. Did you mean 'separate'?"),
        ({"keys": "bilstm:size=3"}, "size"),
        ({"keys": "pretrained"}, "keys from another encoder need a vector per word"),
        ({"encoder": "pretrained", "keys": "mlp"}, "keys from another encoder need"),
    ],
)
def test_keys_that_nothing_can_make_are_a_sentence(changes, sentence):
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        settings(**changes)


def test_where_all_states_of_a_text_are_the_same_no_weights_move_the_decision():
    classifier = model(encoder="blended:share=1.0", keys="embedding").double()
    batch = a_batch(5, 2)
    trace = classifier(batch)
    other = torch.rand_like(trace.weights) * batch.is_token
    other = other / other.sum(dim=1, keepdim=True)
    torch.testing.assert_close(classifier.decide(trace.hidden, other), trace.logits)


def test_where_states_are_places_only_the_weights_can_tell_two_texts_apart():
    classifier = model(encoder="places", keys="bilstm:hidden_size=3")
    one, other = classifier(a_batch(5)), classifier(a_batch(5, vocabulary=9))
    assert torch.equal(one.hidden, other.hidden)
    assert not torch.equal(one.weights, other.weights)


def test_with_separate_keys_the_values_get_no_gradient_from_the_weights():
    classifier = model(keys="separate")
    trace = classifier(a_batch(4, 2))
    trace.weights.square().sum().backward()
    assert all(p.grad is None for p in classifier.encoder.parameters())
    assert any(p.grad is not None for p in classifier.key_encoder.parameters())


def test_a_text_query_makes_a_words_score_depend_on_the_text():
    classifier = model(encoder="embedding", alignment="dot", query="text")
    batch = a_batch(4, 3)
    trace = classifier(batch)
    mean = trace.keys[1, :3].mean(dim=0, keepdim=True)
    expected = (trace.keys[1, :3] @ classifier.alignment.query(mean)[0]) / 8**0.5
    torch.testing.assert_close(trace.scores[1, :3], expected)


@pytest.mark.parametrize("encoder", ["embedding", "bilstm", "lstm"])
def test_baselines_pool_only_real_words(encoder):
    batch = a_batch(4, 2)
    for pooling in ("mean", "max", "last"):
        classifier = model(encoder=encoder, pooling=pooling)
        hidden = classifier(batch).hidden
        pooled = classifier.pool(hidden, batch.is_token)[1]
        half = hidden.shape[-1] // 2
        two_way = torch.cat([hidden[1, 1, :half], hidden[1, 0, half:]])
        expected = {
            "mean": hidden[1, :2].mean(dim=0),
            "max": hidden[1, :2].amax(dim=0),
            "last": two_way if encoder == "bilstm" else hidden[1, 1],
        }
        torch.testing.assert_close(pooled, expected[pooling])


@pytest.mark.parametrize("pooling", ["attention", "mean", "max", "last"])
def test_a_text_without_words_is_decided_by_the_bias_alone(pooling):
    classifier = model(pooling=pooling)
    batch = a_batch(3, 0)
    expected = classifier.output(torch.zeros(1, classifier.encoder.output_size))[0]
    torch.testing.assert_close(classifier(batch).logits[1], expected)


def test_uniform_attention_is_mean_pooling():
    attending = model(projection="uniform")
    pooled = model(pooling="mean")
    pooled.load_state_dict(attending.state_dict(), strict=False)
    batch = a_batch(5, 3)
    torch.testing.assert_close(attending(batch).logits, pooled(batch).logits)


def test_the_seed_decides_every_initial_value_and_touches_no_global_state():
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one, same, other = (build_model(settings(), 20, 2, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    pairs = zip(one.state_dict().values(), same.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(one.embedding.weight, other.embedding.weight)


def test_pretrained_vectors_stand_in_their_rows_and_the_rest_is_random():
    found = np.zeros(20, dtype=bool)
    found[5] = True
    matrix = np.zeros((20, 6), dtype=np.float32)
    matrix[5] = np.arange(6)
    vectors = WordVectors(matrix, found, "test")
    classifier = build_model(settings(freeze_vectors=True), 20, 2, seed=1, vectors=vectors)
    assert classifier.embedding.weight[5].tolist() == [0, 1, 2, 3, 4, 5]
    assert (classifier.embedding.weight[6].abs() <= 0.1).all()
    assert (classifier.embedding.weight[0] == 0).all()
    assert not classifier.embedding.weight.requires_grad


def test_any_modules_can_be_put_together():
    class Halves(nn.Module):
        def forward(self, keys, query=None):
            return keys[..., 0]

    encoder = encoders.make("embedding").build(4)
    classifier = AttentionClassifier(
        nn.Embedding(20, 4), encoder, Halves(), projections["sparsemax"], Output(4, 2, True)
    )
    assert classifier(a_batch(3)).logits.shape == (1, 2)
