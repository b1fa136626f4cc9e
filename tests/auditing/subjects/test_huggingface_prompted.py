"""Prompted decoders: the next token by hand, and a template that is never explained or deleted."""

import json

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM
from typer.testing import CliRunner

from heedful.auditing.explanation import explain_with
from heedful.auditing.subjects.huggingface.loading import load_prompted_transformer
from heedful.auditing.subjects.huggingface.prompted import Prompt, label_pieces
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.cli.app import app
from heedful.errors import ConfigError
from tests.readouts.tiny import DECODERS, SPECIAL, WORDS, tiny_model, tiny_tokenizer

TEMPLATE = "film: {text}\nis it old?"
PROMPTED = [*WORDS, ":", "?", "it", "##old", "go", "##ing"]
TEXTS = ["a good film", "unhappily bad , new", "film"]
KINDS = ["GPT2", "Llama"]


def tiny_decoder(kind: str):
    torch.manual_seed(0)
    settings = DECODERS[kind] | {"vocab_size": len(SPECIAL) + len(PROMPTED)}
    config = getattr(transformers, f"{kind}Config")(**settings)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for numbers in model.parameters():
            if numbers.ndim > 1:
                numbers.mul_(4.0)
    return model.eval()


@pytest.fixture(scope="module", params=KINDS)
def folder(request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param)
    tiny_decoder(request.param).save_pretrained(place)
    tiny_tokenizer(PROMPTED).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def loaded(folder):
    return load_prompted_transformer(str(folder), Prompt.of(TEMPLATE, "no=bad,yes=good"))


@pytest.fixture(scope="module")
def subject(loaded):
    return subjects_of(loaded, ["last-cls"])[0]["last-cls"]


def by_hand(folder, text: str) -> np.ndarray:
    """The next token's probabilities of both label words, of one prompt at a time."""
    tokenizer = tiny_tokenizer(PROMPTED)
    decoder = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(TEMPLATE.replace("{text}", text), return_tensors="pt").input_ids
    with torch.no_grad():
        logits = decoder(ids).logits[0, -1]
    labels = tokenizer.convert_tokens_to_ids(["bad", "good"])
    shares = logits.double().softmax(dim=-1)[labels]
    return (shares / shares.sum()).numpy()


def test_probabilities_are_those_of_the_next_token(folder, loaded):
    assert loaded.classes == ("no", "yes")
    found = loaded.model.probabilities(TEXTS)  # of different lengths, so some are padded
    for text, row in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(row, by_hand(folder, text), atol=1e-5)


def test_only_the_text_has_words(subject):
    reading = subject.read(TEXTS)
    words = [
        [text[start:end] for start, end in offsets.tolist()]
        for text, offsets in zip(reading.texts, reading.offsets, strict=True)
    ]
    assert words == [["a", "good", "film"], ["unhappily", "bad", ",", "new"], ["film"]]
    np.testing.assert_allclose(reading.weights.sum(axis=1), 1, atol=1e-9)
    assert (reading.on_special > 0.2).all()  # the template is attended to, and shown to nobody


def test_a_deletion_leaves_the_template_alone(folder, subject):
    reading = subject.read(TEXTS[:1])
    is_kept = np.array([[True, False, True]])
    found = subject.predict_kept(reading, np.zeros(1, dtype=np.int64), is_kept)
    np.testing.assert_allclose(found[0], by_hand(folder, "a film"), atol=1e-5)


def test_it_can_be_explained_and_decides_with_other_weights(subject):
    found = explain_with(subject, TEXTS[0], ["attention", "decomposition", "leave-one-out"])
    assert found.words == ["a", "good", "film"]
    assert found.prediction in ("no", "yes")
    reading = subject.read(TEXTS)
    own = subject.decide(reading, reading.weights[:, None])[:, 0]
    np.testing.assert_allclose(own, reading.probabilities, atol=1e-5)
    total = subject.importance(reading, "integrated-gradients").sum(axis=1)
    expected = subject.expected_sum(reading, "integrated-gradients")
    np.testing.assert_allclose(total, expected, rtol=0.02, atol=0.02)


