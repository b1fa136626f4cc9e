import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.batching import Batches, Sizes
from heedful.text.pieces import joined
from heedful.text.vocabulary import Encoded

lengths = st.lists(st.integers(0, 30), min_size=1, max_size=60)


def encoded(lengths: list[int]) -> Encoded:
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Encoded(np.arange(3, 3 + starts[-1]), starts)


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(lengths=lengths, size=st.integers(1, 9), budget=st.integers(1, 100))
def test_every_document_comes_once_and_whole(lengths, size, budget):
    documents = encoded(lengths)
    batches = Batches(documents, batch_size=size, token_budget=budget)
    for order in (batches.by_length(), batches.shuffled(rng())):
        seen = []
        for batch in order:
            indices = batch.indices.tolist()
            for row, real, index in zip(batch.token_ids, batch.is_token, indices, strict=True):
                assert row[real].tolist() == documents[index].tolist()
                assert (row[~real] == 0).all()
                seen.append(index)
        assert sorted(seen) == list(range(len(lengths)))


@given(lengths=lengths, size=st.integers(1, 9), budget=st.integers(1, 100))
def test_a_batch_stays_within_its_size_and_budget_unless_one_document_fills_it(
    lengths, size, budget
):
    for batch in Batches(encoded(lengths), batch_size=size, token_budget=budget).shuffled(rng()):
        assert len(batch.indices) <= size
        assert batch.token_ids.numel() <= budget or len(batch.indices) == 1


def test_labels_and_weights_travel_with_their_documents():
    labels, weight = np.array([0, 1, 2]), np.array([1.0, 2.0, 3.0])
    batches = Batches(encoded([2, 5, 3]), labels, weight)
    (batch,) = batches.by_length()
    assert batch.labels.tolist() == labels[batch.indices].tolist() == [1, 2, 0]
    assert batch.example_weight.tolist() == [2.0, 3.0, 1.0]


def test_the_whole_corpus_in_one_batch_keeps_its_order():
    batch = Batches(encoded([2, 5, 0]), batch_size=1, token_budget=1).whole()
    assert batch.indices.tolist() == [0, 1, 2]
    assert batch.is_token.sum(dim=1).tolist() == [2, 5, 0]


def test_the_generator_alone_decides_the_order():
    batches = Batches(encoded([3] * 50), batch_size=4)
    orders = [[b.indices.tolist() for b in batches.shuffled(rng(seed))] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_documents_of_like_length_travel_together():
    mixed = [2, 90] * 200
    batches = Batches(encoded(mixed), batch_size=10)
    padded = sum(batch.is_token.numel() for batch in batches.shuffled(rng()))
    assert padded < 1.1 * sum(mixed)


def with_pieces(lengths: list[int]) -> Encoded:
    """Words of one to three pieces."""
    plain = encoded(lengths)
    pieces = joined([[number] * (1 + number % 3) for number in plain.token_ids.tolist()])
    return Encoded(plain.token_ids, plain.starts, pieces=pieces)


@given(lengths=lengths, size=st.integers(1, 9), has_pieces=st.booleans())
def test_sizes_are_told_without_a_look(lengths, size, has_pieces):
    documents = with_pieces(lengths) if has_pieces else encoded(lengths)
    for batch in Batches(documents, batch_size=size).shuffled(rng()):
        words = batch.is_token.sum(dim=1)
        pieces = (batch.piece_ids >= 0).sum(dim=(1, 2)) if has_pieces else words
        assert batch.sizes.words.tolist() == words.tolist()
        assert batch.sizes.pieces.tolist() == pieces.tolist()
        assert batch.longest_row == pieces.max()


@given(lengths=lengths, seed=st.integers(0, 99), has_pieces=st.booleans())
def test_kept_words_move_up_and_need_no_look_if_sizes_are_given(lengths, seed, has_pieces):
    batch = Batches(with_pieces(lengths) if has_pieces else encoded(lengths)).whole()
    document = torch.randint(len(lengths), (7,), generator=rng(seed))
    chosen = torch.rand(7, batch.is_token.shape[1], generator=rng(seed)) < 0.5
    is_kept = chosen & batch.is_token[document]
    plain = batch.kept(document, is_kept)
    wide = batch.kept(document, is_kept, batch.sizes.of(document.numpy()))
    assert plain.token_ids.shape[1] == max(1, is_kept.sum(dim=1).max())
    assert wide.longest_row == batch.sizes.pieces[document.numpy()].max()
    for kept in (plain, wide):
        assert kept.indices.tolist() == document.tolist()
        for row, of, is_there in zip(range(7), document, is_kept, strict=True):
            is_token = kept.is_token[row]
            words = batch.token_ids[of][is_there].tolist()
            assert kept.token_ids[row][is_token].tolist() == words
            assert is_token[: len(words)].all()
            assert (kept.token_ids[row][~is_token] == 0).all()
            if has_pieces:
                pieces = batch.piece_ids[of][is_there].tolist()
                assert kept.piece_ids[row][is_token].tolist() == pieces
                assert (kept.piece_ids[row][~is_token] == -1).all()


@given(
    words=st.lists(st.integers(1, 5000), min_size=1), share=st.sampled_from([0.1, 0.2, 0.5, 1.0])
)
def test_a_share_of_the_words_is_never_more_than_told(words, share):
    sizes = Sizes(np.array(words), 2 * np.array(words)).of_share(share, pieces_per_word=3)
    counted = (torch.tensor(words) * share - 1e-6).ceil().numpy()
    assert (counted <= sizes.words).all()
    assert (sizes.words <= np.minimum(words, counted + 2)).all()
    assert (sizes.pieces <= np.minimum(2 * np.array(words), 3 * sizes.words)).all()
