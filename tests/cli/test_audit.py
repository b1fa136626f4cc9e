import json
import shlex
from pathlib import Path

import pandas
import pytest

from heedful.runs import RunFolder
from heedful.text.readers import read_documents
from heedful.training.trained import Trained
from tests.cli.conftest import QUICK


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
    order = [
        "decisive", "exclusive", "agreeing", "telling", "grounded",
        "leak-free", "discerning", "needed", "stable", "plausible",
    ]  # fmt: skip
    assert [head for head in heads if head in order] == order
    assert "60 documents. A score of 0 is worthless, 1 the best known." in answer.out
    assert "needed: not asked: it needs retrained models" in answer.out


@pytest.mark.usefixtures("cuts_by_hand")
def test_an_audit_says_how_often_each_test_is_right(heedful, run, marked):
    answer = heedful("audit", run, marked, "--ask", "decisive", "-o", "audit")
    assert answer.code == 0, answer.err
    assert "1 of 5 tests are judged, by cuts measured on 77 models" in answer.out
    assert "cut 0.55: judged by its dose curve on models with a known answer" in answer.out
    assert answer.out.count("    not calibrated\n") == 4
    assert "liars passed 2% (0% to 6%) of 30" in answer.out
    saved = json.loads(Path("audit/audit.json").read_text())
    assert saved["calibration"]["made"]["version"] == "by-hand-3"
    page = Path("audit/report.html").read_text()
    assert "calibration by-hand-3" in page
    assert "catches 94% of 41 that fail" in page


def test_files_hold_everything_and_can_be_opened_elsewhere(heedful, run, marked, planted):
    answer = heedful("audit", run, marked, "-o", "audit", "--json")
    assert answer.code == 0, answer.err
    saved = json.loads(Path("audit/audit.json").read_text())
    assert saved == {**saved, **json.loads(answer.out)}
    assert saved["answers"][0]["tests"][0]["name"] == "look away"
    frame = pandas.read_parquet("audit/per_example.parquet")
    assert frame["text"].tolist() == planted.test.texts
    assert frame["permuted_tvd"].between(0, 1).all()
    page = Path("audit/report.html").read_text()
    assert saved["sentence"] in page
    assert not Path("audit/parts").exists()
    assert heedful("audit", run, marked, "-o", "audit").code == 2


def test_a_sample_is_drawn_by_the_seed_and_questions_can_be_chosen(heedful, run, marked):
    ask = ("--ask", "decisive", "--documents", "20", "--json")
    one, same, other = (heedful("audit", run, marked, *ask, "--seed", s).out for s in "112")
    assert one == same != other
    assert json.loads(one)["documents"] == 20
    assert [answer["question"] for answer in json.loads(one)["answers"]] == ["decisive"]


@pytest.mark.usefixtures("cuts_by_hand")
def test_after_a_no_the_commands_can_be_run_as_they_are_printed(heedful, data, marked):
    """Whatever the verdict on this small model is, it is not a yes."""
    heedful("train", data, "-o", "run", *QUICK)
    answer = heedful("audit", "run", marked, "--ask", "telling", "-o", "audited")
    printed = [line.strip() for line in answer.out.splitlines() if line.startswith("  heedful ")]
    assert [line.split()[1] for line in printed] == ["train", "compare"]
    assert printed[0] in Path("audited/report.html").read_text()
    for line in printed:
        assert heedful(*shlex.split(line)[1:]).code == 0
    assert RunFolder("run-faithful").is_finished


def test_the_verdict_becomes_an_exit_code_on_request(heedful, run, marked):
    ask = ("--ask", "decisive")  # telling is not asked, so attention cannot be shown to be safe
    verdict = json.loads(heedful("audit", run, marked, *ask, "--json").out)["verdict"]
    assert verdict in ("not-safe", "may-not")
    assert heedful("audit", run, marked, *ask, "--fail-on", "not-safe").code == 1
    expected = 1 if verdict == "may-not" else 0
    assert heedful("audit", run, marked, *ask, "--fail-on", "may-not").code == expected


