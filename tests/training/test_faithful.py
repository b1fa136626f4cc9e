import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy as torch_cross_entropy
from torch.nn.functional import softplus

import heedful
from heedful.errors import ConfigError, DataError
from heedful.importance import importances
from heedful.model.default_tokens import blindfold
from heedful.model.projections import projections
from heedful.runs import RunFolder
from heedful.text.batching import Batches
from heedful.text.datasets.planted import Planted
from heedful.text.pieces import NO_PIECE
from heedful.text.vocabulary import UNKNOWN_WORD, Encoded
from heedful.training.deletion_penalties import (
    away,
    draw_places,
    drop,
    falls,
    misranking,
    rank,
    shortened,
    top_words,
)
from heedful.training.evaluate import predict
from heedful.training.recipe import Material
from heedful.training.recipes import recipes
from heedful.training.recipes.diversity import Diversity
from heedful.training.recipes.faithful import Faithful, keep
from heedful.training.settings import Settings
from heedful.training.task import Labelled, Task
from heedful.training.train import train
from tests.importance.models import a_batch, a_model, predicted
from tests.model.tiny_pretrained import pieces_of

LN2 = math.log(2)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def material(*labels: int, weights: tuple[float, ...] | None = None) -> Material:
    ids = np.full(len(labels), 3)
    words = Encoded(ids, np.arange(len(labels) + 1), pieces=pieces_of(ids))
    weight = None if weights is None else np.array(weights)
    return Material(Batches(words, np.array(labels), weight), ())


def rows(*values: float) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64)


