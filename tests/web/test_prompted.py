"""Prompted decoders on the page: only the text is explained and changed, never the template."""

import numpy as np
import pytest
from starlette.testclient import TestClient

from heedful.auditing.explanation import explain_with
from heedful.auditing.questions import AuditSettings
from heedful.auditing.run_audit import AuditPlan
from heedful.auditing.subjects.huggingface.audit_readings import audit_readings
from heedful.auditing.subjects.huggingface.loading import load_prompted_transformer
from heedful.auditing.subjects.huggingface.prompted import Prompt
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.errors import UsageError
from heedful.text.documents import Document, Documents
from heedful.web import create_app
from heedful.web.store import Store
from tests.auditing.subjects.test_huggingface_prompted import (
    PROMPTED,
    TEMPLATE,
    by_hand,
    tiny_decoder,
)
from tests.readouts.tiny import tiny_tokenizer

TEXT = "a good film"
PROMPT = Prompt.of(TEMPLATE, "bad,good")
OTHER = Prompt.of("so: {text}\nis it old?", "bad,good")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "asked"
    tiny_decoder("GPT2").save_pretrained(place)
    tiny_tokenizer(PROMPTED).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def audits(folder, tmp_path_factory):
    """Of one reading, with the same prompt."""
    loaded = load_prompted_transformer(str(folder), PROMPT)
    subjects, _ = subjects_of(loaded, ["last-cls"])
    texts = [f"{word} film {number % 2 * 'old '}{word}" for number, word in enumerate("abcdefgh")]
    documents = Documents(Document(text) for text in texts)
    plan = AuditPlan(AuditSettings(), ["telling"])
    audit_readings(loaded, subjects, documents, plan).save(place := tmp_path_factory.mktemp("a"))
    return place


@pytest.fixture(scope="module")
def client(folder, audits):
    app = create_app([f"hf-prompt:{folder}", audits], readouts=["last-cls"], prompt=PROMPT)
    with TestClient(app, base_url="http://127.0.0.1") as opened:
        yield opened


def asked(client, path: str, **body) -> dict:
    answer = client.post(f"/api/runs/asked · last-cls/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_it_is_served_with_its_template(client):
    (run,) = client.get("/api/served").json()["runs"]
    assert run["name"] == "asked · last-cls"
    assert run["classes"] == ["bad", "good"]
    assert run["about"]["template"] == TEMPLATE
    assert {"decomposition", "leave-one-out"} <= set(run["measures"])


def test_a_text_is_explained_as_by_the_command_and_the_template_is_not(client, folder):
    measures = ["attention", "decomposition", "leave-one-out"]
    loaded = load_prompted_transformer(str(folder), PROMPT)
    subject = subjects_of(loaded, ["last-cls"])[0]["last-cls"]
    expected = explain_with(subject, TEXT, measures)
    found = asked(client, "explain", text=TEXT, measures=measures)
    assert [len(found["scores"][name]) for name in measures] == [3, 3, 3]
    for name in measures:
        np.testing.assert_allclose(found["scores"][name], expected.scores[name], atol=1e-6)
    shares = [one["probability"] for one in found["probabilities"]]
    np.testing.assert_allclose(shares, by_hand(folder, TEXT), atol=1e-5)


def test_its_own_weights_change_nothing_and_a_word_can_be_deleted(client, folder):
    own = asked(client, "attend", text=TEXT)
    again = asked(client, "attend", text=TEXT, weights=own["own"])
    assert again["tvd"] == pytest.approx(0, abs=1e-5)
    without = asked(client, "replace", text=TEXT, by="uniform", deleted=[1])
    assert len(without["weights"]) == 2


def test_an_audit_is_of_it_only_with_the_same_prompt(folder, audits):
    same = Store.open([f"hf-prompt:{folder}", audits], readouts=["last-cls"], prompt=PROMPT)
    assert same.run_of(same.audit("1-last-cls")) == "asked · last-cls"
    other = Store.open([f"hf-prompt:{folder}", audits], readouts=["last-cls"], prompt=OTHER)
    assert other.run_of(other.audit("1-last-cls")) is None


def test_a_prompt_is_needed_for_a_decoder_and_refused_for_anything_else(folder, audits):
    with pytest.raises(UsageError, match=r"needs a prompt: give --template and --label-words"):
        Store.open([f"hf-prompt:{folder}"])
    with pytest.raises(UsageError, match=r"^--template and --label-words need hf-prompt:FOLDER"):
        Store.open([audits], prompt=PROMPT)
