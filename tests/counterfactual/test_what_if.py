"""What if attention were different: identities with the model, and sentences for bad requests."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

import heedful
from heedful.auditing.metrics.divergence import js_divergence
from heedful.counterfactual import what_if
from heedful.counterfactual.base import counterfactuals
from heedful.errors import ConfigError, DataError, UnknownName
from heedful.model.word_subsets import logits_of_kept
from heedful.training.trained import Trained

ENCODERS = ("embedding", "bilstm:hidden_size=4", "bigru:hidden_size=4")
TEXT = "positiveaaa neutralaaa neutralaab Neutralaac negativeaaa unheardof"
WORDS = 6


@pytest.fixture(scope="module", params=ENCODERS)
def trained(planted, request) -> Trained:
    classifier = heedful.Classifier(
        encoder=request.param, embedding_size=6, dropout=0.0, split="spaces",
        optimizer="adam:learning_rate=0.05", recipe="standard:epochs=1",
    )  # fmt: skip
    return classifier.fit(planted.train.texts[:200], planted.train.labels[:200]).trained_


@pytest.fixture(scope="module")
def reading(trained) -> what_if.EditedText:
    return what_if.read(trained, TEXT)


shares = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=WORDS, max_size=WORDS
).filter(any)


def test_the_own_weights_give_the_own_prediction(trained, reading):
    for weights in (None, reading.own, reading.own.tolist()):
        found = what_if.decide(reading, weights)
        np.testing.assert_allclose(found.probabilities, trained.probabilities([TEXT])[0], atol=1e-6)
        np.testing.assert_allclose(found.weights, trained.attention([TEXT])[0].weights, atol=1e-6)
        assert found.jsd == pytest.approx(0, abs=1e-9)
        assert found.tvd == pytest.approx(0, abs=1e-6)


@given(weights=shares, scale=st.sampled_from([1e-300, 1e-6, 0.3, 7.0, 1e300]))
def test_weights_are_shares_so_their_scale_says_nothing(reading, weights, scale):
    one = what_if.decide(reading, weights)
    other = what_if.decide(reading, [weight * scale for weight in weights])
    assert one.weights.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(other.weights, one.weights, atol=1e-6)
    np.testing.assert_allclose(other.probabilities, one.probabilities, atol=1e-6)


@given(weights=shares)
def test_the_distances_are_those_that_audits_measure(reading, weights):
    found = what_if.decide(reading, weights)
    jsd = js_divergence(found.weights[None], reading.own[None])[0]
    assert found.jsd == pytest.approx(jsd, abs=1e-6)
    assert 0 <= found.jsd <= math.log(2)
    moved = np.abs(found.probabilities - reading.probabilities).sum() / 2
    assert found.tvd == pytest.approx(moved)
    assert found.probabilities.sum() == pytest.approx(1)


@given(weights=shares)
def test_the_decision_is_the_models_own_under_these_weights(reading, weights):
    found = what_if.decide(reading, weights)
    given_ = torch.from_numpy(found.weights)[None].to(reading.trace.weights)
    with torch.no_grad():
        logits = reading.model.decide(reading.trace.hidden, given_)[0]
    expected = logits.double().softmax(-1).numpy()
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-6)


@pytest.mark.parametrize("place", range(WORDS))
def test_all_weight_on_a_word_gives_the_output_of_its_state(reading, place):
    found = what_if.decide(reading, np.eye(WORDS)[place])
    with torch.no_grad():
        logits = reading.model.output(reading.trace.hidden[:, place])[0]
    expected = logits.double().softmax(-1).numpy()
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-6)


@given(deleted=st.lists(st.integers(0, WORDS - 1), max_size=WORDS))
def test_deleted_words_leave_the_prediction_of_the_shorter_text(trained, deleted):
    is_kept = np.array([place not in deleted for place in range(WORDS)])
    assume(is_kept.any())  # a text without words is refused, which another test looks at
    reading = what_if.read(trained, TEXT, deleted)
    shorter = " ".join(np.array(TEXT.split())[is_kept])
    np.testing.assert_array_equal(reading.is_kept, is_kept)
    assert len(reading.offsets) == WORDS
    assert len(reading.own) == is_kept.sum()
    np.testing.assert_allclose(
        reading.probabilities, trained.probabilities([shorter])[0], atol=1e-6
    )
    whole = next(trained.batches([TEXT]).by_length())
    logits = logits_of_kept(trained.model, whole, np.array([0]), is_kept[None])[0]
    expected = logits.double().softmax(-1).numpy()
    np.testing.assert_allclose(reading.probabilities, expected, atol=1e-6)


@pytest.mark.parametrize("name", counterfactuals)
@pytest.mark.parametrize("deleted", [(), (0, 3), (0, 1, 2, 3, 4)])
def test_every_counterfactual_is_a_distribution_over_the_words_that_are_left(
    trained, name, deleted
):
    reading = what_if.read(trained, TEXT, deleted)
    weights = what_if.other_weights(reading, name)
    assert weights.shape == (WORDS - len(deleted),)
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    assert (weights >= 0).all()
    what_if.decide(reading, weights)


def test_the_seed_draws_the_weights(reading):
    draw = what_if.other_weights
    np.testing.assert_array_equal(draw(reading, "random", 1), draw(reading, "random", 1))
    assert np.abs(draw(reading, "random", 1) - draw(reading, "random", 2)).max() > 1e-3


def test_uniform_is_uniform_and_permuted_deals_out_the_own_weights(reading):
    np.testing.assert_allclose(what_if.other_weights(reading, "uniform"), 1 / WORDS, atol=1e-7)
    permuted = what_if.other_weights(reading, "permuted")
    np.testing.assert_allclose(np.sort(permuted), np.sort(reading.own))


def test_the_adversary_is_the_farthest_that_keeps_the_prediction_or_moves_it_least(reading):
    rng = torch.Generator().manual_seed(5)
    made = counterfactuals.make("adversarial")
    rows = made(reading.model, reading.trace, reading.batch, rng)[0].double().numpy()
    outcomes = [what_if.decide(reading, row) for row in rows]
    chosen = what_if.decide(reading, what_if.other_weights(reading, "adversarial", 5))
    same = [one.jsd for one in outcomes if one.tvd <= what_if.SAME]
    if same:
        assert chosen.tvd <= what_if.SAME
        assert chosen.jsd == pytest.approx(max(same), abs=1e-6)
    else:
        assert chosen.tvd == pytest.approx(min(one.tvd for one in outcomes), abs=1e-6)


def test_a_model_that_ignores_attention_lets_the_adversary_go_far(trained):
    reading = what_if.read(trained, "neutralaaa neutralaaa neutralaaa neutralaaa")
    same = replace(
        reading,
        trace=replace(reading.trace, hidden=reading.trace.hidden[:, :1].expand(-1, 4, -1)),
    )
    found = what_if.decide(same, what_if.other_weights(same, "adversarial"))
    assert found.tvd <= what_if.SAME
    assert found.jsd > 0.3


def test_the_words_stand_where_the_text_has_them(trained):
    text = "  Positiveaaa   neutralaaa 😀  "
    reading = what_if.read(trained, text)
    found = [text[start:end] for start, end in reading.offsets.tolist()]
    assert found == ["Positiveaaa", "neutralaaa", "😀"]


@pytest.mark.parametrize(
    ("text", "deleted", "sentence"),
    [
        ("a b", [2], "no word 2: the text has 2 words, numbered from 0."),
        ("a b", [-1], "no word -1"),
        ("a b", [0, 1], "no word is left, so there is nothing to attend to."),
        ("   ", [], "the text contains no words, so there is nothing to attend to."),
        ("", [0], "no word 0: the text has 0 words"),
    ],
)
def test_texts_that_cannot_be_read_are_refused(trained, text, deleted, sentence):
    with pytest.raises(DataError, match=sentence):
        what_if.read(trained, text, deleted)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0], "expected a weight for each of 6 words that are left, got 1."),
        ([1.0] * 7, "got 7."),
        ([], "got 0."),
        ([1.0] * 5 + [-1e-9], "must be finite and not negative"),
        ([1.0] * 5 + [math.nan], "must be finite and not negative"),
        ([1.0] * 5 + [math.inf], "must be finite and not negative"),
        ([0.0] * 6, "all weights are 0. Give at least one word a weight above 0."),
    ],
)
def test_weights_that_are_no_shares_are_refused(reading, weights, sentence):
    with pytest.raises(DataError, match=sentence):
        what_if.decide(reading, weights)


def test_an_unknown_counterfactual_is_named(reading):
    with pytest.raises(UnknownName, match="Did you mean 'uniform'"):
        what_if.other_weights(reading, "unifrom")


def test_a_classifier_without_attention_is_refused(planted):
    classifier = heedful.Classifier(encoder="embedding", pooling="mean", recipe="standard:epochs=1")
    classifier.fit(planted.train.texts[:60], planted.train.labels[:60])
    with pytest.raises(ConfigError, match=r"no attention to change: .* 'mean'"):
        what_if.read(classifier.trained_, "a b")