def everyone(like: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(like, dtype=torch.bool)


# Rank


def test_misranking_by_hand():
    fall, scores = rows(3, 1, 0), rows(0.5, 1, -1)
    # Gaps: first over second 2, first over third 3, second over third 1. Sum: 6.
    below = [scores[0, 1] - scores[0, 0], scores[0, 2] - scores[0, 0], scores[0, 2] - scores[0, 1]]
    expected = (2 * softplus(below[0]) + 3 * softplus(below[1]) + softplus(below[2])) / 6
    found = misranking(scores, fall, everyone(scores))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def test_equal_scores_cost_ln_2_whatever_the_falls():
    fall = torch.randn(4, 5, generator=rng(), dtype=torch.float64)
    assert float(misranking(torch.zeros_like(fall), fall, everyone(fall))) == pytest.approx(LN2)


def test_the_right_order_by_a_large_margin_costs_nothing_and_pulls_at_nothing():
    scores = rows(60.0, 20.0, -20.0, -60.0).requires_grad_()
    loss = misranking(scores, rows(0.9, 0.5, 0.1, -0.3), everyone(scores))
    (pull,) = torch.autograd.grad(loss, scores)
    assert float(loss.detach()) == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(pull, torch.zeros_like(pull), rtol=0, atol=1e-12)


def test_following_its_gradient_puts_scores_in_the_order_of_the_falls():
    fall = rows(0.2, -0.4, 0.7, 0.1)
    scores = rows(-1.0, 1.0, -2.0, 2.0).requires_grad_()
    for _ in range(300):
        (pull,) = torch.autograd.grad(misranking(scores, fall, everyone(fall)), scores)
        scores = (scores - pull).detach().requires_grad_()
    assert scores.argsort().tolist() == fall.argsort().tolist()


def test_documents_without_pairs_or_without_differences_count_nothing():
    fall = torch.tensor([[0.4, 0.0], [0.3, 0.3]], dtype=torch.float64)
    scores = torch.tensor([[1.0, 2.0], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    is_drawn = torch.tensor([[True, False], [True, True]])
    loss = misranking(scores, fall, is_drawn)
    (pull,) = torch.autograd.grad(loss, scores)
    assert float(loss.detach()) == 0
    assert (pull == 0).all()


ENCODERS = [
    {"encoder": "embedding"}, {"encoder": "mlp", "projection": "sparsemax"},
    {"encoder": "bilstm:hidden_size=4"}, {"encoder": "gru:hidden_size=3", "projection": "entmax"},
    {"encoder": "bilstm:hidden_size=3:skip=concat"}, {"encoder": "cnn"},
    {"encoder": "votes:filters=5", "keys": "bilstm:hidden_size=4"},
    {"encoder": "bilstm:hidden_size=4", "keys": "separate"},
    {"encoder": "transformer:hidden_size=8:heads=2", "projection": "k-hot:k=2"},
    {"encoder": "pretrained:source=tiny"},
]  # fmt: skip


@pytest.mark.parametrize("options", ENCODERS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_falls_are_leave_one_out_in_log_probability_without_dropout(options, classes):
    model, batch = a_model(classes=classes, **options), a_batch(6, 4, 2, 1)
    target = predicted(model, batch)
    probability = model(batch).logits.softmax(dim=-1).gather(1, target.unsqueeze(1)).detach()
    without = probability - importances["leave-one-out"](model, batch, target)
    model.dropout.p = 0.5
    model.train()
    places = torch.arange(6).expand(4, 6)
    found = falls(model, batch, places, batch.is_token)
    expected = (probability.log() - without.log()) * batch.is_token
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    assert model.training
    assert model.dropout.training


def with_unknown(model, batch, *places: int):
    """The batch with an unknown word at some places, in the numbers of words and of pieces."""
    token_ids, piece_ids = batch.token_ids.clone(), batch.piece_ids.clone()
    for place in places:
        token_ids[:, place] = UNKNOWN_WORD
        piece_ids[:, place] = NO_PIECE
        piece_ids[:, place, 0] = getattr(model.encoder, "unknown", NO_PIECE)
    return replace(batch, token_ids=token_ids, piece_ids=piece_ids)


@pytest.mark.parametrize("options", ENCODERS, ids=str)
def test_falls_of_replaced_words_are_read_with_an_unknown_word_in_their_place(options):
    model, batch = a_model(**options), a_batch(6, 4, 2, 1)
    of_target = predicted(model, batch).unsqueeze(1)
    whole = model(batch).logits.log_softmax(dim=-1).gather(1, of_target)
    places = torch.arange(6).expand(4, 6)
    found = falls(model, batch, places, batch.is_token, is_replaced=True)
    for place in range(6):
        other = model(with_unknown(model, batch, place))
        read = other.logits.log_softmax(dim=-1).gather(1, of_target)
        expected = ((whole - read).squeeze(1) * batch.is_token[:, place]).detach()
        torch.testing.assert_close(found[:, place], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_falls_are_taken_from_the_words_that_are_left(is_replaced):
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(6)
    is_left = torch.tensor([[True, False, True, True, False, True]])
    target = int(predicted(model, batch))
    model.dropout.p = 0.5  # the class is what the model says without it

    def log_p(*missing: int) -> torch.Tensor:
        if is_replaced:
            logits = model(with_unknown(model, batch, 1, 4, *missing)).logits
        else:
            kept = [place for place in (0, 2, 3, 5) if place not in missing]
            words = model.embedding(batch.token_ids[:, kept])
            logits = model.read(words, torch.ones(1, len(kept), dtype=torch.bool)).logits
        return logits.log_softmax(dim=-1)[0, target].detach()

    places = torch.tensor([[3, 0]])
    is_drawn = torch.ones(1, 2, dtype=torch.bool)
    model.train()
    found = falls(model, batch, places, is_drawn, is_replaced, is_left)
    model.eval()
    expected = torch.stack([log_p() - log_p(3), log_p() - log_p(0)]).unsqueeze(0)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)


# Shortened texts


def test_drawn_words_stay_and_what_is_no_word_does_not_come_in():
    is_token = torch.arange(9) < torch.tensor([[9], [6], [2], [1]])
    places = torch.tensor([[4, 0, 8], [5, 1, 2], [0, 1, 2], [0, 1, 2]])
    is_drawn = is_token.gather(1, places)
    for seed in range(30):
        is_left = shortened(is_token, places, is_drawn, 1.0, rng(seed))
        assert is_left.gather(1, places)[is_drawn].all()
        assert not (is_left & ~is_token).any()


def test_how_many_other_words_stay_is_drawn_evenly_as_for_shapley_values():
    # Each of n others stays with a chance that is itself drawn evenly from 0 to 1: then a given
    # one stays in 1/2 of the texts, two given ones in 1/3, and none, 1, … n are equally likely.
    rows_, others = 20_000, 5
    is_token = torch.ones(rows_, others + 1, dtype=torch.bool)
    places = torch.zeros(rows_, 1, dtype=torch.long)
    is_left = shortened(is_token, places, places == 0, 1.0, rng())[:, 1:]
    assert float(is_left[:, 0].float().mean()) == pytest.approx(1 / 2, abs=0.015)
    assert float(is_left[:, :2].all(dim=1).float().mean()) == pytest.approx(1 / 3, abs=0.015)
    counts = is_left.sum(dim=1).bincount(minlength=others + 1) / rows_
    torch.testing.assert_close(counts, torch.full((6,), 1 / 6), rtol=0, atol=0.015)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_texts_is_shortened(share):
    is_token = torch.ones(4000, 30, dtype=torch.bool)
    places = torch.zeros(4000, 1, dtype=torch.long)
    is_left = shortened(is_token, places, places == 0, share, rng())
    # Of the shortened texts, one in 30 keeps all 29 other words all the same.
    expected = 1 - share * 29 / 30
    assert float(is_left.all(dim=1).float().mean()) == pytest.approx(expected, abs=0.03)


def test_ranks_falls_are_taken_from_shortened_texts():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(9, 9)
    trace = model(batch)
    for deletions, changes in [(9, False), (4, True)]:  # of nine words: all are drawn, or four
        whole, some = (
            float(rank(model, batch, trace, 1.0, deletions, rng(), shortened_share=share).detach())
            for share in (0.0, 1.0)
        )
        assert (whole != pytest.approx(some)) == changes


def test_draws_are_different_words_half_of_them_by_attention():
    is_token = torch.arange(8) < torch.tensor([[8], [5], [3], [1]])
    weights = is_token * 1e-12
    weights[:, 0] = 1.0
    weights[:2, 3] = 1.0  # where it may be, all attention is on words 0 and 3
    drawn = torch.zeros(8)
    for seed in range(200):
        places, is_drawn = draw_places(weights, is_token, 4, rng(seed))
        assert places.shape == (4, 4)
        for row, (own, used) in enumerate(zip(places, is_drawn, strict=True)):
            words = own[used].tolist()
            assert len(set(words)) == len(words) == min(4, int(is_token[row].sum()))
            assert is_token[row, words].all()
        assert {0, 3} <= set(places[0].tolist())
        drawn[places[0]] += 1
    # Two of the other six words each time: about 67 of 200 each.
    assert ((drawn[[1, 2, 4, 5, 6, 7]] > 40) & (drawn[[1, 2, 4, 5, 6, 7]] < 95)).all()


# Keep and drop


def test_top_words_are_counted_up_and_equal_ones_come_in_their_order():
    scores = torch.tensor([[0.1, 0.9, 0.5, 0.9, -3.0], [7.0, 0.0, 5.0, 5.0, 5.0]])
    is_token = torch.tensor([[True] * 5, [True, True, False, False, False]])
    for share, first, second in [
        (0.1, [1], [0]),
        (0.2, [1], [0]),
        (0.5, [1, 2, 3], [0]),
        (1.0, [0, 1, 2, 3, 4], [0, 1]),
    ]:
        is_top = top_words(scores, is_token, share)
        assert [row.nonzero().flatten().tolist() for row in is_top] == [first, second]


@pytest.mark.parametrize("name", projections)
def test_top_words_have_the_most_weight_under_every_projection(name):
    scores = torch.randn(6, 9, generator=rng(), dtype=torch.float64)
    is_token = torch.arange(9) < torch.tensor([[9], [8], [5], [3], [2], [1]])
    weights = projections.make(name)(scores, is_token)
    is_top = top_words(scores, is_token, 0.4)
    lowest = weights.masked_fill(~is_top, torch.inf).amin(dim=1)
    highest_other = weights.masked_fill(is_top | ~is_token, -torch.inf).amax(dim=1)
    assert (lowest >= highest_other - 1e-12).all()


@pytest.mark.parametrize("options", ENCODERS, ids=str)
def test_to_keep_all_words_costs_the_cross_entropy_of_the_text(options):
    model, batch = a_model(**options), a_batch(5, 3, 1)
    expected = torch_cross_entropy(model(batch).logits, batch.labels)
    trace = model(batch)
    targets = Faithful().prepare(model, material(0, 1))
    found = keep(model, batch, trace, top_words(trace.scores, batch.is_token, 1.0), targets)
    torch.testing.assert_close(found, expected)


def test_keep_reads_the_top_words_as_a_text_of_their_own():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(4)
    is_top = torch.tensor([[True, False, False, True]])
    words = model.embedding(batch.token_ids[:, [0, 3]])
    alone = model.read(words, torch.ones(1, 2, dtype=torch.bool))
    expected = torch_cross_entropy(alone.logits, batch.labels)
    targets = Faithful().prepare(model, material(0, 1))
    torch.testing.assert_close(keep(model, batch, model(batch), is_top, targets), expected)


@pytest.mark.parametrize("penalty", ["keep", "drop"])
def test_other_words_are_replaced_if_asked_and_the_text_keeps_its_length(penalty):
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(4)
    trace = model(batch)
    is_top = torch.tensor([[True, False, False, True]])
    of_label = torch.tensor([0.3, 0.7], dtype=torch.float64)
    targets = Faithful().prepare(model, material(0, 1))
    if penalty == "keep":
        other = with_unknown(model, batch, 1, 2)
        expected = torch_cross_entropy(model(other).logits, batch.labels)
        found = keep(model, batch, trace, is_top, targets, is_replaced=True)
    else:
        other = with_unknown(model, batch, 0, 3)
        log_p = model(other).logits.log_softmax(dim=-1)
        expected = (of_label * (of_label.log() - log_p)).sum()
        found = drop(model, batch, trace, is_top, of_label, is_replaced=True)
    torch.testing.assert_close(found, expected)


# Drop and away


@pytest.mark.parametrize("penalty", [drop, away])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.3, 0.5)])
def test_nothing_is_paid_where_the_answer_is_the_shares_of_the_labels(penalty, shares):
    model, batch = a_model(classes=len(shares), encoder="embedding"), a_batch(5, 3, 1)
    of_label = torch.tensor(shares, dtype=torch.float64)
    logits = of_label.log()
    with torch.no_grad():
        model.output.linear.weight.zero_()
        model.output.linear.bias.copy_(logits if len(shares) > 2 else logits[1:] - logits[:1])
    trace = model(batch)
    is_top = top_words(trace.scores, batch.is_token, 0.2)
    assert penalty(model, batch, trace, is_top, of_label).item() == pytest.approx(0, abs=1e-12)
    other = of_label.flip(0) + torch.linspace(0, 0.1, len(shares))
    expected = (other * (other.log() - logits)).sum()  # any other shares cost their divergence
    torch.testing.assert_close(penalty(model, batch, trace, is_top, other), expected)


def test_away_spreads_all_weight_over_the_other_words_and_leaves_the_states_as_they_are():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(4)
    is_top = torch.tensor([[True, False, False, True]])
    trace = model(batch)
    logits = model.output(trace.hidden[:, 1:3].mean(dim=1))
    even = torch.full((2,), 0.5, dtype=torch.float64)
    expected = (even * (even.log() - logits.log_softmax(dim=-1))).sum()
    torch.testing.assert_close(away(model, batch, trace, is_top, even), expected)


@pytest.mark.parametrize("encoder", ["embedding", "mlp"])
def test_without_context_and_with_equal_scores_to_look_away_is_to_take_words_away(encoder):
    model, batch = a_model(encoder=encoder), a_batch(6, 3, 1)
    with torch.no_grad():
        for parameter in model.alignment.parameters():
            parameter.zero_()
    trace, of_label = model(batch), torch.tensor([0.3, 0.7], dtype=torch.float64)
    is_top = torch.zeros_like(batch.is_token)
    is_top[:, 0] = True
    found = [part(model, batch, trace, is_top, of_label) for part in (away, drop)]
    torch.testing.assert_close(*found)


def test_away_moves_what_states_are_made_of_and_not_where_to_look():
    model, batch = a_model(encoder="bilstm:hidden_size=4", keys="separate"), a_batch(6, 4, 2)
    penalty(Faithful(0.0, 0.0, 0.0, 1.0), model, batch).backward()
    for part in model.attention_parts:
        assert all(p.grad is None or not p.grad.any() for p in part.parameters())
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.encoder.parameters())


