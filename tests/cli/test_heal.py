"""`heedful heal`, as a user types it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.readouts.tiny import PLANTED, planted_documents, tiny_model, tiny_tokenizer

FEW = ("--epochs", "2")


def write(name: str, rows: list[dict]) -> Path:
    Path(name).write_text("\n".join(map(json.dumps, rows)))
    return Path(name)


@pytest.fixture
def texts() -> Path:
    return write("texts.jsonl", [{"text": d.text} for d in planted_documents(120, seed=7)])


@pytest.fixture
def labelled() -> Path:
    rows = [{"text": d.text, "label": d.label} for d in planted_documents(120, seed=7)]
    return write("labelled.jsonl", rows)


def test_a_model_is_healed_and_the_run_predicts_explains_and_is_audited(heedful, saved, labelled):
    answer = heedful("heal", f"hf:{saved}", labelled, "-o", "run")
    assert answer.code == 0, answer.err
    kept, accuracy, place, audit = answer.out.splitlines()
    assert kept.startswith("decisions kept: ")
    assert "of 12 texts that were held out; 95% interval" in kept
    assert accuracy.startswith("accuracy: 100.0% by the model, ")
    assert place == "saved in run"
    assert audit == "audit it: heedful audit run labelled.jsonl -o run-audit"
    assert "epoch 6: loss " in answer.err
    assert ", decisions kept on dev 100.0% (" in answer.err
    assert "accuracy" not in answer.err
    shutil.rmtree(saved)  # the run holds all that it needs
    predicted = heedful("predict", "run", "wordb a good film", "--json")
    assert json.loads(predicted.out)["label"] == "good"
    assert json.loads(predicted.out)["decided_by"] == "planted"
    explained = heedful("explain", "run", "wordb a good wordc worda")
    assert explained.code == 0, explained.err
    assert explained.out.startswith("good ")
    audited = heedful("audit", "run", labelled, "--ask", "telling")
    assert audited.code == 0, audited.err
    assert "attention disagrees with the model that decides" in audited.out
    assert "planted decides; the audit tests the decisions of the attention head" in audited.err
    judged = heedful("audit", "run", labelled, "--ask", "telling", "--judge", "original")
    assert judged.code == 0, judged.err
    refused = heedful("audit", "run", labelled, "--deep", "-o", "deep")
    assert refused.code == 2
    assert "a healed run learned from the decisions of planted" in refused.err


def test_texts_need_no_labels(heedful, saved, texts):
    answer = heedful("heal", f"hf:{saved}", texts, "-o", "run", *FEW, "--json", "-q")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told["test"]["documents"] == 12
    assert "accuracy" not in told["test"]
    assert told["audit"] == "heedful audit run texts.jsonl -o run-audit"


def test_a_finished_run_is_not_made_again(heedful, saved, texts):
    made = heedful("heal", f"hf:{saved}", texts, "-o", "run", *FEW)
    again = heedful("heal", f"hf:{saved}", texts, "-o", "run", *FEW, "--resume")
    assert again.code == 0, again.err
    assert "run is finished already; nothing to do." in again.err
    assert again.out == made.out
    refused = heedful("heal", f"hf:{saved}", texts, "-o", "run", *FEW)
    assert refused.code == 2
    assert "the output folder run already exists" in refused.err


def no_model() -> str:
    Path("empty").mkdir()
    return "hf:empty"


def one_label() -> str:
    tiny_model("Bert", PLANTED, num_labels=1).save_pretrained("line")
    tiny_tokenizer(PLANTED).save_pretrained("line")
    return "hf:line"


def one_class() -> Path:
    rows = [{"text": d.text} for d in planted_documents(120) if "bad" in d.text.split()]
    return write("bad.jsonl", rows)


def one_word() -> Path:
    return write("words.jsonl", [{"text": word} for word in ("good", "bad", "old", "new") * 5])


BAD = {
    "empty contains no Hugging Face model: config.json is missing": (no_model, None),
    "line predicts one number per text. Expected two classes": (one_label, None),
    "planted predicts the same class for each of the": (None, one_class),
    "every text has only one word": (None, one_word),
    "no such file or folder: nowhere.csv": (None, lambda: "nowhere.csv"),
    "expected hf:FOLDER_OR_NAME of a Hugging Face model, not 'planted'": (lambda: "planted", None),
    "prompted decoders cannot be healed (hf-prompt:x)": (lambda: "hf-prompt:x", None),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_is_a_sentence_and_nothing_is_written(heedful, saved, texts, sentence):
    model, data = BAD[sentence]
    given = (model() if model else f"hf:{saved}", data() if data else texts)
    answer = heedful("heal", *given, "-o", "run")
    assert answer.code == 2, answer.err
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert not Path("run").exists()
