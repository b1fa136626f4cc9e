"""Rules that every question keeps, new ones included; test_audit_tests.py has those of tests."""

import inspect

import pytest

from heedful.auditing.audit import audit
from heedful.auditing.questions import AuditSettings, questions
from heedful.auditing.questions.base import Question
from heedful.auditing.results import Audit
from heedful.auditing.subjects.base import Subject
from heedful.auditing.subjects.retrained import Twins
from heedful.counterfactual.adversarial import Adversarial
from tests.auditing.doubles import a_subject
from tests.readouts.tiny import planted_documents

every_question = pytest.mark.parametrize("name", questions)
POINTS = {"good": 3.0, "bad": -3.0}


@pytest.fixture(scope="module")
def found() -> Audit:
    """All questions, of a subject that shows its weights and nothing else."""
    settings = AuditSettings(search=Adversarial(steps=2))
    return audit(a_subject(POINTS), planted_documents(40), settings)


@every_question
def test_a_question_is_asked_by_its_name_with_a_question_mark(name):
    question = questions.make(name)
    assert isinstance(question, Question)
    assert question.name == name
    assert question.asks.endswith("?")
    assert question.asks[0].isupper()


def test_every_question_has_a_place_of_its_own():
    places = sorted(question.place for question in questions.values())
    assert places == list(range(1, len(questions) + 1))


@every_question
def test_a_question_declares_its_tests(name):
    tests = questions.make(name).tests
    assert tests
    for test in tests:
        assert test.name
        assert test.better in ("higher", "lower")


@every_question
def test_a_subject_that_lacks_what_a_question_needs_is_not_asked_and_the_reason_is_given(name):
    question, subject = questions.make(name), a_subject(POINTS)
    assert issubclass(question.needs, Subject)
    if not isinstance(subject, question.needs):
        assert question.needs.missing
        assert question.why_not(subject, Twins()) == question.needs.missing


@every_question
def test_an_answer_has_tests_or_a_reason_why_there_are_none(found, name):
    answer = found.answer(name)
    assert bool(answer.tests) != bool(answer.reason)
    declared = {test.name for test in questions[name].tests}
    assert {test.name for test in answer.tests} <= declared
    if reason := questions.make(name).why_not(a_subject(POINTS), Twins()):
        assert answer.reason == reason


@every_question
def test_a_question_has_no_options_since_settings_of_an_audit_hold_them(name):
    assert inspect.isclass(questions[name])
    assert questions.options(name) == {}
