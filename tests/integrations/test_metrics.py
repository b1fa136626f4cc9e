"""Numbers of an audit for trackers: fakes have the signatures of the real methods."""

import math
from dataclasses import replace

import pytest

from heedful.errors import ConfigError
from heedful.integrations.metrics import log_audit, log_metrics, metrics_of
from tests.report.audits import made_audit


class Mlflow:
    """`mlflow.log_metrics(metrics, step)`, and other methods of its own."""

    def __init__(self):
        self.seen = []

    def log_metrics(self, metrics, step=None, synchronous=None):
        self.seen.append((step, metrics))

    def log_metric(self, key, value, step=None):
        raise AssertionError


class Wandb:
    """`wandb.log(data, step)`."""

    def __init__(self):
        self.seen = []

    def log(self, data, step=None, commit=None):
        self.seen.append((step, data))


class SummaryWriter:
    """TensorBoard's `add_scalar(tag, scalar_value, global_step)`."""

    def __init__(self):
        self.seen = []

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None):
        self.seen.append((tag, scalar_value, global_step))


def test_every_test_with_a_score_is_a_float_by_name():
    audit = made_audit(0.95)
    found = audit.to_metrics("heedful/")
    assert all(isinstance(one, float) and math.isfinite(one) for one in found.values())
    assert found["heedful/may_be_shown"] == 1.0
    assert found["heedful/accuracy"] == pytest.approx(0.831)
    for answer in audit.answers:
        for test in answer.tests:
            name = f"heedful/{answer.question}/{test.name.replace(' ', '_')}"
            assert found[name] == pytest.approx(test.score.score)
            assert found[f"{name}_low"] == pytest.approx(test.score.interval[0])


def test_what_has_no_number_is_left_out():
    audit = made_audit()
    (test, *_) = audit.answers[0].tests
    empty = replace(test, score=replace(test.score, score=math.nan))
    answer = replace(audit.answers[0], tests=(empty,))
    found = metrics_of(replace(audit, answers=(answer,), about={}))
    assert "decisive/look_away" not in found
    assert "accuracy" not in found


def test_each_tracker_gets_the_numbers_and_the_step_in_its_own_way():
    audit, numbers = made_audit(), made_audit().to_metrics()
    mlflow, wandb, writer = Mlflow(), Wandb(), SummaryWriter()
    for tracker in (mlflow, wandb, writer):
        log_audit(tracker, audit, step=3)
    assert mlflow.seen == [(3, numbers)]
    assert wandb.seen == [(3, numbers)]
    assert writer.seen == [(name, one, 3) for name, one in numbers.items()]


def test_what_is_no_tracker_is_refused_in_a_sentence():
    with pytest.raises(ConfigError, match=r"expected a tracker: .* list has no log_metrics"):
        log_metrics([], {})
