import json
from pathlib import Path

import pytest

from heedful.auditing.results import Audit
from heedful.importance.explanation import USUAL_MEASURES
from tests.cli.conftest import QUICK
from tests.readouts.tiny import planted_documents


def test_the_text_is_shown_once_per_measure_and_then_without_its_top_words(heedful, run):
    answer = heedful("explain", run, "neutralaaa positiveaaa positiveaab")
    assert answer.code == 0, answer.err
    first, blank, *rest = answer.out.splitlines()
    assert first.startswith("positive ")
    assert blank == ""
    for line, measure in zip(rest[::2], USUAL_MEASURES, strict=False):
        assert line == f"{measure:<16}  neutralaaa positiveaaa positiveaab"
    for line in rest[1:8:2]:
        assert line.count("aa") == 3  # the strongest words with their scores
    assert "probability of positive without the top words" in rest
    assert sum("  without " in line for line in rest) == 2 * len(USUAL_MEASURES)


def test_measures_can_be_chosen_and_json_has_them(heedful, run):
    answer = heedful(
        "explain", run, "a b", "--measure", "random", "--measure", "ablation", "--json"
    )
    word = json.loads(answer.out)["words"][0]
    assert set(word) == {"word", "start", "end", "random", "ablation"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x", "--measure", "atention"], "no importance measure named 'atention'. Did you mean"),
        (["  "], "the text contains no words"),
    ],
)
def test_bad_requests_are_refused(heedful, run, arguments, sentence):
    answer = heedful("explain", run, *arguments)
    assert answer.code == 2
    assert sentence in answer.err


def test_control_characters_do_not_reach_the_terminal(heedful, run):
    answer = heedful("explain", run, "a\x1b[31mb\tc\x07")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert "\x07" not in answer.out


# ----- By an audit of the run -----

ANSWERED = "neutralaaa positiveaaa positiveaab"


@pytest.fixture
def audited(heedful, run, data, tmp_path):
    """The audit of the run; of its documents more than half have a true picture."""
    folder = tmp_path / "audits" / "of-run"
    answer = heedful(
        *("audit", run, data, "--include-trained", "--documents", "60", "--ask", "telling"),
        *("-q", "-o", folder),
    )
    assert answer.code == 0, answer.err
    assert "For single texts: show" in answer.out
    assert "For single texts: show" in (folder / "report.html").read_text()
    return folder


def test_an_explanation_says_whether_its_heat_map_may_be_shown(heedful, run, audited):
    from heedful.auditing.subjects.classifier import ClassifierSubject
    from heedful.auditing.withholding import Withholding
    from heedful.training.trained import Trained

    answer = heedful("explain", run, ANSWERED, "--audit", audited, "--json")
    found = json.loads(answer.out)
    withholding = Withholding.by_audit(Audit.load(audited), ClassifierSubject(Trained.load(run)))
    (wanted,) = withholding.decide([ANSWERED])
    assert (found["shown"], found["why"]) == (wanted.is_shown, wanted.why)
    lines = heedful("explain", run, ANSWERED, "--audit", audited).out.splitlines()
    may = "may" if wanted.is_shown else "should not"
    assert lines[2] == f"The heat map of attention {may} be shown. {wanted.why}"


def test_a_withheld_heat_map_is_replaced_by_the_reason_unless_it_is_asked_for(
    heedful, run, audited, tmp_path
):
    unknown = "qqq www eee"  # words that the model does not know: none of them decides
    answer = heedful("explain", run, unknown, "--audit", audited)
    lines = answer.out.splitlines()
    assert lines[2].startswith("The heat map of attention should not be shown. Deleting words")
    assert f"{'attention':<16}  withheld; --anyway shows it" in lines
    assert f"{'attention':<16}  {unknown}" not in lines
    rows = Audit.load(audited).evidence["measures"]
    refused = {row["measure"] for row in rows if row["verdict"] == "may-not"}
    for measure in set(USUAL_MEASURES) - {"attention"}:  # those that the audit refuses are left out
        assert (f"{measure:<16}  {unknown}" in lines) == (measure not in refused)
    anyway = heedful("explain", run, unknown, "--audit", audited, "--anyway").out.splitlines()
    assert f"{'attention':<16}  {unknown}" in anyway
    assert anyway[2] == lines[2]
    page = tmp_path / "page.html"
    heedful("explain", run, unknown, "--audit", audited, "--html", page)
    assert "Look at it anyway (not safe)" in page.read_text()


