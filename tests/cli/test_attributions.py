"""Scores written by `predict --attributions` and judged by `audit --attributions`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from heedful.training.trained import Trained
from tests.readouts.tiny import planted_documents


@pytest.fixture
def documents() -> Path:
    rows = [{"text": d.text, "label": d.label} for d in planted_documents(60, seed=7)]
    path = Path("documents.jsonl")
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def measured(answer, measure: str) -> dict:
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    audit = next(iter(told["audits"].values())) if "audits" in told else told
    return next(row for row in audit["evidence"]["measures"] if row["measure"] == measure)


SAME = ("false_pictures", "comprehensiveness", "sufficiency", "documents")


def test_scores_of_a_run_go_out_to_a_file_and_come_back_to_be_judged(heedful, run, data):
    export = ("--attributions", "scores.jsonl", "--measure", "gradient-x-input")
    answer = heedful("predict", run, "--file", data, *export)
    assert answer.code == 0, answer.err
    assert "written: scores.jsonl" in answer.err
    ask = ("audit", run, data, "--ask", "telling", "--documents", "25", "--include-trained")
    answer = heedful(*ask, "--attributions", "scores.jsonl", "--json")
    inside, given = (measured(answer, m) for m in ("gradient-x-input", "given gradient-x-input"))
    # Rounding depends on which texts are read together, and decides between like words.
    same = pytest.approx([inside[name] for name in SAME], abs=0.02)
    assert [given[name] for name in SAME] == same
    answer = heedful(*ask, "--attributions", "scores.jsonl", "-o", "audit")
    first = answer.out.splitlines()[0]
    assert first.startswith("The scores of given gradient-x-input ")
    assert first in Path("audit/report.html").read_text()


def test_scores_of_a_transformer_go_out_and_come_back_too(heedful, saved, documents):
    export = ("--attributions", "scores.npz", "--format", "captum", "--measure", "leave-one-out")
    answer = heedful("predict", f"hf:{saved}", "--file", documents, *export)
    assert answer.code == 0, answer.err
    assert len(answer.out.splitlines()) == 60
    assert "accuracy on all: " in answer.err
    ask = ("audit", f"hf:{saved}", documents, "--ask", "telling", "--attributions", "scores.npz")
    answer = heedful(*ask, "--json")
    inside, given = (measured(answer, m) for m in ("leave-one-out", "given leave-one-out"))
    assert [given[name] for name in SAME] == pytest.approx([inside[name] for name in SAME])
    assert list(json.loads(answer.out)["audits"]) == ["last-cls"]


def test_the_exit_code_is_that_of_the_verdict_on_the_given_scores(heedful, saved, documents):
    rows = [json.loads(line) for line in documents.read_text().splitlines()]
    wrong = [
        {"text": r["text"], "words": r["text"].split(),
         "scores": [float(w not in ("good", "bad")) for w in r["text"].split()]}
        for r in rows
    ]  # fmt: skip
    Path("wrong.jsonl").write_text("\n".join(map(json.dumps, wrong)))
    ask = ("audit", f"hf:{saved}", documents, "--ask", "telling", "--attributions", "wrong.jsonl")
    answer = heedful(*ask, "--fail-on", "may-not")
    assert answer.code == 1, answer.out
    assert "The scores of given attributions may not be shown as an explanation" in answer.out


def test_what_cannot_be_served_is_refused_before_anything_is_computed(heedful, saved, documents):
    missing = heedful("audit", f"hf:{saved}", documents, "--attributions", "none.jsonl")
    assert missing.code == 2
    assert "no such file: none.jsonl" in missing.err
    unasked = ("--attributions", documents, "--ask", "decisive")
    Path("s.jsonl").write_text(json.dumps({"text": "a", "words": ["a"], "scores": [1.0]}))
    answer = heedful("audit", f"hf:{saved}", documents, "--attributions", "s.jsonl", *unasked[2:])
    assert answer.code == 2
    assert "attributions are judged by the question telling: ask telling too." in answer.err
    answer = heedful("predict", f"hf:{saved}", "a text", "--measure", "attention")
    assert "--measure and --format need --attributions." in answer.err
    answer = heedful("predict", f"hf:{saved}", "a text", "--attributions", "scores.csv")
    assert "files of the format table must end in .jsonl or .parquet" in answer.err


def test_no_scores_are_written_of_texts_that_would_be_shown_without_a_heat_map(
    heedful, run, monkeypatch
):
    """As in a healed run whose attention disagrees with the model that decides."""
    decisions = Trained.decisions

    def withholding(self: Trained, texts: list[str]):
        why = tuple("No heat map: it disagrees." if "bad" in text else "" for text in texts)
        return replace(decisions(self, texts), withheld=why)

    monkeypatch.setattr(Trained, "decisions", withholding)
    answer = heedful("predict", run, "a good film", "a bad film", "--attributions", "s.jsonl")
    assert answer.code == 0, answer.err
    (row,) = map(json.loads, Path("s.jsonl").read_text().splitlines())
    assert row["text"] == "a good film"
    assert "1 of 2 left out of s.jsonl: they would be shown without a heat map" in answer.err
    answer = heedful("predict", run, "a bad film", "--attributions", "none.jsonl")
    assert answer.code == 0, answer.err
    assert "not written: none.jsonl" in answer.err
    assert not Path("none.jsonl").exists()
