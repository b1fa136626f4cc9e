import json
from pathlib import Path

import pytest

from heedful import runs
from heedful.runs import RunFolder


def test_texts_from_arguments_standard_input_and_a_file_get_the_same_answer(heedful, run):
    texts = ["neutralaaa positiveaaa positiveaab", "negativeaaa negativeaab neutralaab"]
    by_arguments = heedful("predict", run, *texts)
    by_lines = heedful("predict", run, stdin="\n".join(texts).encode())
    Path("t.csv").write_text("text\n" + "\n".join(texts))
    by_file = heedful("predict", run, "--file", "t.csv")
    assert by_arguments.code == 0
    assert by_arguments.out == by_lines.out == by_file.out
    first, second = (line.split("\t") for line in by_arguments.out.splitlines())
    assert (first[0], second[0]) == ("positive", "negative")
    assert first[2] == texts[0]


def test_a_text_that_is_the_name_of_a_file_is_pointed_out(heedful, run):
    Path("t.csv").write_text("text\nneutralaaa\n")
    answer = heedful("predict", run, "t.csv", "x" * 5000)
    assert answer.code == 0
    assert "'t.csv' is read as a text, and is also a file: --file t.csv reads it" in answer.err


def test_json_has_every_probability(heedful, run):
    answer = heedful("predict", run, "--json", "neutralaaa", "x")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [row["text"] for row in rows] == ["neutralaaa", "x"]
    assert set(rows[0]["probabilities"]) == {"negative", "positive"}
    assert sum(rows[0]["probabilities"].values()) == pytest.approx(1)


def test_a_file_with_labels_is_scored_and_training_documents_are_pointed_out(heedful, run, data):
    answer = heedful("predict", run, "--file", data)
    assert len(answer.out.splitlines()) == 600
    assert "480 of 600 were among the training documents" in answer.err
    assert "60 of 600 were used to choose the best epoch" in answer.err
    assert "of 600 documents; 95% interval" in answer.err
    assert "accuracy on those new to the model: " in answer.err
    assert "of 60 documents" in answer.err
    quiet = heedful("predict", run, "--file", data, "--quiet")
    assert quiet.err == ""


def test_texts_of_unknown_words_are_pointed_out(heedful, run):
    answer = heedful("predict", run, "positiveaaa", "zzz qqq", "")
    assert "2 of 3 contain no word that the model knows" in answer.err


def test_a_file_of_plain_lines_is_read_like_standard_input(heedful, run):
    Path("t.txt").write_text("positiveaaa\nnegativeaaa\n")
    answer = heedful("predict", run, "--file", "t.txt")
    assert len(answer.out.splitlines()) == 2


def test_odd_texts_simply_work(heedful, run):
    texts = [
        "\x01\x02",
        "👨‍👩‍👧‍👦",
        "שלום",
        "a\u200db",
        "tab\there",
        "two\nlines",
        "",
        "word " * 3000,
    ]
    answer = heedful("predict", run, *texts)
    assert answer.code == 0, answer.err
    assert len(answer.out.splitlines()) == len(texts)
    assert "1 of 8 cut at 500 words" in answer.err


def test_a_line_of_standard_input_ends_only_at_a_line_feed(heedful, run):
    answer = heedful("predict", run, stdin="one\u2028still one\n\ntwo\x0bparts\r\n".encode())
    assert len(answer.out.splitlines()) == 2
    assert "1 blank line skipped" in answer.err


def test_texts_that_utf8_cannot_hold_are_answered(heedful, run):
    Path("t.jsonl").write_text('{"text": "a \\ud800 b"}')
    assert heedful("predict", run, "--file", "t.jsonl", "--json").code == 0


