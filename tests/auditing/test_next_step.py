"""The commands after a verdict that is not a yes."""

import shlex
from dataclasses import replace

import pytest

from heedful.auditing.next_step import (
    COMMANDS,
    healing_commands,
    next_steps,
    training_commands,
)
from tests.report.audits import made_audit


def test_a_run_is_trained_again_like_itself_and_compared():
    train, compare = training_commands("runs/a", "standard", {"source": "sst2"}, "new.csv")
    assert train == "heedful train sst2 --like runs/a --recipe faithful -o runs/a-faithful"
    assert compare == (
        "heedful compare runs/a runs/a-faithful --data new.csv -o runs/a-faithful-compared"
    )


def test_what_the_documents_were_read_with_is_said_again_and_quoted():
    data = {"source": "my data.csv", "text": "the text", "label": "y", "dev_share": 0.2}
    train, _ = training_commands("runs/a/", "vat", data, "x")
    assert shlex.split(train)[2:9] == [
        "my data.csv", "--text", "the text", "--label", "y", "--dev-share", "0.2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "source"), [("faithful", "sst2"), ("standard", None), ("standard", "")]
)
def test_no_command_is_known_for_a_faithful_run_or_for_documents_from_python(recipe, source):
    assert training_commands("runs/a", recipe, {"source": source}, "x") == ()


@pytest.mark.parametrize(("verdict", "count"), [("may", 0), ("may-not", 2), ("not-safe", 2)])
def test_commands_follow_every_verdict_but_a_yes(verdict, count):
    audit = replace(made_audit(), verdict=verdict, about={COMMANDS: ["heedful a", "heedful b"]})
    assert len(next_steps(audit)) == count


def test_one_reading_of_a_model_that_may_be_shown_is_enough():
    one, other = (
        replace(made_audit(), verdict=verdict, about={COMMANDS: ["heedful a"]})
        for verdict in ("may", "may-not")
    )
    elsewhere = replace(other, about={COMMANDS: ["heedful b"]})
    assert next_steps(one, other) == ()
    assert next_steps(other, other, elsewhere) == ("heedful a", "heedful b")


def test_a_hugging_face_model_is_healed_and_audited_on_the_same_documents():
    heal, audit = healing_commands("some/my model/", "x.csv", {"text": "body", "label": None})
    assert heal == "heedful heal 'hf:some/my model/' x.csv --text body -o my-model-healed"
    assert audit == "heedful audit my-model-healed x.csv --text body -o my-model-healed-audit"
