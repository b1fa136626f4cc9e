"""The paragraph on top of a verdict: true of the audit that it is made of, and in plain words."""

import math
from dataclasses import replace

import pytest

from heedful.auditing.next_step import COMMANDS
from heedful.auditing.plain_words import (
    cut_in_words,
    far_outside,
    in_plain_words,
    several_in_plain_words,
)
from heedful.auditing.questions import questions
from heedful.auditing.results import AT_CHANCE, Audit
from heedful.auditing.terms import ANSWERS, QUESTIONS, TERMS
from tests.report.audits import made_audit

JARGON = ("JSD", "epsilon", "zoo", "bootstrap", "decisive", "telling", "log-odds", "floor")


def answered(audit: Audit, question: str, judgement: str) -> Audit:
    """The audit with another answer to one question."""
    answers = tuple(
        replace(one, judgement=judgement) if one.question == question else one
        for one in audit.answers
    )
    return replace(audit, answers=answers)


@pytest.mark.parametrize("honesty", [0.0, 0.3, 0.95])
def test_the_paragraph_holds_no_word_that_only_papers_use(honesty):
    said = str(in_plain_words(made_audit(honesty)))
    assert [word for word in JARGON if word in said] == []


def test_the_share_of_false_heat_maps_and_the_limit_are_the_audits_own():
    audit = made_audit(0.3)  # true pictures 0.2 + 0.75 * 0.3 = 0.425, so 57.5% are false
    assert "In 57% of the texts" in audit.in_plain_words.found
    assert "At most 15% is tolerated." in audit.in_plain_words.found
    stricter = replace(audit, settings={**audit.settings, "tolerate": 0.05})
    assert "At most 5% is tolerated." in stricter.in_plain_words.found


@pytest.mark.parametrize(
    ("verdict", "means"),
    [("may", "You may show"), ("may-not", "Do not show"), ("not-safe", "yet")],
)
def test_every_verdict_says_what_it_means_for_showing_the_picture(verdict, means):
    said = replace(made_audit(), verdict=verdict).in_plain_words
    assert means in said.means
    assert said.asked.startswith("A heat map claims")


def test_a_yes_with_a_no_beneath_it_is_explained():
    audit = made_audit(0.95)
    assert audit.verdict == "may"
    assert "does not change the verdict" not in str(audit.in_plain_words)
    said = answered(audit, "needed", "contradicted").in_plain_words.means
    assert "The answer to “needed” below is no: the model would be about as accurate" in said
    assert "That does not change the verdict" in said


def test_what_speaks_against_a_picture_besides_is_named():
    audit = answered(made_audit(0.95), "leak-free", "contradicted")
    assert "gives the label away" in replace(audit, verdict="may-not").in_plain_words.found
    unsure = answered(made_audit(0.95), "decisive", "undecided")
    assert (
        "It could not be decided whether the prediction changes when the attention is moved"
        in replace(unsure, verdict="not-safe").in_plain_words.found
    )


def test_the_next_step_is_the_reading_that_may_be_shown_and_the_commands():
    audit = made_audit(0.3)
    assert audit.in_plain_words.next == ""
    row = {
        "measure": "leave-one-out", "judgement": "supported", "false_pictures": 0.04,
        "false_low": 0.01, "false_high": 0.09,
    }  # fmt: skip
    cured = replace(
        audit,
        about={**audit.about, COMMANDS: ["heedful train x"]},
        evidence={**audit.evidence, "instead": (row,)},
    )
    assert cured.in_plain_words.next == (
        "Show leave-one-out instead (`heedful explain RUN TEXT --measure leave-one-out`): its heat "
        "map is false for 4% of the texts. To get a model whose heat map may be shown, run the "
        "commands below."
    )


def test_a_model_at_chance_is_sent_back_to_training():
    about = {**made_audit().about, AT_CHANCE: "the model's accuracy is at chance: 50.0%"}
    said = replace(made_audit(), about=about, verdict="not-safe").in_plain_words
    assert said.found.startswith("The model's accuracy is at chance: 50.0%.")
    assert "train a model that is better than chance" in said.next


def test_an_audit_that_did_not_delete_words_does_not_claim_it():
    answers = tuple(one for one in made_audit().answers if one.question != "telling")
    said = replace(made_audit(), answers=answers, verdict="not-safe").in_plain_words
    assert "deleted" not in str(said)


def test_several_readings_are_told_in_one_paragraph():
    audits = {"last-cls": made_audit(0.3), "rollout": made_audit(0.95)}
    said = several_in_plain_words("May be shown, read by rollout.", audits)
    assert "read in 2 ways" in said.asked
    assert "last-cls 57%, rollout 9%" in said.found
    assert said.next == "Show the heat map of rollout, and no other one."
    none = several_in_plain_words("No reading.", {"last-cls": made_audit(0.3)})
    assert "Do not show them" in none.means


def test_a_cut_is_shown_on_the_scale_with_what_it_means():
    audit = made_audit(0.3)
    (test,) = (one for one in audit.answer("telling").tests if one.name == "true pictures")
    assert cut_in_words(test, audit) == (
        "0.42 on a scale from 0, worthless, to 1, the best that can be had; it must exceed 0.85, "
        "because at most 15% of the heat maps may be false."
    )
    reported = audit.answer("exclusive").tests[0]
    assert cut_in_words(reported, audit) == ""


@pytest.mark.parametrize(
    ("value", "is_far"),
    [(-1.0, False), (2.0, False), (-1.01, True), (9.0, True), (math.nan, False)],
)
def test_scores_outside_of_minus_one_to_two_are_marked(value, is_far):
    score = replace(made_audit().answers[0].tests[0].score, score=value)
    assert bool(far_outside(score)) == is_far


def test_every_question_and_answer_has_one_plain_sentence():
    assert set(QUESTIONS) == set(questions)
    judged = {one.judgement or "not asked" for one in made_audit().answers}
    assert judged <= set(ANSWERS)
    for term, meaning in TERMS.items():
        assert meaning.endswith("."), term
        assert ". " not in meaning, term


def test_an_audit_shows_itself_in_a_line():
    assert repr(made_audit()) == "<Audit of 'bilstm' on 400 documents: may-not>"
