"""Model cards, read back by huggingface_hub's own classes."""

from dataclasses import replace

import pytest
from huggingface_hub import ModelCard

from heedful.auditing.next_step import COMMANDS
from heedful.auditing.terms import QUESTIONS
from tests.report.audits import HOSTILE, hostile_audit, made_audit


def test_a_card_is_read_back_with_its_results(tmp_path):
    audit = made_audit()
    audit.to_card("me/reviews").save(tmp_path / "README.md")
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.model_name == "me/reviews"
    results = {result.metric_name: result for result in card.data.eval_results}
    assert results["accuracy"].metric_value == pytest.approx(0.831)
    assert results["attention may be shown as an explanation"].metric_value == "may-not"
    pictures = results["telling: true pictures"]
    assert pictures.metric_value == pytest.approx(0.425)
    assert pictures.metric_args["cut"] == pytest.approx(0.85)
    assert pictures.metric_args["judgement"] == "contradicted"
    judged = [t for a in audit.answers for t in a.tests if t.judgement != "reported"]
    assert len(results) == 2 + len(judged)


def test_a_card_says_the_verdict_first_and_every_answer():
    text = str(made_audit().to_card())
    assert f"**{made_audit().sentence}**" in text
    assert made_audit().in_plain_words.found in text
    refused = replace(made_audit(), verdict="may-not", about={COMMANDS: ["heedful train x"]})
    assert "run the commands below" in refused.in_plain_words.next
    assert "commands below" not in str(refused.to_card())  # they name the folders of one machine
    for question, asks in QUESTIONS.items():
        assert f"| {question} |" in text
        assert asks in text


def test_a_card_names_no_folder_and_keeps_hostile_names_from_being_markup():
    audit = replace(made_audit(), about={"name": "m", "data": "/home/somebody/secret/reviews.csv"})
    text = str(audit.to_card())
    assert "reviews.csv" in text
    assert "somebody" not in text
    hostile = str(hostile_audit().to_card(HOSTILE[0]))
    assert "\n# \\<script\\>" in hostile
    assert ModelCard(hostile).data.model_name == HOSTILE[0]
