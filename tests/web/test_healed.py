"""A healed run on the page: the model's decision, and no weights where attention disagrees."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from starlette.testclient import TestClient

import heedful
from heedful.web import create_app
from tests.readouts.tiny import fine_tuned, planted_documents

TEXT = "worda a good wordb wordc"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    healed = heedful.heal(fine_tuned(), planted_documents(120, seed=3).texts, epochs=3).trained_
    model = deepcopy(healed.model)
    with torch.no_grad():
        model.output.linear.weight.neg_()
        model.output.linear.bias.neg_()
    healed.save(folder / "healed")
    replace(healed, model=model).save(folder / "contrary")
    with TestClient(create_app([folder]), base_url="http://127.0.0.1") as client:
        yield client


def asked(client, path: str, **body) -> dict:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def likeliest(shares: list[dict]) -> str:
    return max(shares, key=lambda share: share["probability"])["label"]


def test_where_attention_disagrees_the_decision_is_sent_and_no_weights(client):
    shown = asked(client, "/api/runs/healed/explain", text=TEXT)
    withheld = asked(client, "/api/runs/contrary/explain", text=TEXT)
    assert shown["prediction"] == withheld["prediction"] == "good"
    assert shown["scores"]
    assert not shown["withheld"]
    assert withheld["scores"] == {}
    assert withheld["withheld"].startswith("No heat map: the model predicts good")


def test_what_if_knows_who_decides(client):
    shown = asked(client, "/api/runs/healed/attend", text=TEXT)
    withheld = asked(client, "/api/runs/contrary/attend", text=TEXT)
    assert likeliest(shown["decided"]) == likeliest(withheld["decided"]) == "good"
    assert len(shown["weights"]) == 5
    assert withheld["weights"] == withheld["own"] == []
    assert withheld["own_prediction"] == "bad"
    assert withheld["withheld"]


def test_runs_are_compared_where_both_show_weights(client):
    both = asked(client, "/api/compare", text=TEXT, runs=["healed", "contrary"])
    assert [bool(sheet["withheld"]) for sheet in both["runs"]] == [False, True]
    assert both["agreements"] == []