def test_the_shares_of_the_labels_count_documents_by_their_weight():
    model = a_model(encoder="embedding")
    for weights, expected in [(None, [0.75, 0.25]), ((2 / 3, 2 / 3, 2 / 3, 2.0), [0.5, 0.5])]:
        prepared = Faithful().prepare(model, material(0, 0, 0, 1, weights=weights))
        assert prepared.of_label.tolist() == pytest.approx(expected)


# The recipe


def penalty(recipe, model, batch, seed: int = 0) -> torch.Tensor:
    prepared = recipe.prepare(model, material(0, 0, 1))
    return recipe.penalty(model, batch, model(batch), prepared, rng(seed))


def test_the_penalty_is_the_weighted_sum_of_its_four_parts():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(6, 4, 2)
    alone = [
        penalty(Faithful(*weights, shares=(0.2,)), model, batch) for weights in np.eye(4).tolist()
    ]
    found = penalty(Faithful(2.0, 3.0, 4.0, 5.0, shares=(0.2,)), model, batch)
    expected = 2 * alone[0] + 3 * alone[1] + 4 * alone[2] + 5 * alone[3]
    torch.testing.assert_close(found, expected)
    assert all(float(part.detach()) > 0 for part in alone)


def test_words_are_replaced_in_a_share_of_the_batches():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(6, 4, 2)
    keeps = Faithful(rank_weight=0.0, away_weight=0.0, shares=(0.2,))
    deleted, replaced = (
        penalty(replace(keeps, replaced_share=share), model, batch).item() for share in (0.0, 1.0)
    )
    assert deleted != pytest.approx(replaced)
    drawn = [
        penalty(replace(keeps, replaced_share=0.3), model, batch, seed).item()
        for seed in range(100)
    ]
    count = sum(value == pytest.approx(replaced) for value in drawn)
    assert count + sum(value == pytest.approx(deleted) for value in drawn) == 100
    assert 15 < count < 45


