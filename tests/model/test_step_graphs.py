from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from heedful.model import step_graphs
from heedful.model.build import build_model
from heedful.model.step_graphs import (
    MOST_PIECES,
    RECORDED,
    SEEN_BEFORE,
    Body,
    StepReader,
    record,
    room_for,
)
from heedful.text.batching import Batches
from heedful.text.vocabulary import Encoded
from heedful.training.settings import Settings
from tests.model.tiny_pretrained import pieces_of, tiny_source

USUAL = ("hidden_dropout_prob", "attention_probs_dropout_prob")
DROPOUTS = dict.fromkeys(RECORDED, USUAL) | {"distilbert": ("dropout", "attention_dropout")}


def a_model(kind="bert", **dropout):
    settings = Settings().with_(encoder="pretrained", dropout=0.0).model
    source = tiny_source(kind, **dict.fromkeys(DROPOUTS[kind], 0.0) | dropout)
    return build_model(settings, 30, 2, seed=1, pretrained=source).train()


def a_batch(lengths=(3, 1, 6)):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.arange(4, 4 + starts[-1])
    return Batches(Encoded(ids, starts, pieces=pieces_of(ids))).whole()


class Recorder:
    """Records as a GPU would: each recording has one place for what it finds, used again."""

    def __init__(self, error: Exception | None = None) -> None:
        self.recorded, self.error = [], error
        self.error_of_replays: Exception | None = None

    def __call__(self, body, inputs, is_read, pool):
        if self.error:
            raise self.error
        self.recorded.append((tuple(inputs.shape), body.is_rounded, body.inner.training, pool))
        place = {}

        def reading(inputs, is_read):
            if self.error_of_replays:
                raise self.error_of_replays
            found = body(inputs, is_read)
            if "last" in place:
                place["last"].data.fill_(torch.nan)
            place["last"] = found
            return found

        return reading


def a_reader(model, recorder, is_rounded=False, kind="bert", **options):
    pools = iter(range(9))
    reader = StepReader(
        model.encoder.inner, model.encoder.layers, kind, is_rounded, recorder=recorder,
        new_pool=lambda: next(pools),
        **{"has_memory": lambda: True, **options},
    )  # fmt: skip
    model.encoder.step_reader = reader
    return reader


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(step_graphs, "SEEN_BEFORE", 0)


def gradients(model, batch):
    model.zero_grad()
    model(batch).logits.square().sum().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def test_wider_rows_and_recordings_change_neither_answers_nor_gradients(at_once):
    model, batch = a_model(), a_batch()
    plain, pulled = model(batch), gradients(model, batch)
    recorder = Recorder()
    reader = a_reader(model, recorder)
    for ours, theirs in zip(gradients(model, batch), pulled, strict=True):
        torch.testing.assert_close(ours, theirs)
    reader.begin_step()
    torch.testing.assert_close(model(batch).logits, plain.logits)
    assert [shape for shape, *_ in recorder.recorded] == [(3, 16, 6)]  # 9 pieces and 2 around them


def test_a_shape_is_recorded_once_it_has_come_often(at_once, monkeypatch):
    monkeypatch.setattr(step_graphs, "SEEN_BEFORE", 2)
    model, recorder = a_model(), Recorder()
    reader = a_reader(model, recorder)
    for times, recorded in ((2, 0), (1, 1), (3, 1)):
        for _ in range(times):
            reader.begin_step()
            model(a_batch())
        assert len(recorder.recorded) == recorded
    assert SEEN_BEFORE > 2


def test_what_one_step_reads_twice_does_not_share_a_place(at_once):
    model, recorder = a_model(), Recorder()
    reader = a_reader(model, recorder)
    one, other = a_batch(), a_batch((6, 2, 2))
    for _ in range(2):
        reader.begin_step()
        first = model(one).logits
        model(other)
        assert first.isfinite().all()
        first.sum().backward()
    assert [pool for *_, pool in recorder.recorded] == [0, 1]


@pytest.mark.parametrize("is_rounded", [True, False])
def test_what_learns_may_be_rounded_and_what_is_looked_at_is_not(at_once, is_rounded):
    model, recorder = a_model(), Recorder()
    exact = model(a_batch()).hidden
    reader = a_reader(model, recorder, is_rounded)
    learning = model(a_batch()).hidden
    assert learning.dtype == torch.float32
    error = (learning - exact).abs().max().item()
    assert 5e-6 < error < 0.05 if is_rounded else error < 1e-6
    with torch.no_grad():
        model.eval()
        reader.begin_step()
        torch.testing.assert_close(model(a_batch()).hidden, exact)
    assert [found[1:3] for found in recorder.recorded] == [(is_rounded, True), (False, False)]


