import json
from pathlib import Path

import pandas
import pytest

from heedful.runs import RunFolder
from tests.readouts.tiny import tiny_model, tiny_tokenizer


@pytest.fixture
def word_run(heedful, planted, tmp_path) -> Path:
    rows = [{"text": d.text, "label": d.label} for d in planted.train]
    data = tmp_path / "train.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    answer = heedful(
        *("train", data, "-o", tmp_path / "words", "--profile", "sun-lu", "--epochs", "2"),
        *("--set", "embedding_size=8", "--split", "spaces", "-q"),
    )
    assert answer.code == 0, answer.err
    return tmp_path / "words"


@pytest.fixture
def test_file(planted, tmp_path) -> Path:
    rows = [
        {
            "text": d.text,
            "label": d.label,
            "token_labels": [
                d.label if word.startswith(d.label) else "neutral" for word in d.text.split(" ")
            ],
        }
        for d in planted.test
    ]
    path = tmp_path / "test.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_dot_products_are_told_and_written(heedful, word_run, tmp_path):
    answer = heedful("analyse", "dot-products", word_run, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("Do words of one label point the same way")
    assert answer.out.rstrip().endswith(f"report: {tmp_path / 'out' / 'report.html'}")
    assert set(pandas.read_parquet(tmp_path / "out" / "rows.parquet")) >= {"word", "kind"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Which words point the same way" in page
    assert "default-src &#39;none&#39;" in page
    assert "https://" not in page
    again = heedful("analyse", "dot-products", word_run, "-o", tmp_path / "out")
    assert again.code == 2
    assert "already exists" in again.err


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("word-scores", "kinds"),
        ("information:clusters=40", "information"),
        ("sentence-vectors:documents=30", "places"),
        ("word-sentiment:k=2", "figures"),
        ("deletion:k=1+3", "curve"),
        ("agreement:documents=40", "measures"),
    ],
)
def test_every_analysis_of_a_run_draws_its_page(
    heedful, word_run, test_file, tmp_path, name, table
):
    answer = heedful("analyse", name, word_run, test_file, "-o", tmp_path / "out", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["tables"][table]
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'class="chart"' in page
    assert (tmp_path / "out" / "analysis.json").is_file()


def test_gradient_flow_trains_and_tells(heedful, tmp_path, rows):
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    flags = ("--set", "embedding_size=6", "--set", "split=spaces", "--epochs", "1", "--seed", "5")
    answer = heedful("analyse", "gradient-flow", data, *flags, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "epoch 1" in answer.err
    stored = json.loads((tmp_path / "out" / "analysis.json").read_text())
    assert stored["about"]["seed"] == 5
    assert {row["epoch"] for row in stored["tables"]["epochs"]} == {0, 1}
    assert (tmp_path / "out" / "report.html").read_text().count('class="chart"') == 4


def test_semeval_is_read_by_its_prefix(heedful, word_run, tmp_path):
    path = tmp_path / "phrases.tsv"
    path.write_text("1\t2\t0\t0\tpositive\tpositiveaaa neutralaab\n")
    answer = heedful("analyse", "word-sentiment:k=1", word_run, f"semeval:{path}")
    assert answer.code == 0, answer.err
    broken = tmp_path / "broken.tsv"
    broken.write_text("1\t2\tpositive\n")
    answer = heedful("analyse", "word-sentiment", word_run, f"semeval:{broken}")
    assert answer.code == 2
    assert "line 1: expected 6 cells between tabs" in answer.err


def test_iterations_reads_the_history_of_a_run(heedful, word_run, tmp_path):
    answer = heedful("analyse", "iterations", word_run)
    assert answer.code == 2
    assert "no phase of this run is named learner 1" in answer.err
    folder = RunFolder(word_run)
    folder.write_lines(
        "history.jsonl",
        [
            {"phase": n, "epoch": 1, "name": name, "dev_accuracy": 0.5 + n / 10, "is_best": True}
            | {"notes": {"attention_entropy": 0.9}}
            for n, name in enumerate(["learner 1", "compressor 1"])
        ],
    )
    provenance = folder.read_json("provenance.json")
    folder.finish({name: value for name, value in provenance.items() if name != "sha256"})
    answer = heedful("analyse", "iterations", word_run, "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "compressor" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dot-product"], "no analysis named 'dot-product'. Did you mean 'dot-products'?"),
        (["dot-products"], "expected `heedful analyse dot-products RUN`."),
        (["word-scores", "run"], "heedful analyse word-scores RUN DATA`."),
        (["gradient-flow"], "heedful analyse gradient-flow DATA`."),
        (["label-imbalance", "x"], "heedful analyse label-imbalance`."),
        (["dot-products", "run", "--epochs", "3"], "--epochs is for analyses that train"),
        (["dot-products", "nowhere"], "no run folder at nowhere"),
        (["word-sentiment:k=0", "a", "b"], "k should be at least 1"),
        (["word-sentiment:measure=atention", "a", "b"], "Did you mean 'attention'?"),
        (["gradient-flow", "planted:documents=200", "--encoder", "lstm"], "another encoder"),
    ],
)
def test_requests_that_cannot_be_served_are_answered_in_a_sentence(heedful, arguments, said):
    answer = heedful("analyse", *arguments)
    assert answer.code == 2
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_statistics_of_a_corpus_are_told(heedful, tmp_path):
    answer = heedful("analyse", "statistics", "planted:documents=200", "-o", tmp_path / "out")
    assert answer.code == 0, answer.err
    lines = [line.split() for line in answer.out.splitlines() if line.startswith(("train", "all"))]
    assert [line[0] for line in lines] == ["train", "all"]
    kept = json.loads((tmp_path / "out" / "analysis.json").read_text())
    parts = {row["part"]: row for row in kept["tables"]["parts"]}
    documents = {part: row["documents"] for part, row in parts.items()}
    assert documents.pop("all") == sum(documents.values())
    labels = [row for row in kept["tables"]["labels"] if row["part"] == "all"]
    assert sum(row["documents"] for row in labels) == parts["all"]["documents"]
    assert sum(row["share"] for row in labels) == pytest.approx(1)
    refused = heedful("analyse", "statistics", "planted:documents=200", "--encoder", "affine")
    assert refused.code == 2
    assert "--encoder is for analyses that train; statistics analyses documents" in refused.err