def test_all_words_of_a_text_may_be_its_top_words():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(6, 4, 2)
    whole = Faithful(0.0, 1.0, 0.0, 0.0, shares=(1.0,))
    expected = torch_cross_entropy(model(batch).logits, batch.labels)
    torch.testing.assert_close(penalty(whole, model, batch), expected)


@pytest.mark.parametrize(("share", "ranked"), [(0.1, 1), (0.25, 1), (0.5, 2), (1.0, 4)])
def test_only_some_documents_of_a_batch_are_ranked(share, ranked):
    model, batch = a_model(encoder="embedding"), a_batch(6, 5, 4, 3)
    seen = set()
    for seed in range(20):
        trace = model(batch)
        loss = rank(model, batch, trace, share, 4, rng(seed))
        (pull,) = torch.autograd.grad(loss, trace.scores)
        pulled = (pull.abs() > 0).any(dim=1)
        assert int(pulled.sum()) == ranked
        seen |= set(pulled.nonzero().flatten().tolist())
    assert seen == {0, 1, 2, 3}


def test_it_composes_with_other_penalties():
    both = recipes.make("faithful:rank_weight=1.0,diversity")
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(6, 4, 2)
    expected = penalty(Faithful(1.0), model, batch) + penalty(Diversity(), model, batch)
    torch.testing.assert_close(penalty(both, model, batch), expected)