def test_only_the_test_part_of_a_trained_file_is_audited(heedful, run, data):
    answer = heedful("audit", run, data, "--ask", "decisive", "--json")
    note = "540 documents left out: 480 used to train the model, 60 used to choose its best epoch"
    assert f"note: {note}; --include-trained audits them too" in answer.err
    found = json.loads(answer.out)
    assert found["documents_available"] == 60
    assert found["about"]["left_out_trained_on"] == 480
    assert found["about"]["left_out_dev"] == 60
    everyone = heedful("audit", run, data, "--include-trained", "--ask", "decisive")
    assert "of them used in training, so this says little about new text" in everyone.out


def test_a_file_of_training_documents_alone_is_refused(heedful, run, data):
    documents, _ = read_documents(data)
    met = Trained.load(run).exposure(documents.texts)
    seen = [d for d, is_new in zip(documents, met.is_new, strict=True) if not is_new]
    rows = {"text": [d.text for d in seen], "label": [d.label for d in seen]}
    pandas.DataFrame(rows).to_csv("seen.csv", index=False)
    answer = heedful("audit", run, "seen.csv")
    assert answer.code == 2
    assert "all 540 documents were used to train the model or to choose" in answer.err
    assert "--include-trained" in answer.err


def test_accuracy_on_the_sample_is_shown_beside_that_on_the_test_part(heedful, run, marked):
    answer = heedful("audit", run, marked, "--ask", "decisive", "--documents", "25")
    assert "on the 25 audited documents; " in answer.out
    assert "on all 60 test documents" in answer.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.csv"], "no such file or folder"),
        (["DATA", "--ask", "decisiv"], "no question named 'decisiv'. Did you mean 'decisive'?"),
        (["DATA", "--fail-on", "may"], "--fail-on must be may-not or not-safe, not 'may'."),
        (["DATA", "--documents", "0"], "documents should be at least 1, not 0."),
        (["DATA", "--seed", "-1"], "seed should be at least 0, not -1."),
        (
            ["DATA", "--budget", "5"],
            "a duration should be a number followed by s, m or h (90s, 5m, 1h), not '5'.",
        ),
        (["DATA", "--budget", "0s"], "a duration should be a number followed by s, m or h"),
        (["DATA", "--judge", "nowhere"], "no run folder at nowhere"),
        (["DATA", "--resume"], "--resume needs the folder of the interrupted audit: give it with"),
        (["DATA", "--resume", "-o", "."], "the output folder . already exists."),
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
    assert "an audit needs attention, and this classifier has none" in answer.err


def test_an_audit_that_broke_off_is_resumed_to_the_same_answer(heedful, run, marked, monkeypatch):
    ask = ("--ask", "decisive", "--ask", "telling")
    whole = heedful("audit", run, marked, *ask, "--json").out
    from heedful.auditing.questions import telling

    with monkeypatch.context() as patch:
        patch.setattr(telling.Telling, "conclude", lambda *_: (_ for _ in ()).throw(MemoryError))
        assert heedful("audit", run, marked, *ask, "-o", "audit").code == 3
    assert list(Path("audit/parts").glob("*.safetensors"))
    refused = heedful("audit", run, marked, *ask, "-o", "audit")
    assert "audit holds an unfinished audit: resume it with --resume" in refused.err
    other = heedful("audit", run, marked, *ask, "-o", "audit", "--resume", "--seed", "5")
    assert "audit holds an audit started with seed = 0, not 5" in other.err
    resumed = heedful("audit", run, marked, *ask, "-o", "audit", "--resume", "--json")
    assert resumed.out == whole


def test_an_audit_that_was_not_begun_begins_and_one_that_is_done_says_so(heedful, run, marked):
    ask = ("audit", run, marked, "--ask", "decisive", "--documents", "20", "-o", "audit")
    new = heedful(*ask, "--resume", "--json")
    assert new.code == 0, new.err
    assert "note: audit holds no unfinished audit, so a new one is started" in new.err
    files = {path.name: path.stat().st_mtime_ns for path in Path("audit").iterdir()}
    assert sorted(files) == ["audit.json", "per_example.parquet", "report.html", "request.json"]
    done = heedful(*ask, "--resume", "--json")
    assert done.code == 0, done.err
    assert "audit is finished already; nothing to do." in done.err
    assert json.loads(done.out) == json.loads(new.out)
    assert files == {path.name: path.stat().st_mtime_ns for path in Path("audit").iterdir()}
    other = heedful(*ask, "--resume", "--seed", "5")
    assert other.code == 2
    assert "audit holds an audit started with seed = 0, not 5" in other.err
    assert heedful(*ask, "--resume", "--fail-on", "not-safe").code == 1
    Path("audit/request.json").unlink()
    unknown = heedful(*ask, "--resume")
    assert unknown.code == 2
    assert "a finished audit without a record of its request" in unknown.err