def test_statistics_do_not_look_at_a_cell(heedful, tmp_path):
    (tmp_path / "grid.toml").write_text('data = "planted"\nanalyse = ["statistics"]\n')
    answer = heedful("sweep", tmp_path / "grid.toml", "-o", tmp_path / "swept")
    assert answer.code == 2
    assert "statistics analyses documents only, so it cannot analyse a cell" in answer.err


def test_attention_mass_is_told_of_a_run_and_of_a_hugging_face_model(heedful, word_run, tmp_path):
    data = tmp_path / "texts.jsonl"
    texts = ["good , film .", "a bad film"]
    data.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    of_run = heedful("analyse", "attention-mass", word_run, data)
    assert of_run.code == 0, of_run.err
    assert "\npunctuation " in of_run.out
    assert "\nspecial pieces " not in of_run.out
    tiny_model("Bert").save_pretrained(tmp_path / "bert")
    tiny_tokenizer().save_pretrained(tmp_path / "bert")
    of_bert = heedful("analyse", "attention-mass:readout=rollout", f"hf:{tmp_path / 'bert'}", data)
    assert of_bert.code == 0, of_bert.err
    assert "\nspecial pieces " in of_bert.out
    refused = heedful("analyse", "information", f"hf:{tmp_path / 'bert'}", data)
    assert refused.code == 2
    assert "information needs a run folder" in refused.err
