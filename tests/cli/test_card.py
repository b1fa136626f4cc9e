"""`heedful card`: the card of a saved audit."""

from pathlib import Path

from huggingface_hub import ModelCard

from heedful import runs
from tests.report.audits import made_audit


def test_the_command_writes_the_card_of_a_saved_audit(heedful):
    made_audit().save("audited")
    done = heedful("card", "audited", "-o", "README.md", "--model-id", "me/reviews")
    assert done.code == 0, done.err
    assert ModelCard.load("README.md").data.model_name == "me/reviews"
    again = heedful("card", "audited", "-o", "README.md")
    assert again.code == 2
    assert "README.md exists" in again.err
    shown = heedful("card", "audited", "--model-id", "me/reviews")
    assert shown.out.strip() == Path("README.md").read_text().strip()
    assert heedful("card", "nowhere").code == 2


def test_of_several_readings_one_must_be_chosen(heedful):
    made_audit().save("audited/1-last-cls")
    Path("audited", runs.READINGS).write_text("{}")
    done = heedful("card", "audited")
    assert done.code == 2
    assert "such as audited/1-last-cls" in done.err