def test_rank_moves_what_scores_are_made_of_and_not_the_output():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(6, 4, 2)
    penalty(Faithful(1.0, 0.0, 0.0, 0.0), model, batch).backward()
    assert all(parameter.grad is None for parameter in model.output.parameters())
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.alignment.parameters())


def test_weights_that_are_not_given_depend_on_whether_the_encoder_is_fine_tuned():
    small, large = (
        a_model(encoder="bilstm:hidden_size=4"),
        a_model(encoder="pretrained:source=tiny"),
    )
    holding = Faithful(holds_body=True)
    assert Faithful().weights(small) == (1.0, 0.5, 0.0, 0.5)
    assert Faithful().weights(large) == (1.0, 1.0, 0.3, 0.3)
    assert holding.weights(large) == (1.0, 1.0, 0.3, 1.0)
    assert Faithful(keep_weight=0.0).weights(large) == (1.0, 0.0, 0.3, 0.3)
    lengths = [(r.length(small, 7000), r.length(large, 7000)) for r in (Faithful(), holding)]
    assert lengths == [(4, 3), (4, 6)]
    shares = [r.usual(large).replaced_share for r in (Faithful(), holding)]
    assert shares == [0.0, 0.5]


def test_few_documents_take_more_epochs_in_both_parts():
    small, large = a_model(encoder="embedding"), a_model(encoder="pretrained:source=tiny")
    documents = (17_000, 8_000, 5_000, 2_000, 1_250, 40)
    holding = Faithful(holds_body=True)
    assert [Faithful().first_length(small, n) for n in documents] == [4, 4, 5, 5, 5, 5]
    assert [Faithful().length(small, n) for n in documents] == [4, 4, 5, 8, 8, 8]
    assert [Faithful().first_length(large, n) for n in documents] == [3] * 6
    assert [Faithful().length(large, n) for n in documents] == [3, 3, 3, 5, 8, 8]
    assert [holding.length(large, n) for n in documents] == [6, 6, 6, 6, 8, 8]
    given = Faithful(first_epochs=3, epochs=2)
    assert (given.first_length(small, 40), given.length(large, 40)) == (3, 2)