def test_the_audit_of_a_run_is_found_beside_it_and_named(heedful, run, audited):
    answer = heedful("explain", run, ANSWERED, "--json")
    assert isinstance(json.loads(answer.out)["shown"], bool)
    assert f"note: using the audit {audited}" in answer.err


def test_without_an_audit_nothing_is_said_about_showing(heedful, run):
    answer = heedful("explain", run, ANSWERED)
    assert "be shown" not in answer.out + answer.err
    assert json.loads(heedful("explain", run, ANSWERED, "--json").out)["shown"] is None


def test_an_audit_of_another_model_or_of_an_earlier_version_is_refused(
    heedful, run, audited, data, tmp_path
):
    other = tmp_path / "other"
    assert heedful("train", data, "-o", other, *QUICK, "--seed", "7").code == 0
    answer = heedful("explain", other, ANSWERED, "--audit", audited)
    assert answer.code == 2
    assert "the audit of run is of another model" in answer.err
    assert "be shown" not in heedful("explain", other, ANSWERED).out
    old = Path(__file__).parents[1] / "golden" / "version-0.1" / "words-audit"
    answer = heedful("explain", run, ANSWERED, "--audit", old)
    assert answer.code == 2
    assert "has no rule for single texts: it was made by an earlier version" in answer.err
    answer = heedful("explain", run, ANSWERED, "--audit", tmp_path / "nowhere")
    assert answer.code == 2
    assert "contains no audit" in answer.err


def test_a_smaller_risk_takes_more_documents(heedful, run, audited):
    answer = heedful("explain", run, ANSWERED, "--audit", audited, "--risk", "0.01")
    assert "an audit needs at least 99 documents" in answer.out
    answer = heedful("explain", run, ANSWERED, "--audit", audited, "--risk", "0")
    assert answer.code == 2
    assert "risk should be greater than 0, not 0.0" in answer.err


def test_a_text_is_explained_by_a_transformer_with_the_measures_that_it_has(heedful, saved):
    text = "worda good wordb"
    answer = heedful("explain", f"hf:{saved}", text)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[0].split()[0] in ("good", "bad")
    assert f"attention         {text}" in answer.out
    chosen = ("--measure", "decomposition", "--measure", "generic-attention", "--json")
    told = json.loads(heedful("explain", f"hf:{saved}", text, *chosen).out)
    assert [word["word"] for word in told["words"]] == text.split()
    assert set(told["words"][0]) == {"word", "start", "end", "decomposition", "generic-attention"}
    other = json.loads(
        heedful("explain", f"hf:{saved}", text, "--readout", "rollout", "--json").out
    )
    last = json.loads(heedful("explain", f"hf:{saved}", text, "--json").out)
    assert other["words"][0]["attention"] != last["words"][0]["attention"]
    assert other["probabilities"] == last["probabilities"]


def test_the_audit_of_a_reading_says_whether_a_transformers_heat_map_is_shown(heedful, saved):
    rows = [{"text": d.text, "label": d.label} for d in planted_documents(40, seed=7)]
    Path("documents.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ask = ("--ask", "telling", "--readout", "last-cls")
    assert heedful("audit", f"hf:{saved}", "documents.jsonl", *ask, "-o", "audit").code == 0
    explain = ("explain", f"hf:{saved}", "worda good wordb", "--audit", "audit/1-last-cls")
    told = json.loads(heedful(*explain, "--json").out)
    assert isinstance(told["shown"], bool)
    assert told["why"]
    answer = heedful(*explain, "--readout", "rollout")
    assert answer.code == 2
    assert "is of another model" in answer.err


def test_a_readout_is_refused_for_a_run_and_an_unknown_measure_for_a_transformer(
    heedful, run, saved
):
    answer = heedful("explain", run, "a b", "--readout", "rollout")
    assert answer.code == 2
    assert "--readout needs hf:FOLDER_OR_NAME." in answer.err
    answer = heedful("explain", f"hf:{saved}", "a b", "--measure", "contribution")
    assert answer.code == 2
    assert "a Hugging Face model has no contribution" in answer.err