def test_what_cannot_be_recorded_is_read_without(at_once):
    model, batch = a_model(), a_batch()
    expected = model(batch).logits
    a_reader(model, Recorder(RuntimeError("operation not permitted\nmore of it")))
    with pytest.warns(RuntimeWarning, match=r"as a CUDA graph \(operation not permitted\): it is"):
        found = model(batch).logits
    torch.testing.assert_close(found, expected)
    model(batch)  # and is not tried again


def test_what_cannot_be_replayed_is_read_without(at_once):
    model, batch, recorder = a_model(), a_batch(), Recorder()
    expected = model(batch).logits
    reader = a_reader(model, recorder)
    model(batch)
    recorder.error_of_replays = RuntimeError("Offset increment outside graph capture\nmore of it")
    reader.begin_step()
    with pytest.warns(RuntimeWarning, match=r"be replayed as a CUDA graph \(Offset .* capture\):"):
        found = model(batch).logits
    torch.testing.assert_close(found, expected)
    reader.begin_step()
    model(batch)  # and is neither replayed nor recorded again
    assert len(recorder.recorded) == 1


def test_a_recording_that_fails_leaves_a_generator_that_is_not_being_recorded(monkeypatch):
    # What a GPU's generator does then is only seen on one: here, that it gets a copy of its state.
    given = []
    generator = SimpleNamespace(clone_state=lambda: "a copy", graphsafe_set_state=given.append)

    def fails(*_, **__):
        raise RuntimeError("operation not permitted")

    monkeypatch.setattr(torch.cuda, "make_graphed_callables", fails)
    monkeypatch.setattr(torch.cuda, "default_generators", {None: generator})
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: nullcontext())
    body = Body(a_model().encoder.inner, (1,), is_rounded=False)
    with pytest.raises(RuntimeError, match="not permitted"):
        record(body, torch.zeros(1, 8, 6), torch.ones(1, 8, dtype=torch.bool), pool=None)
    assert given == ["a copy"]


def test_the_first_recording_of_what_learns_is_the_first_reading_of_its_step(monkeypatch):
    monkeypatch.setattr(step_graphs, "SEEN_BEFORE", 1)
    model, recorder = a_model(), Recorder()
    reader = a_reader(model, recorder)
    one, wider = a_batch(), a_batch((2, 15, 3))
    for first, recorded in ((one, 0), (wider, 0), (one, 2)):
        reader.begin_step()
        model(first)
        model(one)
        assert len(recorder.recorded) == recorded
    held, recorder = a_model().requires_grad_(False), Recorder()
    reader = a_reader(held, recorder)
    for recorded in (0, 1):
        reader.begin_step()
        reader(torch.zeros(2, 8, 6, requires_grad=True), torch.ones(2, 8, dtype=torch.bool))
        assert len(recorder.recorded) == recorded


@pytest.mark.parametrize("most_pieces", [10, 10**4])
def test_a_small_step_that_is_not_recorded_is_not_rounded(most_pieces, monkeypatch):
    model, recorder = a_model(), Recorder()
    exact = model(a_batch()).hidden
    monkeypatch.setattr(step_graphs, "MOST_PIECES", most_pieces)
    a_reader(model, recorder, is_rounded=True)
    error = (model(a_batch()).hidden - exact).abs().max().item()
    assert error > 5e-6 if most_pieces == 10 else error < 1e-6
    assert not recorder.recorded


@pytest.mark.parametrize("kind", ["deberta", "bert"])
def test_only_known_architectures_are_recorded_and_only_with_memory_to_spare(at_once, kind):
    model, recorder = a_model(), Recorder()
    a_reader(model, recorder, kind=kind, has_memory=lambda: kind != "bert")
    model(a_batch())
    assert not recorder.recorded


def test_rooms_are_few_and_little_wider_than_needed():
    rooms = [room_for(8, needed) for needed in range(1, 513)]
    assert all(room >= needed for needed, room in enumerate(rooms, 1))
    assert all(room < 1.25 * needed + 8 for needed, room in enumerate(rooms, 1))
    assert all(room % 8 == 0 for room in rooms)
    assert len(set(rooms)) == 20
    # What is not recorded has the width it needs.
    assert room_for(MOST_PIECES, 100) == 104


def test_no_row_is_wider_than_the_model_has_positions(at_once):
    model, recorder = a_model(), Recorder()
    model.encoder.positions = 13
    a_reader(model, recorder)
    model(a_batch())
    assert recorder.recorded[0][0] == (3, 13, 6)
