"""Texts longer than the model: windows against what a plain loop over them gives."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import heedful
from heedful.auditing.questions.base import SHORT_SEARCH
from heedful.auditing.subjects.huggingface.loading import of_anything
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.auditing.subjects.huggingface.windows import SHARED, windows
from heedful.errors import ConfigError
from heedful.text.documents import Document, Documents
from tests.readouts.tiny import WORDS, planted_documents, tiny_model, tiny_tokenizer

PLAIN = [word for word in WORDS if not word.startswith("##") and word != "."]
MOST = 40


def long_text(words: int, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    return " ".join(rng.choice(PLAIN, size=words))


TEXTS = [long_text(95), "a good film", long_text(50, seed=1)]


@pytest.fixture(scope="module", params=["Bert", "GPT2"])
def subject(request):
    pair = tiny_model(request.param), tiny_tokenizer()
    return subjects_of(of_anything(pair, long_texts="windows"), ["last-cls"])[0]["last-cls"]


@pytest.fixture(scope="module")
def reading(subject):
    return subject.read(TEXTS)


def by_hand(subject, text: str) -> list[torch.Tensor]:
    """The windows of a text of one-piece words, as the model is given them."""
    (ids,) = subject.model.cutter.tokenizer([text], verbose=False).input_ids
    first, *middle, last = ids
    room = MOST - 2
    if len(middle) <= room:
        return [torch.tensor([ids])]
    number = -(-(len(middle) - room) // int(room * 0.75)) + 1
    starts = np.linspace(0, len(middle) - room, number).round().astype(int)
    return [torch.tensor([[first, *middle[s : s + room], last]]) for s in starts]


def starts_of(subject, text: str) -> list[int]:
    words = len(text.split())
    number = len(by_hand(subject, text))
    return np.linspace(0, words - (MOST - 2), number).round().astype(int).tolist()


@given(length=st.integers(1, 400), most=st.integers(12, 60), special=st.integers(0, 2))
def test_windows_are_of_one_length_share_a_quarter_and_leave_nothing_out(length, most, special):
    places = np.arange(1, length + 1)
    spans = np.stack([places, places + 1], axis=1)
    empty = np.zeros((special, 2), dtype=np.int64)
    found = windows(np.concatenate([empty, spans, empty]), most)
    total, room = length + 2 * special, most - 2 * special
    assert {len(window) for window in found} == {min(most, total)}
    inner = [window[special : len(window) - special] for window in found]
    np.testing.assert_array_equal(np.unique(np.concatenate(inner)), special + np.arange(length))
    for window in found:  # the special ones stand at both ends of each
        np.testing.assert_array_equal(window[:special], np.arange(special))
        np.testing.assert_array_equal(
            window[len(window) - special :], total - special + np.arange(special)
        )
    for one, other in pairwise(inner):
        assert len(np.intersect1d(one, other)) >= int(SHARED * room)


def test_a_template_that_leaves_no_room_is_refused():
    spans = np.array([[0, 0]] * 30 + [[n, n + 1] for n in range(20)])
    with pytest.raises(ConfigError, match=r"leaves room for 2 pieces of a text, and at least 8"):
        windows(spans, 32)


def test_logits_are_the_mean_of_the_windows(subject, reading):
    assert [len(some.windows) for some in reading.inner] == [4, 1, 2]
    assert (reading.cut, reading.in_windows) == (0, 2)
    for text, found in zip(TEXTS, reading.probabilities, strict=True):
        with torch.no_grad():
            logits = [subject.model.model(ids).logits for ids in by_hand(subject, text)]
        expected = torch.cat(logits).double().mean(dim=0).softmax(dim=-1)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(subject.predict_texts(TEXTS), reading.probabilities, atol=1e-6)


def test_every_word_has_its_mean_weight(subject, reading):
    text = TEXTS[0]
    assert reading.is_token[0].sum() == len(text.split())
    total = np.zeros(len(text.split()))
    row = 0 if subject.model.reads == "first" else -1
    subject.model.model.set_attn_implementation("eager")
    for start, ids in zip(starts_of(subject, text), by_hand(subject, text), strict=True):
        with torch.no_grad():
            last = subject.model.model(ids, output_attentions=True).attentions[-1]
        weights = last[0].mean(dim=0)[row, 1:-1].double().numpy()
        total[start : start + len(weights)] += weights
    np.testing.assert_allclose(reading.weights[0], total / total.sum(), atol=1e-6)


def test_importance_is_that_of_the_mean_logit(subject, reading):
    text, model = TEXTS[2], subject.model.model
    expected = np.zeros(len(text.split()))
    target = int(reading.prediction[2])
    parts = by_hand(subject, text)
    for start, ids in zip(starts_of(subject, text), parts, strict=True):
        embedded = model.get_input_embeddings()(ids).detach().requires_grad_()
        logit = model(inputs_embeds=embedded, attention_mask=torch.ones_like(ids)).logits
        (slope,) = torch.autograd.grad(logit[0, target], embedded)
        scores = (slope * embedded).sum(dim=-1)[0, 1:-1].detach().numpy() / len(parts)
        expected[start : start + len(scores)] += scores
    found = subject.importance(reading, "gradient-x-input")[2, : len(expected)]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_complete_measure_stays_complete(subject, reading):
    total = subject.importance(reading, "integrated-gradients").sum(axis=1)
    expected = subject.expected_sum(reading, "integrated-gradients")
    np.testing.assert_allclose(total, expected, rtol=0.02, atol=0.02)


def test_readings_of_layers_reach_every_window(subject, reading):
    for measure in ("attention-x-gradient", "alti", "decomposition", "leave-one-out"):
        found = subject.importance(reading, measure)
        assert np.isfinite(found).all()
        assert np.abs(found[0, -20:]).max() > 0  # beyond the first window


def test_the_own_weights_change_nothing_and_others_do(subject, reading):
    own = subject.decide(reading, reading.weights[:, None])[:, 0]
    np.testing.assert_allclose(own, reading.probabilities, atol=1e-5)
    one = np.zeros_like(reading.weights)
    one[:, 0] = 1.0
    moved = subject.decide(reading, one[:, None])[:, 0]
    assert np.abs(moved - reading.probabilities).max() > 1e-4


def test_an_adversary_searches_through_all_windows(subject, reading):
    found = subject.otherwise(reading, SHORT_SEARCH, seed=0)
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-6)
    decided = subject.decide(reading, found)
    farthest = reading.apart(found)[:, : SHORT_SEARCH.candidates].max(axis=1)
    assert (farthest > 0).all()
    kept = reading.moved(decided)[:, : SHORT_SEARCH.candidates]
    assert kept.max() < 0.06


def test_hidden_words_are_hidden_in_every_window(subject, reading):
    (pieces, *_) = reading.inner
    hidden = pieces.with_hidden(np.arange(95) == 30)
    counts = [window.inputs["attention_mask"].count(0) for window in hidden.windows]
    holds = [30 in window.word_of for window in pieces.windows]
    assert counts == [int(held) for held in holds]
    assert sum(counts) == 2  # where two windows overlap


def test_an_audit_counts_them_and_knows_how_they_were_read():
    pair = tiny_model("Bert"), tiny_tokenizer()
    documents = Documents(
        Document(long_text(20 + 15 * n, seed=n), "LABEL_0" if n % 2 else "LABEL_1")
        for n in range(4)
    )
    options = {"asked": ["decisive"], "tokenizer": pair[1]}
    cut = heedful.audit(pair[0], documents, **options)
    read = heedful.audit(pair[0], documents, long_texts="windows", **options)
    assert (cut.about["documents_cut"], read.about["documents_cut"]) == (2, 0)
    assert read.about["documents_in_windows"] == 2
    assert "documents_in_windows" not in cut.about
    assert read.about["longer_texts"] == "read in overlapping windows whose logits are averaged"
    assert read.about["identity"]["long_texts"] == "windows"
    assert read.about["mean_words"] > cut.about["mean_words"]


def test_short_texts_are_read_alike():
    pair = tiny_model("Bert"), tiny_tokenizer()
    texts = planted_documents(6).texts
    one, other = (of_anything(pair, long_texts=way).model for way in ("cut", "windows"))
    np.testing.assert_allclose(one.probabilities(texts), other.probabilities(texts), atol=1e-7)
