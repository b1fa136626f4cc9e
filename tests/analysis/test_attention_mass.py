"""How much attention lies on signs and on pieces that are no word."""

import numpy as np
import pytest
import torch

from heedful.analysis.instruments.attention_mass import AttentionMass, is_punctuation
from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.errors import DataError
from heedful.readouts import readouts
from heedful.text.documents import Document, Documents
from tests.auditing.doubles import a_subject
from tests.readouts.tiny import tiny_model, tiny_tokenizer


def documents(*texts: str) -> Documents:
    return Documents(Document(text) for text in texts)


def mass_on(found, kind: str) -> dict:
    return next(row for row in found.summary if row["on"] == kind)


def test_signs_are_told_from_words():
    assert all(map(is_punctuation, [",", ".", "...", "—", "”"]))
    assert not any(map(is_punctuation, ["a", "isn't", "3.5", "🙂", "日", "don’t", "+", "$"]))


def test_the_mass_on_punctuation_is_summed_by_hand():
    subject = a_subject({"good": 1.0}, weigh=lambda word: 3.0 if word == "," else 1.0)
    found = AttentionMass().analyse(subject, documents("good , film", "bad film"), 0)
    # 3 of 5 in the first document, nothing in the second; one word of three, and none of two
    assert mass_on(found, "punctuation")["mass"] == pytest.approx((3 / 5 + 0) / 2)
    assert mass_on(found, "punctuation")["even"] == pytest.approx((1 / 3 + 0) / 2)
    assert mass_on(found, "other words")["mass"] == pytest.approx((2 / 5 + 1) / 2)
    assert [row["on"] for row in found.summary] == ["punctuation", "other words"]  # no pieces
    (comma,) = found.tables["signs"]
    assert (comma["sign"], comma["occurrences"]) == (",", 1)
    assert comma["mass"] == pytest.approx(3 / 5 / 2)


@pytest.mark.parametrize("name", ["last-cls", "mean-layers", "rollout"])
def test_special_pieces_have_what_the_words_are_not_given(name):
    model = TransformerModel(tiny_model("Bert"), tiny_tokenizer())
    subject = subject_of(model, readouts.make(name), ("bad", "good"))
    texts = ["good old film .", "a bad film"]
    found = AttentionMass().analyse(subject, documents(*texts), 0)
    parts = [row["mass"] for row in found.summary]
    assert [row["on"] for row in found.summary] == ["special pieces", "punctuation", "other words"]
    assert sum(parts) == pytest.approx(1)
    assert 0 < parts[0] < 1


def test_special_pieces_of_the_last_layer_are_those_that_the_model_itself_shows():
    model, tokenizer = tiny_model("Bert"), tiny_tokenizer()
    subject = subject_of(TransformerModel(model, tokenizer), readouts.make("last-cls"), ("a", "b"))
    texts = ["good old film .", "a bad film"]
    shares = []
    model.set_attn_implementation("eager")
    for text in texts:
        with torch.no_grad():
            seen = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
        row = seen.attentions[-1][0, :, 0].mean(dim=0)  # of [CLS], over heads
        shares.append(float(row[0] + row[-1]))  # on [CLS] and [SEP]
    found = AttentionMass().analyse(subject, documents(*texts), 0)
    assert mass_on(found, "special pieces")["mass"] == pytest.approx(np.mean(shares), abs=1e-6)


def test_without_documents_there_is_nothing_to_look_at():
    with pytest.raises(DataError, match="attention-mass needs documents with words"):
        AttentionMass().analyse(a_subject({}), documents(), 0)
