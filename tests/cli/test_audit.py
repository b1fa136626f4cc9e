import json
from pathlib import Path

import pandas
import pytest


@pytest.fixture
def marked(planted) -> Path:
    rows = [
        {"text": d.text, "label": d.label, "rationale": [list(span) for span in d.rationale]}
        for d in planted.test
    ]
    path = Path("marked.jsonl")
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_an_audit_ends_in_a_sentence_and_answers_in_the_products_order(heedful, run, marked):
    answer = heedful("audit", run, marked)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("The attention of this model ")
    heads = [line.partition(":")[0] for line in answer.out.splitlines() if ": " in line[:30]]
    order = ["decisive", "exclusive", "agreeing", "telling", "plausible"]
    assert [head for head in heads if head in order] == order
    assert "60 documents. A score of 0 is worthless, 1 the best known." in answer.out


def test_files_hold_everything_and_can_be_opened_elsewhere(heedful, run, marked, planted):
    answer = heedful("audit", run, marked, "-o", "audit", "--json")
    assert answer.code == 0, answer.err
    saved = json.loads(Path("audit/audit.json").read_text())
    assert saved == json.loads(answer.out)
    assert saved["answers"][0]["tests"][0]["name"] == "permutation"
    frame = pandas.read_parquet("audit/per_example.parquet")
    assert frame["text"].tolist() == planted.test.texts
    assert frame["permuted_tvd"].between(0, 1).all()
    assert heedful("audit", run, marked, "-o", "audit").code == 2


def test_a_sample_is_drawn_by_the_seed_and_questions_can_be_chosen(heedful, run, marked):
    ask = ("--ask", "decisive", "--documents", "20", "--json")
    one, same, other = (heedful("audit", run, marked, *ask, "--seed", s).out for s in "112")
    assert one == same != other
    assert json.loads(one)["documents"] == 20
    assert [answer["question"] for answer in json.loads(one)["answers"]] == ["decisive"]


def test_the_verdict_becomes_an_exit_code_on_request(heedful, run, marked):
    ask = ("--ask", "decisive")  # telling is not asked, so attention cannot be shown to be safe
    verdict = json.loads(heedful("audit", run, marked, *ask, "--json").out)["verdict"]
    assert verdict in ("not-safe", "may-not")
    assert heedful("audit", run, marked, *ask, "--fail-on", "not-safe").code == 1
    expected = 1 if verdict == "may-not" else 0
    assert heedful("audit", run, marked, *ask, "--fail-on", "may-not").code == expected


def test_training_documents_are_pointed_out(heedful, run, data):
    answer = heedful("audit", run, data, "--ask", "decisive", "--documents", "50")
    assert "documents were trained on" in answer.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.csv"], "no such file or folder"),
        (["DATA", "--ask", "decisiv"], "no question named 'decisiv'. Did you mean 'decisive'?"),
        (["DATA", "--fail-on", "may"], "--fail-on takes may-not or not-safe, not 'may'."),
        (["DATA", "--documents", "0"], "documents should be at least 1, not 0."),
        (["DATA", "--seed", "-1"], "seed should be at least 0, not -1."),
    ],
)
def test_bad_requests_are_refused(heedful, run, data, arguments, sentence):
    answer = heedful("audit", run, *[a.replace("DATA", str(data)) for a in arguments])
    assert answer.code == 2
    assert sentence in answer.err


def test_a_run_without_attention_is_refused(heedful, data):
    heedful("train", data, "-o", "mean", "--pooling", "mean", "--epochs", "1")
    answer = heedful("audit", "mean", data)
    assert answer.code == 2
    assert "an audit asks about attention, and this classifier has none" in answer.err