def test_hidden_words_keep_the_places_of_the_others(subject):
    reading = subject.read(TEXTS[:1])
    assert subject.masking is not None
    found = subject.masking.predict_kept(
        reading, np.zeros(1, dtype=np.int64), np.array([[True, True, True]])
    )
    np.testing.assert_allclose(found, reading.probabilities, atol=1e-5)


def test_a_long_text_is_cut_and_the_template_is_not(folder):
    prompt = Prompt.of(TEMPLATE, "bad,good")
    text = " ".join(["good", "bad", "new"] * 20)
    for way, windows in (("cut", 1), ("windows", 3)):
        model = load_prompted_transformer(str(folder), prompt, long_texts=way).model
        (pieces,) = model.cutter.cut([text])
        assert len(pieces.windows) == windows
        assert pieces.is_cut == (way == "cut")
        for window in pieces.windows:
            read = model.cutter.tokenizer.decode(window.inputs["input_ids"])
            assert read.startswith("[CLS] film : ")
            assert read.endswith(" is it old? [SEP]") or read.endswith(" is it old ? [SEP]")
            assert len(window) == 40


def test_label_words_stand_where_they_would_be_written():
    tokenizer = tiny_tokenizer(PROMPTED)
    numbers = tokenizer.convert_tokens_to_ids(["bad", "good"])
    assert label_pieces(tokenizer, Prompt.of(TEMPLATE, "bad,good")) == numbers
    assert label_pieces(tokenizer, Prompt.of("{text}", "bad,good")) == numbers
    first = label_pieces(tokenizer, Prompt.of("{text}\n", "unhappily,good"))
    assert first == tokenizer.convert_tokens_to_ids(["un", "good"])  # of several pieces the first


@pytest.mark.parametrize(
    ("template", "words", "sentence"),
    [
        (None, "bad,good", "needs both a template and label words"),
        ("a film", "bad,good", r"hold \{text\} once, where the text goes; this one holds it 0"),
        ("{text} {text}", "bad,good", "holds it 2 times"),
        ("{text} is ", "bad,good", "should not end with a space"),
        ("{text}", "bad", "expected two or more different label words"),
        ("{text}", "bad,bad", "expected two or more different label words"),
        ("{text}", "going,go", "'going' and 'go' begin with the same piece, 'go'"),
        ("{text}", "good,zebra", "does not know the label word 'zebra'"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_prompt_is_refused(template, words, sentence):
    with pytest.raises(ConfigError, match=sentence):
        label_pieces(tiny_tokenizer(PROMPTED), Prompt.of(template, words))


def test_a_classifier_is_no_decoder(tmp_path):
    for part in (tiny_model("Bert"), tiny_tokenizer()):
        part.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"Expected a decoder that writes text"):
        load_prompted_transformer(str(tmp_path), Prompt.of("{text}", "bad,good"))


def run(*words: str) -> str:
    found = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.parametrize("folder", ["GPT2"], indirect=True)
def test_the_commands_take_a_prompt(folder, tmp_path):
    model, asked = f"hf-prompt:{folder}", ("--template", TEMPLATE, "--label-words", "bad,good")
    (line,) = run("predict", model, TEXTS[0], "--json", *asked).splitlines()
    shares = json.loads(line)["probabilities"]
    np.testing.assert_allclose(list(shares.values()), by_hand(folder, TEXTS[0]), atol=1e-5)
    told = json.loads(run("explain", model, TEXTS[0], "--json", *asked))
    assert [word["word"] for word in told["words"]] == ["a", "good", "film"]
    data = tmp_path / "texts.csv"
    rows = [f"{'a good film' if n % 2 else 'a bad old film'} {WORDS[n % 6]}" for n in range(12)]
    data.write_text(
        "text,label\n" + "".join(f"{t},{'good' if 'good' in t else 'bad'}\n" for t in rows)
    )
    found = json.loads(
        run(
            "audit",
            model,
            str(data),
            "--ask",
            "decisive",
            "--readout",
            "last-cls",
            "--json",
            "-q",
            *asked,
        )
    )
    assert found["verdicts"]["last-cls"] in ("may", "may-not", "not-safe")