def test_a_partly_labelled_file_is_not_scored_and_says_so(heedful, run):
    Path("t.csv").write_text("text,label\nx,positive\ny,\n")
    assert (
        "no score, because 1 of 2 have no label" in heedful("predict", run, "--file", "t.csv").err
    )
    assert heedful("predict", run, "x", "--label", "l").code == 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (runs.CONFIG, {"classes": None}),
        (runs.CONFIG, {"model": {"encoder": {"name": None}}}),
        (runs.CONFIG, {"text": 3}),
        (runs.CONFIG, {"classes": ["a", "b", "c"]}),
    ],
)
def test_a_run_whose_files_were_exchanged_is_refused(heedful, run, name, change):
    folder = RunFolder(run)
    folder.write_json(name, {**folder.read_json(name), **change})
    folder.finish(folder.read_json(runs.PROVENANCE))  # checksums made to fit
    answer = heedful("predict", run, "x")
    assert answer.code == 2, answer.err


@pytest.mark.parametrize(
    ("stdin", "sentence"),
    [(b"", "standard input is empty"), (b"ok\n\xff\n", "byte 0xff at position 3, line 2")],
)
def test_bad_standard_input_is_refused(heedful, run, stdin, sentence):
    answer = heedful("predict", run, stdin=stdin)
    assert answer.code == 2
    assert sentence in answer.err


def test_a_label_never_seen_in_training_is_refused(heedful, run):
    Path("t.csv").write_text("text,label\nx,positive\ny,mixed\n")
    answer = heedful("predict", run, "--file", "t.csv")
    assert answer.code == 2
    assert "labels never seen in training: mixed. The run knows: negative, positive." in answer.err


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        (runs.MODEL, b"short", "model.safetensors is not the file that heedful wrote"),
        (runs.CONFIG, b'{"schema": 999, "heedful": "9"}', "has schema 999, written by heedful 9"),
        (runs.CONFIG, b"{", "config.json is not JSON"),
        (runs.METRICS, b"{", "metrics.json is not the file that heedful wrote"),
        (runs.HISTORY, b"{", "history.jsonl is not the file that heedful wrote"),
        (runs.PROVENANCE, b"[]", "provenance.json should hold a JSON object"),
        (runs.TOKENIZER, None, "tokenizer.json is missing"),
    ],
)
def test_a_broken_run_is_refused_and_the_file_named(heedful, run, name, content, sentence):
    if content is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(content)
    answer = heedful("predict", run, "x")
    assert answer.code == 2
    assert sentence in answer.err
    assert "Traceback" not in answer.err


def test_what_is_no_run_is_refused(heedful):
    assert "no run folder at nowhere" in heedful("predict", "nowhere", "x").err
    Path("folder").mkdir()
    assert "is not a run folder" in heedful("predict", "folder", "x").err


def test_with_an_audit_every_object_says_whether_its_heat_map_may_be_shown(
    heedful, run, data, tmp_path
):
    folder = tmp_path / "of-run"
    asked = ("--include-trained", "--documents", "60", "--ask", "telling", "-q", "-o", folder)
    assert heedful("audit", run, data, *asked).code == 0
    texts = ["neutralaaa positiveaaa positiveaab", "qqq www"]
    answer = heedful("predict", run, "--json", "--audit", folder, *texts)
    rows = [json.loads(line) for line in answer.out.splitlines()]
    explained = [
        json.loads(heedful("explain", run, text, "--audit", folder, "--json").out) for text in texts
    ]
    for row, wanted in zip(rows, explained, strict=True):
        assert (row["shown"], row["why"]) == (wanted["shown"], wanted["why"])
    assert rows[1]["why"] == (
        "Deleting words hardly changes this decision, so there is nothing to show. The text "
        "contains no word that the model knows."
    )
    without = heedful("predict", run, "--json", *texts).out.splitlines()
    assert [set(json.loads(line)) for line in without] == [{"text", "label", "probabilities"}] * 2
    refused = heedful("predict", run, "--audit", folder, *texts)
    assert refused.code == 2
    assert "--audit needs --json. To see one text, use `heedful explain`." in refused.err