# The teacher


def by_hand(logits, labels, taught, weight):
    of_label = torch_cross_entropy(logits, labels)
    return (1 - weight) * of_label + weight * torch_cross_entropy(logits, taught)


def test_the_loss_weighs_labels_against_what_the_teacher_said():
    model, batch = a_model(encoder="embedding"), a_batch(5, 3, 1)
    targets = Faithful().prepare(model, material(0, 1, 1))
    taught = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    for weight in (0.0, 0.3, 1.0):
        targets.remember(taught.numpy(), weight)
        expected = by_hand(model(batch).logits, batch.labels, taught, weight)
        torch.testing.assert_close(targets.loss(model(batch).logits, batch), expected)


def test_a_teacher_is_asked_about_the_documents_of_the_batch():
    model, batch = a_model(encoder="embedding"), a_batch(5, 3)
    taught = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]], dtype=np.float32)
    targets = Faithful().prepare(model, material(0, 1, 1, 0))
    targets.remember(taught, 1.0)
    chosen = replace(batch, indices=np.array([3, 1]))
    expected = by_hand(model(batch).logits, batch.labels, torch.from_numpy(taught[[3, 1]]), 1.0)
    torch.testing.assert_close(targets.loss(model(batch).logits, chosen), expected)


def test_the_labels_come_first_and_then_what_the_model_says_of_each_text_teaches_it():
    model, texts = a_model(encoder="embedding"), material(0, 1, 1)
    recipe = Faithful(first_epochs=2, epochs=3, teacher_weight=0.4)
    phases = recipe.phases(model, texts)
    first = next(phases)
    assert (first.name, first.epochs, first.counted_too) == ("labels only", 2, {})
    chosen_by = (first.keep, first.select_by, first.averaging)
    assert (*chosen_by, first.holds) == ("best", "loss", 1.0, ())
    then = next(phases)
    assert then.epochs == 3
    (targets,) = [part for part in then.learns if part is not model]
    assert targets.teacher_weight == 0.4
    np.testing.assert_allclose(targets.taught.numpy(), predict(model, texts.documents), rtol=1e-6)
    assert not list(targets.parameters())


def test_embeddings_are_held_while_attention_learns_unless_asked_otherwise():
    small = a_model(encoder="bilstm:hidden_size=4")
    *_, then = Faithful().phases(small, material(0, 1, 1))
    assert then.holds == [small.embedding]
    assert not Faithful(holds_embeddings=False).held(small)


def test_nothing_is_held_that_has_learnt_nothing():
    small = a_model(encoder="bilstm:hidden_size=4")
    large = a_model(encoder="pretrained:source=tiny")
    frozen = a_model(encoder="pretrained:source=tiny:frozen=true")
    at_once = Faithful(first_epochs=0)
    assert not at_once.held(small)
    assert not at_once.held(large)
    assert at_once.held(frozen)


def test_all_but_what_is_on_top_of_a_pretrained_encoder_is_held_if_asked_for():
    large = a_model(encoder="pretrained:source=tiny:votes=3")
    *_, then = Faithful(holds_body=True).phases(large, material(0, 1, 1))
    held = {parameter for module in then.holds for parameter in module.parameters()}
    learnt = {name for name, parameter in large.named_parameters() if parameter not in held}
    on_top = ("encoder.vote.", "alignment.", "output.")
    assert learnt == {n for n, _ in large.named_parameters() if n.startswith(on_top)}
    assert len(learnt) >= 6
    assert not Faithful().held(large)


