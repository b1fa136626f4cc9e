"""The same model, documents and seed give the same numbers, however the audit is asked for."""

import json
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import heedful as library
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit
from heedful.cli import demo
from heedful.text.datasets import load
from heedful.training.trained import Trained
from heedful.web import create_app
from tests.readouts.tiny import fine_tuned, planted_documents

CORPUS = "planted:documents=300"
SAMPLE = 30
GRID = {
    "data": CORPUS,
    "model": {"encoder": "embedding", "embedding_size": 4, "dropout": 0.0},
    "training": {"recipe": "standard:epochs=3", "optimizer": "adam:learning_rate=0.05"},
    "seeds": [1],
    "audit": {"documents": SAMPLE},
}


def assert_same_numbers(one: Audit, other: Audit) -> None:
    assert one.texts == other.texts
    assert one.verdict == other.verdict
    assert repr(one.answers) == repr(other.answers)  # bit for bit, and nan is nan
    assert one.columns.keys() == other.columns.keys()
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)


@pytest.mark.workers
def test_a_run_is_audited_alike_through_every_door(heedful, monkeypatch):
    library.sweep(GRID, "swept", cores=1)
    (run,) = (path.parent for path in Path("swept").glob("*/config.json"))
    (by_sweep,) = (Audit.load(path.parent) for path in run.glob("*/audit.json"))

    audited = heedful("audit", run, CORPUS, "--documents", SAMPLE, "-o", "audited")
    assert audited.code == 0, audited.err
    by_command = Audit.load("audited")
    assert_same_numbers(by_command, by_sweep)

    compared = heedful(
        "compare", run, "audited", "--data", CORPUS, "--documents", SAMPLE, "-o", "compared"
    )
    assert compared.code == 0, compared.err
    by_compare = Audit.load(next(Path("compared").glob("1-*")))
    assert_same_numbers(by_compare, by_command)

    classifier = library.Classifier.load(run)
    documents = load(CORPUS).test
    in_python = library.audit(classifier, documents, by_command_settings(by_command), sample=SAMPLE)
    assert_same_numbers(in_python, by_command)

    for name, value in {"CORPUS": CORPUS, "AUDITED": SAMPLE, "SAMPLED": 300}.items():
        monkeypatch.setattr(demo, name, value)
    demo._audit({"run": Trained.load(run)}, load(CORPUS), Path("shown"))
    by_demo = Audit.load(Path("shown") / demo.AUDITS / "run")
    assert_same_numbers(by_demo, by_command)

    with TestClient(create_app([Path("audited")]), base_url="http://127.0.0.1:8642") as client:
        (served,) = client.get("/api/served").json()["audits"]
        columns = {"column": "comprehensiveness_attention", "count": SAMPLE}
        page = client.get(f"/api/audits/{served['name']}/documents", params=columns).json()
    assert served["verdict"] == by_command.verdict
    shown = {row["place"]: row["numbers"]["comprehensiveness_attention"] for row in page["rows"]}
    expected = dict(enumerate(by_command.columns["comprehensiveness_attention"].tolist()))
    assert shown == expected


def by_command_settings(audit: Audit) -> AuditSettings:
    """The rationale length is taken from the corpus's training part, as the command line does."""
    return AuditSettings(rationale_words=audit.settings["rationale_words"])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_transformer_is_audited_alike_through_both_doors(heedful):
    model, tokenizer = fine_tuned()
    for part in (model, tokenizer):
        part.save_pretrained("bert")
    documents = planted_documents(30, seed=7)
    rows = [{"text": d.text, "label": d.label} for d in documents]
    Path("documents.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chosen = ("--readout", "rollout", "--documents", 24, "--device", "cpu")  # as in Python
    answer = heedful("audit", "hf:bert", "documents.jsonl", *chosen, "-o", "out")
    assert answer.code == 0, answer.err
    (by_command,) = (Audit.load(path.parent) for path in Path("out").glob("*/audit.json"))
    in_python = library.audit(
        model, documents, AuditSettings(rationale_words=1), tokenizer=tokenizer, readout="rollout",
        sample=24,
    )  # fmt: skip
    assert_same_numbers(in_python, by_command)
