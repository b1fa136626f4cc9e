"""Attention on special positions, full stops and the first word is found and reported."""

import pytest
import torch

from heedful.auditing.subjects.huggingface.model import TransformerModel
from heedful.auditing.subjects.huggingface.sinks import FIRST, SIGNS, Sinks, is_sign
from heedful.auditing.subjects.huggingface.subject import subject_of
from heedful.readouts import readouts
from tests.readouts.tiny import tiny_model, tiny_tokenizer

TEXTS = ["good old film.", "bad"]


def counted(rows: list[list[float]]) -> Sinks:
    """Of texts in pieces: [CLS] good old film . [SEP], and [CLS] bad [SEP] with padding."""
    model = TransformerModel(tiny_model("Bert"), tiny_tokenizer())
    sinks = Sinks(model.cutter.tokenizer)
    sinks.add(torch.tensor(rows), model.cutter.pad(model.cutter.cut(TEXTS)))
    return sinks


def test_shares_are_counted_by_special_token_and_by_kind_of_word():
    sinks = counted([[0.2, 0.1, 0.1, 0.0, 0.2, 0.4], [0.5, 0.25, 0.25, 0.0, 0.0, 0.0]])
    assert sinks.outside["[CLS]"] == pytest.approx(0.7)
    assert sinks.outside["[SEP]"] == pytest.approx(0.65)
    # of the words: 0.1, 0.1, 0, 0.2 of 0.4, and 0.25 of 0.25
    assert sinks.within[SIGNS] == pytest.approx(0.5)
    assert sinks.within[FIRST] == pytest.approx(0.25 + 1.0)
    assert sinks.even[SIGNS] == pytest.approx(0.25)


def test_much_attention_outside_of_words_or_on_a_full_stop_is_noted():
    sinks = counted([[0.1, 0.0, 0.0, 0.0, 0.3, 0.6], [0.1, 0.3, 0.6, 0.0, 0.0, 0.0]])
    outside, signs = sinks.notes
    assert outside == (
        "70% of the attention lies on positions that are not words ([SEP] 60%, [CLS] 10%); they "
        "are left out, and the rest is scaled up"
    )
    assert signs.startswith("50% of the attention on words lies on full stops and other signs, wh")
    assert signs.endswith("if it were even: possibly a sink")


@pytest.mark.parametrize("piece", [".", "Ġ.", "▁,", "##!", ".</w>", "âĢ¦", "Ġ«"])
def test_marks_of_pieces_do_not_make_words_of_signs(piece):
    assert is_sign(piece)


@pytest.mark.parametrize("piece", ["film", "Ġfilm", "▁é", "##s", "Ã©", "ä¸Ń", "Ġ", "Ãī"])
def test_letters_are_no_signs(piece):
    assert not is_sign(piece)


def test_even_attention_on_words_is_no_sink():
    assert counted([[0.0, 0.25, 0.25, 0.25, 0.25, 0.0], [0.0, 1.0, 0, 0, 0, 0]]).notes == ()


def test_a_subject_counts_what_it_reads_and_notes_it_with_the_name_of_the_readout():
    model = TransformerModel(tiny_model("Bert"), tiny_tokenizer())
    subject = subject_of(model, readouts.make("last-cls"), ("bad", "good"))
    subject.read(TEXTS)
    inner = model.model
    inner.set_attn_implementation("eager")
    expected = 0.0
    for text in TEXTS:
        batch = model.cutter.tokenizer(text, return_tensors="pt")
        (row,) = inner(**batch, output_attentions=True).attentions[-1][:, :, 0].mean(1)
        expected += float((row[0] + row[-1]).detach())
    assert sum(subject.sinks.outside.values()) == pytest.approx(expected, abs=1e-5)
    notes = [note for note in subject.notes if "positions that are not words" in note]
    assert bool(notes) == (expected / 2 >= 0.3)
    assert all(note.startswith("read by last-cls, ") for note in notes)