def test_a_budget_leaves_a_sample_and_says_how_much_wider_intervals_are(heedful, run, data):
    ask = ("--ask", "decisive", "--include-trained")
    answer = heedful("audit", run, data, *ask, "--budget", "0.001s")
    assert "a random sample of 2" in answer.out  # 20, and more where some are alike
    assert "times as wide as with all" in answer.out
    note = "note: 0.001s is too short; a verdict needs at least 2"
    assert answer.err.count(note) == 1
    assert note not in heedful("audit", run, data, *ask, "--budget", "0.001s", "--quiet").err


def test_another_run_can_judge(heedful, run, data, marked):
    heedful("train", data, "-o", "mean", "--pooling", "mean", "--epochs", "1")
    own, other = (
        json.loads(heedful("audit", run, marked, "--ask", "telling", "--judge", j, "--json").out)
        for j in ("self", "mean")
    )
    assert own["about"]["judge"] == "self"
    assert other["about"]["judge"] == "mean"
    assert own["answers"] != other["answers"]


def test_runs_are_compared_on_the_same_documents(heedful, run, data, marked):
    train = ("--encoder", "mlp", "--epochs", "1", "--split", "spaces", "--embedding-size", "8")
    heedful("train", data, "-o", "other", *train)
    answer = heedful("compare", run, "other", "--data", marked, "-o", "both")
    assert answer.code == 0, answer.err
    assert "paired differences on the same documents" in answer.out
    assert "comprehensiveness" in answer.out
    assert Path("both/report.html").is_file()
    assert "test accuracy " in answer.out
    assert answer.out.count("% is tolerated") >= 2  # the reason of each verdict
    new = heedful("compare", run, "other", "--data", data, "--json", "--documents", "5")
    assert new.code == 0, new.err
    assert "540 documents left out: 480 used to train the model" in new.err
    assert len(pandas.read_parquet("both/1-run/per_example.parquet")) == 60
    again = heedful("compare", "both/1-run", "both/2-other", "--json")
    rows = json.loads(again.out)["differences"]
    assert {"accuracy", "permutation", "comprehensiveness"} <= {row["test"] for row in rows}


def test_comparisons_that_cannot_be_made_are_refused(heedful, run, marked):
    assert "the same folder is given twice" in heedful("compare", run, run).err
    answer = heedful("compare", run)
    assert answer.code == 2
    assert "contains no audit. Give documents with --data to audit it now." in answer.err
    heedful("audit", run, marked, "-o", "a", "--ask", "decisive")
    heedful("audit", run, marked, "-o", "b", "--ask", "decisive", "--documents", "10")
    assert "different documents (60 and 10)" in heedful("compare", "a", "b").err
    assert "a comparison needs at least two audits" in heedful("compare", "a").err


def test_the_columns_that_a_run_was_trained_on_need_not_be_named_again(heedful, rows):
    table = pandas.DataFrame(
        {"Opinion": [r["text"] for r in rows], "Kind": [r["label"] for r in rows]}
    )
    table.to_csv("mine.csv", index=False)
    columns = ("--text", "Opinion", "--label", "Kind")
    trained = heedful("train", "mine.csv", *columns, "-o", "run", *QUICK)
    assert trained.code == 0, trained.err
    assert (
        "next: heedful audit run mine.csv --text Opinion --label Kind -o run-audit" in trained.err
    )
    answer = heedful("audit", "run", "mine.csv", "--documents", "30", "--ask", "telling")
    assert answer.code == 0, answer.err
    assert "accuracy" in answer.out
    assert heedful("predict", "run", "--file", "mine.csv").code == 0
    again = heedful("train", "mine.csv", *columns, "-o", "other", *QUICK, "--seed", "2")
    assert again.code == 0, again.err
    compared = heedful("compare", "run", "other", "--data", "mine.csv", "--documents", "25")
    assert compared.code == 0, compared.err
