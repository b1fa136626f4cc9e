import json
import re
from pathlib import Path

import pandas
import pytest

FAST = ["--epochs", "1", "--seeds", "7", "--documents", "100"]


ARMS = ["ordinary", "learned", "random", "frozen", "random-pretrained", "mask-neutral"]


def test_a_probe_says_a_sentence_and_then_a_line_per_arm(heedful, data):
    answer = heedful("probe", "shortcuts", data, *FAST)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("On these documents ")
    assert "60 test documents, 100 to train on, 1 seed." in answer.out
    table = answer.out.split("\n\n")[1].splitlines()
    assert table[0].split()[:4] == ["arm", "accuracy", "leak", "gain"]
    assert [line.split()[0] for line in table[1:]] == ARMS
    assert re.search(r"^seed 7, learned: accuracy [\d.]+%$", answer.err, re.M)


def test_files_and_json_say_the_same(heedful, data):
    answer = heedful("probe", "shortcuts", data, *FAST, "-o", "out", "--json", "--quiet")
    assert answer.code == 0, answer.err
    assert answer.err == ""
    saved = json.loads(Path("out/analysis.json").read_text())
    assert saved == json.loads(answer.out)
    assert saved["about"]["settings"]["seeds"] == [7]
    assert [row["arm"] for row in saved["summary"]] == ARMS
    frame = pandas.read_parquet("out/rows.parquet")
    assert frame.columns.tolist() == [
        *("arm", "seed", "label", "token", "mean_weight", "accuracy", "majority_accuracy"),
        *("gain", "told", "effective_documents"),
    ]
    page = Path("out/report.html").read_text()
    assert saved["conclusion"] in page
    assert "http://" not in page.split("<script>")[0]
    assert page.count('role="img"') == 2


def test_the_probe_is_one_of_the_analyses(heedful, data):
    names = json.loads(heedful("list", "analyses", "--json").out)["analyses"]
    assert "shortcuts" in [row["name"] for row in names]
    spec = "shortcuts:epochs=1:seeds=7:documents=100"
    by_analyse = heedful("analyse", spec, data, "--json", "--quiet")
    assert by_analyse.code == 0, by_analyse.err
    by_probe = heedful("probe", "shortcuts", data, *FAST, "--json", "--quiet")
    found, probed = json.loads(by_analyse.out), json.loads(by_probe.out)
    for part in ("conclusion", "summary", "tables"):
        assert found[part] == probed[part]
    answer = heedful("analyse", "shortcuts", data, "--encoder", "bilstm")
    assert answer.code == 2
    assert "shortcuts has its own options, such as shortcuts:epochs=6." in answer.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seeds", "one"], "--seeds expects whole numbers separated by commas, such as 1,2"),
        (["--seeds", "1,,2"], "--seeds expects whole numbers"),
        (["--seeds", "3,3"], "the same seed is given twice: 3, 3."),
        (["--mask", "k-hat"], "no projection named 'k-hat'. Did you mean 'k-hot'?"),
        (["--mask", "entmax"], "the mask should be softmax or k-hot"),
        (["--encoder", "bilstn"], "no encoder named 'bilstn'. Did you mean 'bilstm'?"),
        (["--tokens", "1"], "tokens should be from 2 to below 65, not 1."),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(heedful, data, options, sentence):
    answer = heedful("probe", "shortcuts", data, *options)
    assert answer.code == 2
    assert answer.err.startswith(f"heedful: {sentence}")
    assert answer.out == ""


def test_documents_without_labels_or_with_one_label_are_refused(heedful, rows):
    for name, changed, sentence in [
        ("bare", [{"text": row["text"]} for row in rows], "which column holds the label"),
        (
            "same",
            [{**row, "label": "x"} for row in rows],
            "every training document has the label 'x'",
        ),
    ]:
        path = Path(f"{name}.jsonl")
        path.write_text("\n".join(map(json.dumps, changed)))
        answer = heedful("probe", "shortcuts", path)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.startswith("heedful: ")
        assert sentence in answer.err
        assert "Traceback" not in answer.err


def test_a_folder_that_holds_something_is_refused_before_training(heedful, data):
    Path("full").mkdir()
    Path("full/file").write_text("mine")
    answer = heedful("probe", "shortcuts", data, "-o", "full")
    assert answer.code == 2
    assert "the output folder full already exists" in answer.err
