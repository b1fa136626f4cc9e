"""Sentences about what may be shown instead, also where nothing could be judged."""

import math

import pytest

from heedful.auditing.alternatives import (
    of_given,
    other_readings,
    refused_measures,
    usual_measures,
)
from heedful.auditing.chance import _unsupported

ROW = {
    "measure": "given", "false_pictures": 0.1, "false_low": 0.05, "false_high": 0.2,
    "random_model": None, "incompleteness": None, "judgement": "supported", "verdict": "may",
}  # fmt: skip


@pytest.mark.parametrize("none", [None, math.nan])
def test_where_no_picture_could_be_judged_the_sentence_says_so_before_and_after_saving(none):
    row = {
        **ROW,
        "false_pictures": none,
        "false_low": none,
        "false_high": none,
        "verdict": "not-safe",
    }
    assert "none of their pictures could be judged" in of_given(row, 0.15)
    assert other_readings([row]) == []
    assert "their picture is false on 10% of the documents (5% to 20%)" in of_given(ROW, 0.15)


@pytest.mark.parametrize(
    ("verdict", "at_chance"), [("may", "not-safe"), ("may-not", "may-not"), (None, None)]
)
def test_for_a_model_at_chance_a_refusal_stays_one_and_attention_gets_no_verdict(
    verdict, at_chance
):
    found = _unsupported({**ROW, "verdict": verdict})
    assert (found["judgement"], found["verdict"]) == ("undecided", at_chance)


SHARES = {"false_pictures": 0.4, "false_low": 0.3, "false_high": 0.5}


def test_measures_that_an_audit_refuses_are_not_usual_and_the_named_one_is():
    rows = [
        {"measure": "attention", "verdict": "may-not", **SHARES},
        {"measure": "contribution", "verdict": "may-not", **SHARES},
        {"measure": "leave-one-out", "verdict": "not-safe", **SHARES},
    ]
    chosen = [{"measure": "ablation or leave-one-out", "judgement": "supported"}]
    usual = ("attention", "contribution", "leave-one-out")
    assert usual_measures(usual, rows, chosen) == ("attention", "leave-one-out", "ablation")
    undecided = [{"measure": "ablation", "judgement": "undecided"}]
    assert usual_measures(usual, rows, undecided) == ("attention", "leave-one-out")
    assert refused_measures(usual, rows) == [
        "the audit found that the heat map of contribution may not be shown: its picture is false "
        "on 40% of the documents (30% to 50%)"
    ]
    assert refused_measures(["leave-one-out"], rows) == []
