"""`heedful audit --measure`: measures that are ranked and judged on request."""

import json
from pathlib import Path

import pytest

from tests.readouts.tiny import planted_documents


def test_the_command_line_has_them(heedful, saved):
    rows = [{"text": d.text, "label": d.label} for d in planted_documents(24, seed=7)]
    documents = Path("documents.jsonl")
    documents.write_text("\n".join(map(json.dumps, rows)))
    shown = heedful("explain", f"hf:{saved}", "worda good wordb", "--measure", "kernel-shap")
    assert shown.code == 0, shown.err
    assert "kernel-shap" in shown.out
    ask = ("audit", f"hf:{saved}", documents, "--readout", "last-cls", "--readout", "rollout")
    few = ("--measure", "kernel-shap:n_samples=40", "--measure", "lime:n_samples=40")
    answer = heedful(*ask, *few, "--ask", "telling", "--json")
    assert answer.code == 0, answer.err
    for audit in json.loads(answer.out)["audits"].values():
        told = {row["measure"]: row for row in audit["evidence"]["measures"]}
        assert told["kernel-shap:n_samples=40"]["verdict"]
        assert told["lime:n_samples=40"]["verdict"]
    for wrong, sentence in (
        (("--measure", "kernel-sharp"), "Did you mean 'kernel-shap'?"),
        (("--measure", "lime:alpha=0"), "alpha should be greater than 0"),
        (("--measure", "alti"), "every audit already ranks alti"),
        (("--measure", "lime", "--ask", "agreeing"), "judged by the question telling: add --ask"),
    ):
        answer = heedful(*ask, *wrong)
        assert answer.code == 2
        assert sentence in " ".join(answer.err.split())


def test_an_audit_of_a_run_has_them_too_and_is_not_resumed_with_others(heedful, run, data):
    ask = ("audit", run, data, "--ask", "telling", "--documents", "12", "--include-trained")
    answer = heedful(*ask, "--measure", "kernel-shap:n_samples=30", "-o", "audit", "--json")
    assert answer.code == 0, answer.err
    told = [row["measure"] for row in json.loads(answer.out)["evidence"]["measures"]]
    assert "kernel-shap:n_samples=30" in told
    other = heedful(*ask, "--measure", "lime:n_samples=30", "-o", "audit", "--resume")
    assert other.code == 2
    assert "started with measures = ['kernel-shap:n_samples=30'], not ['lime:" in other.err


@pytest.mark.workers
def test_workers_measure_them_with_the_same_numbers(heedful, run, data):
    ask = ("audit", run, data, "--ask", "telling", "--documents", "70", "--include-trained", "-q")
    ask = (*ask, "--measure", "kernel-shap:n_samples=30", "--json")
    alone, shared = heedful(*ask), heedful(*ask, "-o", "audit", "--workers", "2")
    assert shared.code == 0, shared.err
    one, two = (json.loads(answer.out)["evidence"]["measures"] for answer in (alone, shared))
    assert "kernel-shap:n_samples=30" in {row["measure"] for row in two}
    assert [row["comprehensiveness"] for row in two] == pytest.approx(
        [row["comprehensiveness"] for row in one]
    )