def test_beside_another_penalty_it_still_holds_the_embeddings_and_averages_weights():
    small = a_model(encoder="bilstm:hidden_size=4")
    both = recipes.make("all-of:of=diversity,faithful")
    *_, then = both.phases(small, material(0, 1, 1))
    assert (then.holds, then.averaging, then.keep) == ([small.embedding], 1.0, "last")
    *_, alone = recipes.make("all-of:of=diversity,vw-penalty").phases(
        a_model(alignment="dot", encoder="embedding"), material(0, 1, 1)
    )
    assert (alone.holds, alone.averaging, alone.keep) == ([], None, "best")


def test_a_pretrained_encoder_gets_votes_of_its_layers_where_nothing_else_is_asked_for():
    settings = Settings().with_(encoder="pretrained:source=tiny")
    assert (settings.model.encoder.votes, settings.model.encoder.layers) == (None, None)
    for made in (
        settings.with_(recipe="faithful"),
        Settings().with_(recipe="faithful").with_(encoder="pretrained:source=tiny"),
        settings.with_(recipe="all-of:of=vw-penalty,faithful"),
    ):
        assert (made.model.encoder.votes, made.model.encoder.layers) == (64, 7)
    asked = settings.with_(recipe="faithful", encoder="pretrained:votes=0:layers=1")
    assert (asked.model.encoder.votes, asked.model.encoder.layers) == (0, 1)
    assert Settings().with_(recipe="faithful").model.encoder == Settings().model.encoder


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (Faithful(), [("best", "loss", 1.0), ("last", None, 1.0)]),
        (
            Faithful(first_averaging=0.0, averaging=0.5),
            [("best", "loss", 0.0), ("last", None, 0.5)],
        ),
        (Faithful(averaging=0.0), [("best", "loss", 1.0), ("best", None, 0.0)]),
    ],
)
def test_from_scratch_it_ends_with_the_lowest_dev_loss_and_then_with_the_last_average(
    recipe, expected
):
    phases = recipe.phases(a_model(encoder="bilstm:hidden_size=4"), material(0, 1, 1))
    assert [(phase.keep, phase.select_by, phase.averaging) for phase in phases] == expected


def test_a_pretrained_encoder_that_learns_slows_down_and_chooses_as_the_training_does():
    small = a_model(encoder="bilstm:hidden_size=4")
    large = a_model(encoder="pretrained:source=tiny")

    def ends(recipe, model):
        phases = recipe.phases(model, material(0, 1, 1))
        return [(phase.select_by, phase.final_rate_share) for phase in phases]

    assert ends(Faithful(), large) == [(None, 1.0), (None, 0.1)]
    assert ends(Faithful(), small) == [("loss", 1.0), (None, 1.0)]
    assert ends(Faithful(holds_body=True), large)[-1] == (None, 1.0)
    assert ends(Faithful(final_rate_share=0.3), small)[-1] == (None, 0.3)
    both = recipes.make("all-of:of=diversity,faithful")
    assert ends(both, large)[-1] == (None, 0.1)


def test_a_pretrained_encoder_ends_with_its_best_epoch_and_what_is_on_top_is_averaged():
    large = a_model(encoder="pretrained:source=tiny")
    phases = Faithful(holds_body=True).phases(large, material(0, 1, 1))
    assert [(phase.keep, phase.averaging) for phase in phases] == [("best", None), ("best", 1.0)]
    assert Faithful().averaged(large) is None


def test_without_first_epochs_there_is_no_teacher_and_accuracy_tells_the_best_epoch():
    model = a_model(encoder="embedding")
    (only,) = Faithful(first_epochs=0).phases(model, material(0, 1, 1))
    (targets,) = [part for part in only.learns if part is not model]
    assert (targets.teacher_weight, only.counted_too) == (0.0, {})


def test_answers_from_the_top_words_count_as_much_in_choosing_the_best_epoch():
    model, batch = a_model(encoder="bilstm:hidden_size=4"), a_batch(10, 10)
    is_top = top_words(model(batch).scores, batch.is_token, 0.2)
    assert is_top.sum(dim=1).tolist() == [2, 2]
    expected = model(batch.kept(torch.arange(2), is_top)).logits
    (of_top,) = Faithful().counted_too(model).values()
    torch.testing.assert_close(of_top(batch).logits, expected)


