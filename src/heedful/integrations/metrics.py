"""An audit as floats by name, in the form of `evaluate` and of trackers.

    Audit ──> {"may_be_shown": 1.0, "telling/true_pictures": 0.97, …} ──> log_metrics, log, …

A tracker is any object with the method by which MLflow, Weights & Biases or TensorBoard logs
numbers. None of these packages is imported here.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from heedful.auditing.results import Audit
from heedful.errors import ConfigError


@runtime_checkable
class LogsMetrics(Protocol):
    """As the module `mlflow` and `mlflow.MlflowClient`'s runs do."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> Any:
        """Take all numbers of a step."""


@runtime_checkable
class LogsScalars(Protocol):
    """As `torch.utils.tensorboard.SummaryWriter` does."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int | None = None) -> Any:
        """Take one number of a step."""


@runtime_checkable
class Logs(Protocol):
    """As the module `wandb` and its runs do."""

    def log(self, data: dict[str, Any], step: int | None = None) -> Any:
        """Take all numbers of a step."""


def metrics_of(audit: Audit, prefix: str = "") -> dict[str, float]:
    """The verdict, accuracy and every test with a score: `question/test`, its `_low` and `_high`.

    What has no number is left out, so that every value is finite.
    """
    found: dict[str, float] = {
        "may_be_shown": float(audit.verdict == "may"),
        "may_not_be_shown": float(audit.verdict == "may-not"),
        "documents": float(audit.documents),
        "accuracy": _number(audit.about.get("accuracy")),
    }
    for answer in audit.answers:
        for test in answer.tests:
            name = f"{_plain(answer.question)}/{_plain(test.name)}"
            low, high = test.score.interval
            found |= {name: test.score.score, f"{name}_low": low, f"{name}_high": high}
    return {f"{prefix}{name}": one for name, one in found.items() if math.isfinite(one)}


def log_metrics(tracker: object, metrics: Mapping[str, float], step: int | None = None) -> None:
    """Log numbers to MLflow, Weights & Biases or TensorBoard.

    `tracker` is `mlflow` or `wandb` as imported, a run of theirs, or a `SummaryWriter`.
    """
    numbers = dict(metrics)
    if isinstance(tracker, LogsMetrics):
        tracker.log_metrics(numbers, step=step)
    elif isinstance(tracker, LogsScalars):
        for name, one in numbers.items():
            tracker.add_scalar(name, one, global_step=step)
    elif isinstance(tracker, Logs):
        tracker.log(numbers, step=step)
    else:
        raise ConfigError(
            "expected a tracker: the module mlflow or wandb, a run of theirs, or a TensorBoard "
            f"SummaryWriter; {type(tracker).__name__} has no log_metrics, log or add_scalar."
        )


def log_audit(tracker: object, audit: Audit, step: int | None = None, prefix: str = "") -> None:
    """Log an audit's numbers to a tracker."""
    log_metrics(tracker, metrics_of(audit, prefix), step)


def _plain(name: str) -> str:
    """A name that every tracker takes: letters, digits, dashes and underscores."""
    return re.sub(r"[^\w-]+", "_", name).strip("_")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
