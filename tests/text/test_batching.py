import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.text.batching import Batches
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
