"""A test of an audit is defined once, with its question; everybody else reads the definition."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import heedful
from heedful.auditing.audit_tests import AuditTest
from heedful.auditing.comparison import compare
from heedful.auditing.operating_points import shipped
from heedful.auditing.questions import AuditSettings, audit_tests, questions
from heedful.auditing.questions.base import Conclusion, Measured, Question
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, run_audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.verdict import GAIN_TEST
from heedful.calibration.zoo import Truth
from heedful.report import figures
from heedful.report.calibration_figures import paper_of
from heedful.web.audits import usual_columns

SOME = ["telling", "agreeing", "grounded", "leak-free"]


@pytest.fixture(scope="module")
def subject(planted) -> ClassifierSubject:
    classifier = heedful.Classifier(
        encoder="bilstm:hidden_size=4", embedding_size=8, recipe="standard:epochs=3",
        optimizer="adam:learning_rate=0.02", split="spaces",
    )  # fmt: skip
    dev = (planted.dev.texts, planted.dev.labels)
    return ClassifierSubject(
        classifier.fit(planted.train.texts, planted.train.labels, dev=dev).trained_
    )


@pytest.fixture(scope="module")
def whole(subject, planted) -> Audit:
    return run_audit(subject, planted.test, AuditPlan(AuditSettings()), about={"name": "whole"})


def results(audit: Audit) -> dict[str, object]:
    return {test.name: test for answer in audit.answers for test in answer.tests}


def test_names_of_tests_are_unique():
    declared = [test.name for question in questions.values() for test in question.tests]
    assert len(declared) == len(set(declared)) == len(audit_tests())


def test_every_result_is_of_a_declared_test_of_its_question(whole):
    for answer in whole.answers:
        declared = {test.name: test for test in questions[answer.question].tests}
        assert all(test.better == declared[test.name].better for test in answer.tests)


def test_columns_of_tests_are_columns_of_audits(whole):
    for name in results(whole):
        test = audit_tests()[name]
        assert test.column is None or test.column in whole.columns


def test_every_test_has_been_calibrated_or_has_a_rule_of_its_own():
    calibrated = {point.test: point.question for point in shipped().points}
    for question in questions.values():
        for test in question.tests:
            assert test.name == GAIN_TEST or calibrated[test.name] == question.name
            assert test.paper
            assert test.floor


def numbers_of(test):
    """Everything of a test, flat."""
    facts = {name: value for name, value in vars(test).items() if name != "score"}
    for name, value in vars(test.score).items():
        is_pair = isinstance(value, tuple)
        facts |= {f"{name} {n}": v for n, v in enumerate(value)} if is_pair else {name: value}
    return facts


def same(found, expected):
    """Alike but for rounding: what one question has read, another does not read again."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float):
            value = pytest.approx(value, rel=1e-6, abs=1e-9, nan_ok=True)
        assert found[name] == value, name


def test_asking_less_changes_no_number(subject, planted, whole):
    settings = AuditSettings()
    some = run_audit(subject, planted.test, AuditPlan(settings, SOME))
    assert results(some)
    for name, test in results(some).items():
        same(numbers_of(test), numbers_of(results(whole)[name]))
    for name, column in some.columns.items():
        np.testing.assert_allclose(column, whole.columns[name], rtol=1e-6, atol=1e-9)
    facts = [fact for fact in whole.evidence["facts"] if fact["question"] in SOME]
    for table, expected in (("facts", facts), ("measures", whole.evidence["measures"])):
        assert len(some.evidence[table]) == len(expected)
        for row, wanted in zip(some.evidence[table], expected, strict=True):
            same(row, wanted)


DUMMY = AuditTest(
    "dummy test", "higher", "A paper", "0", "1", "dummy_column",
    is_compared=True, is_usual_column=True, defined_by=("moved",),
)  # fmt: skip


@dataclass(frozen=True)
class DummyQuestion(Question):
    name = "dummy"
    place = 11
    asks = "Is this a dummy?"
    tests = (DUMMY,)

    def measure(self, chunk):
        return Measured({"dummy_column": np.linspace(0.4, 0.6, len(chunk.labels))})

    def conclude(self, found):
        return Conclusion((found.test(DUMMY, found.columns["dummy_column"], 0.0, 1.0),))


def test_a_new_question_and_its_test_are_seen_everywhere(subject, planted, whole, monkeypatch):
    monkeypatch.setitem(questions._members, "dummy", DummyQuestion)
    found = run_audit(subject, planted.test, AuditPlan(AuditSettings(), ["dummy", "decisive"]))
    assert 0.4 < found.answer("dummy").tests[0].score.score < 0.6
    rows = compare({"one": found, "two": replace(found)}).differences
    assert "dummy test" in {row["test"] for row in rows}
    assert "dummy_column" in usual_columns(found)
    assert paper_of("dummy test") == "A paper"
    assert Truth.parse("fails by moved").is_defined_by("dummy test")
    behind = {row["test"]: row["behind"] for row in figures._scores({"one": found})}
    assert "dummy_column" in behind["dummy test"]
    for name in results(whole).keys() & results(found).keys():  # others are as they were
        assert repr(results(found)[name]) == repr(results(whole)[name])