def test_models_whose_attention_cannot_learn_are_refused_in_a_sentence():
    for name in ("uniform", "frozen"):
        with pytest.raises(ConfigError, match=f"cannot learn with the projection {name}"):
            Faithful().prepare(a_model(projection=name), material(0, 1))
    with pytest.raises(ConfigError, match="a pooling model has none"):
        Faithful().prepare(a_model(pooling="mean"), material(0, 1))
    ordinary, settings = a_model(encoder="embedding"), Settings().model
    tokens = blindfold(ordinary, 3, settings.alignment, settings.projection, seed=1)
    with pytest.raises(ConfigError, match="does not attend to words"):
        Faithful().prepare(tokens, material(0, 1))


@pytest.mark.parametrize(
    "wrong",
    [
        "deletions=1",
        "shortened_share=1.5",
        "final_rate_share=-0.1",
        "epochs=0",
        "rank_weight=-1.0",
        "away_weight=-0.1",
        "shares=0.0",
        "shares=0.5+1.5",
        "ranked_share=0",
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ConfigError, match=wrong.partition("=")[0]):
        recipes.make(f"faithful:{wrong}")


def test_one_class_is_refused_in_a_sentence():
    with pytest.raises(DataError, match="label"):
        heedful.Classifier(recipe="faithful").fit(["good film"] * 10, ["p"] * 10)


@pytest.mark.parametrize("recipe", ["faithful", "diversity,faithful"])
def test_texts_of_one_word_are_refused_in_a_sentence(recipe, tmp_path):
    words = Labelled(["good", "bad"] * 12, np.array([0, 1] * 12))
    task = Task(("p", "n"), words, words, words, {})
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(ConfigError, match="every training text has only one"):
        train(task, Settings().with_(recipe=recipe, min_documents=1), folder=folder)
    assert not folder.path.exists()


def test_texts_of_two_words_are_learnt():
    texts = ["good good", "bad bad"] * 12
    classifier = heedful.Classifier(
        encoder="bilstm:hidden_size=4", recipe="faithful:epochs=8", min_documents=1,
        optimizer="adam:learning_rate=0.05", batch_size=8,
    )  # fmt: skip
    classifier.fit(texts, ["p", "n"] * 12, dev=(texts, ["p", "n"] * 12))
    assert classifier.score(texts, ["p", "n"] * 12) == 1


def trained_on(corpus: heedful.Corpus, recipe: str, encoder: str) -> heedful.Classifier:
    """A model that finds every label."""
    classifier = heedful.Classifier(
        encoder=encoder, recipe=f"{recipe}:epochs=4", embedding_size=16, split="spaces",
        optimizer="adam:learning_rate=0.01", patience=None,
    )  # fmt: skip
    classifier.fit(
        corpus.train.texts, corpus.train.labels, dev=(corpus.dev.texts, corpus.dev.labels)
    )
    assert classifier.score(corpus.test.texts, corpus.test.labels) > 0.97
    return classifier


def evidence_mass(recipe: str, corpus: heedful.Corpus, encoder: str) -> float:
    """Mean share of attention on the planted words."""
    shown = trained_on(corpus, recipe, encoder).attention(corpus.test.texts)
    return float(
        np.mean([a.weights[[not w.startswith("neutral") for w in a.words]].sum() for a in shown])
    )


def test_attention_on_planted_evidence_rises_against_standard_training():
    corpus = Planted(documents=2000)()
    mass = {r: evidence_mass(r, corpus, "bilstm:hidden_size=16") for r in ("standard", "faithful")}
    assert mass["faithful"] > mass["standard"] + 0.2, mass


def test_attention_without_context_stays_on_planted_evidence():
    corpus = Planted(documents=2000)()
    assert evidence_mass("faithful", corpus, "embedding") > 0.8


def test_less_of_the_decision_reaches_the_output_past_the_weights():
    corpus = Planted(documents=1000)()
    score = {}
    for weight in (0.0, 1.0):
        recipe = f"faithful:away_weight={weight}"
        classifier = trained_on(corpus, recipe, "bilstm:hidden_size=16")
        answer = heedful.audit(classifier, corpus.test, asked=["decisive"], sample=50)
        (test,) = [t for t in answer.answer("decisive").tests if t.name == "look away"]
        score[weight] = test.score.score
    assert score[1.0] > score[0.0] + 0.1, score
